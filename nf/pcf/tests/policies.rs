//! The PCF's services for AMF and SMF, with NRF and UDR.
use martlet_nf::{CommonConfig, Environment, Shutdown, ShutdownTrigger, start};
use martlet_nrf::Nrf;
use martlet_pcf::{Pcf, PcfConfig};
use martlet_sbi::{ApiRoot, Bindings, CallPolicy, LocalBinding, Peer, Problem};
use martlet_sbi_api::common::{Ambr, PduSessionType, Snssai};
use martlet_sbi_api::npcf_am_policy_control::{
    PcfAmPolicyControlClient, PolicyAssociationRequest, PolicyAssociationUpdateRequest,
    RequestTrigger,
};
use martlet_sbi_api::npcf_sm_policy_control::{
    PcfSmPolicyControlClient, SmPolicyContextData, SmPolicyDeleteData, SmPolicyUpdateContextData,
};
use martlet_store::{Secret, Store, Subscriber};
use martlet_udr::{Udr, UdrConfig};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

struct Core {
    am: PcfAmPolicyControlClient,
    sm: PcfSmPolicyControlClient,
    database: PathBuf,
    _trigger: ShutdownTrigger,
}

impl Drop for Core {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.database);
    }
}

fn at(last: u8) -> SocketAddr {
    ([127, 0, 0, last], 7777).into()
}

async fn core(test: &str, config: PcfConfig) -> Core {
    let database =
        std::env::temp_dir().join(format!("martlet-pcf-{test}-{}.db", std::process::id()));
    let _ = std::fs::remove_file(&database);
    let store = Store::open(&database).unwrap();
    let subscriber =
        Subscriber::new("imsi-001010000000001", Secret([1; 16]), Secret([2; 16]), "internet");
    store.add(&[subscriber], true).unwrap();
    drop(store);
    let (trigger, shutdown) = Shutdown::new();
    let bindings = Bindings::new().with_local(LocalBinding::new());
    let environment = Environment {
        bindings: bindings.clone(),
        fabric: None,
        listen: false,
        sockets: None,
        limits: Default::default(),
        taps: Vec::new(),
        shutdown,
    };
    let common = |last| CommonConfig::at(at(last), at(10));
    start::<Nrf>(Default::default(), &common(10), &environment).await.unwrap();
    // Tests look into the file and write into it from the thread of the UDR: there, writes are not
    // gathered.
    let udr = UdrConfig {
        path: database.display().to_string(),
        flush_interval_ms: 0,
        ..Default::default()
    };
    start::<Udr>(udr, &common(11), &environment).await.unwrap();
    // Callbacks of AMF and SMF, which are not registered here.
    let callbacks_allow = vec![at(16).to_string(), at(17).to_string()];
    let of_pcf = CommonConfig { callbacks_allow, ..common(14) };
    start::<Pcf>(config, &of_pcf, &environment).await.unwrap();
    // Registrations with the NRF complete in the background.
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    let peer = Peer::new(
        Arc::new(bindings),
        ApiRoot::http(at(14).to_string()),
        "AMF",
        CallPolicy::default(),
    );
    let (am, sm) =
        (PcfAmPolicyControlClient::new(peer.clone()), PcfSmPolicyControlClient::new(peer));
    Core { am, sm, database, _trigger: trigger }
}

fn session(imsi: u32, dnn: &str) -> SmPolicyContextData {
    let supi = format!("imsi-0010100000{imsi:05}").parse().unwrap();
    let uri = "http://127.0.0.16:7777/nsmf-callback/v1/sm-policy/1".to_string();
    SmPolicyContextData::new(
        supi,
        5,
        PduSessionType::Ipv4,
        dnn.parse().unwrap(),
        uri,
        Snssai::new(1, None),
    )
}

fn id(location: &str) -> &str {
    location.rsplit('/').next().unwrap()
}

fn status_and_cause(problem: Problem) -> (u16, String) {
    (problem.status(), problem.cause().to_string())
}

fn ambr(rate: &str) -> Ambr {
    Ambr { uplink: rate.parse().unwrap(), downlink: rate.parse().unwrap() }
}

#[tokio::test]
async fn a_session_gets_subscribed_else_configured_values() {
    let core = core(
        "sm",
        PcfConfig { default_5qi: 7, default_ambr: "20 Mbps".into(), ..Default::default() },
    )
    .await;
    let created = core.sm.create_sm_policy(session(1, "internet")).await.unwrap();
    let rule = created.body.sess_rules.unwrap().into_values().flatten().next().unwrap();
    assert_eq!(rule.auth_sess_ambr, Some(ambr("20 Mbps")));
    assert_eq!(rule.auth_def_qos.unwrap().five_qi, Some(7));

    let mut request = session(1, "internet");
    request.subs_sess_ambr = Some(ambr("100 Mbps"));
    let again = core.sm.create_sm_policy(request).await.unwrap();
    let rule = again.body.sess_rules.unwrap().into_values().flatten().next().unwrap();
    assert_eq!(rule.auth_sess_ambr, Some(ambr("100 Mbps")));
    // A second association for the same session replaces the first one.
    let gone = core.sm.get_sm_policy(id(&created.location)).await.unwrap_err();
    assert_eq!(status_and_cause(gone), (404, "POLICY_ASSOCIATION_NOT_FOUND".into()));

    let policy = id(&again.location);
    let nothing =
        core.sm.update_sm_policy(policy, SmPolicyUpdateContextData::default()).await.unwrap();
    assert_eq!(nothing.sess_rules, None);
    let change =
        SmPolicyUpdateContextData { subs_sess_ambr: Some(ambr("5 Mbps")), ..Default::default() };
    let changed = core.sm.update_sm_policy(policy, change).await.unwrap();
    let rule = changed.sess_rules.unwrap().into_values().flatten().next().unwrap();
    assert_eq!(rule.auth_sess_ambr, Some(ambr("5 Mbps")));
    assert_eq!(
        core.sm.get_sm_policy(policy).await.unwrap().context.subs_sess_ambr,
        Some(ambr("5 Mbps"))
    );

    core.sm.delete_sm_policy(policy, SmPolicyDeleteData::default()).await.unwrap();
    let gone = core.sm.delete_sm_policy(policy, SmPolicyDeleteData::default()).await.unwrap_err();
    assert_eq!(status_and_cause(gone), (404, "POLICY_ASSOCIATION_NOT_FOUND".into()));
}

#[tokio::test]
async fn a_session_without_subscription_is_rejected() {
    let core = core("denied", PcfConfig { max_sm_policies: 1, ..Default::default() }).await;
    let unknown = core.sm.create_sm_policy(session(2, "internet")).await.unwrap_err();
    assert_eq!(status_and_cause(unknown), (400, "USER_UNKNOWN".into()));
    let denied = core.sm.create_sm_policy(session(1, "ims")).await.unwrap_err();
    assert_eq!(status_and_cause(denied), (403, "POLICY_CONTEXT_DENIED".into()));
    core.sm.create_sm_policy(session(1, "internet")).await.unwrap();
    let mut other = session(1, "internet");
    other.pdu_session_id = 6;
    let full = core.sm.create_sm_policy(other).await.unwrap_err();
    assert_eq!(status_and_cause(full), (503, "NF_CONGESTION".into()));
}

#[tokio::test]
async fn an_am_policy_association_is_created_and_updated() {
    let core = core("am", PcfConfig::default()).await;
    let supi = "imsi-001010000000001".parse().unwrap();
    let uri = "http://127.0.0.17:7777/namf-callback/v1/am-policy/1".to_string();
    let mut request = PolicyAssociationRequest::new(uri, supi, "0".into());
    request.rfsp = Some(3);
    let created = core.am.create_individual_am_policy_association(request.clone()).await.unwrap();
    assert_eq!((created.body.rfsp, created.body.serv_area_res), (Some(3), None));
    let policy = id(&created.location);

    let update = PolicyAssociationUpdateRequest {
        triggers: Some(vec![RequestTrigger::RfspCh]),
        rfsp: Some(4),
        ..Default::default()
    };
    let changed = core.am.report_observed_event_triggers(policy, update).await.unwrap();
    assert_eq!((changed.rfsp, changed.ue_ambr), (Some(4), None));
    assert_eq!(changed.resource_uri, created.location);
    assert_eq!(
        core.am.read_individual_am_policy_association(policy).await.unwrap().request.unwrap().rfsp,
        Some(4)
    );

    core.am.delete_individual_am_policy_association(policy).await.unwrap();
    let gone = core.am.read_individual_am_policy_association(policy).await.unwrap_err();
    assert_eq!(status_and_cause(gone), (404, "POLICY_ASSOCIATION_NOT_FOUND".into()));
    request.supi = "imsi-001010000000002".parse().unwrap();
    let unknown = core.am.create_individual_am_policy_association(request).await.unwrap_err();
    assert_eq!(status_and_cause(unknown), (400, "USER_UNKNOWN".into()));
}
