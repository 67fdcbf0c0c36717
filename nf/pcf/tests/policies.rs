//! The PCF's services for AMF and SMF, with NRF and UDR.
use martlet_nf::{CommonConfig, Environment, RunningNf, Shutdown, ShutdownTrigger, start};
use martlet_nrf::Nrf;
use martlet_pcf::{Pcf, PcfConfig};
use martlet_sbi::{
    ApiRoot, Bindings, Body, BoxFuture, CallPolicy, LocalBinding, Peer, Problem, Request, Response,
    Route, Router,
};
use martlet_sbi_api::common::{Ambr, PduSessionType, Snssai};
use martlet_sbi_api::namf_callback::NAMF_CALLBACK;
use martlet_sbi_api::npcf_am_policy_control::{
    PcfAmPolicyControlClient, PolicyAssociationRequest, PolicyAssociationUpdateRequest,
    PolicyUpdate, RequestTrigger,
};
use martlet_sbi_api::npcf_sm_policy_control::{
    PcfSmPolicyControlClient, SmPolicyContextData, SmPolicyDecision, SmPolicyDeleteData,
    SmPolicyNotification, SmPolicyUpdateContextData,
};
use martlet_sbi_api::nsmf_callback::NSMF_CALLBACK;
use martlet_sbi_api::nudr_dr::{SubscriptionDataSubscriptions, UdrDataRepositoryClient};
use martlet_store::{Secret, Store, Subscriber};
use martlet_udr::{Udr, UdrConfig};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

struct Core {
    am: PcfAmPolicyControlClient,
    sm: PcfSmPolicyControlClient,
    pcf: RunningNf,
    local: LocalBinding,
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
    let local = LocalBinding::new();
    let bindings = Bindings::new().with_local(local.clone());
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
    let nrf = start::<Nrf>(Default::default(), &common(10), &environment).await.unwrap();
    let status_of_nrf = nrf.handle.status.clone();
    drop(nrf);
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
    let pcf = start::<Pcf>(config, &of_pcf, &environment).await.unwrap();
    // Registrations with the NRF complete in the background.
    let all = async {
        while status_of_nrf()["registered"].as_array().map_or(0, Vec::len) < 2 {
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
    };
    let limit = std::time::Duration::from_secs(30);
    tokio::time::timeout(limit, all).await.expect("UDR and PCF are registered");
    let peer = Peer::new(
        Arc::new(bindings),
        ApiRoot::http(at(14).to_string()),
        "AMF",
        CallPolicy::default(),
    );
    let (am, sm) =
        (PcfAmPolicyControlClient::new(peer.clone()), PcfSmPolicyControlClient::new(peer));
    Core { am, sm, pcf, local, database, _trigger: trigger }
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

/// A PCF has the scope of policy data alone, which has its own subscriptions at the UDR.
#[tokio::test]
async fn a_subscription_to_subscription_data_is_not_removed_as_one_to_policy_data() {
    let core = core("subscriptions", PcfConfig::default()).await;
    let bindings = Arc::new(Bindings::new().with_local(core.local.clone()));
    let root = ApiRoot::http(at(11).to_string());
    let udr = UdrDataRepositoryClient::new(Peer::new(bindings, root, "PCF", CallPolicy::default()));
    // The PCF is registered, so that the UDR accepts its address.
    let body = SubscriptionDataSubscriptions {
        callback_reference: format!("http://{}/changes", at(14)),
        ..Default::default()
    };
    let created = udr.subscription_data_subscriptions(body).await.unwrap();
    let subscription = id(&created.location);
    let refused = udr.delete_individual_policy_data_subscription(subscription).await.unwrap_err();
    assert_eq!(status_and_cause(refused), (404, "SUBSCRIPTION_NOT_FOUND".into()));
    udr.remove_subscription_data_subscriptions(subscription).await.unwrap();
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

/// It fails while the SMF is busy, and has the policy of the time at which it is repeated.
#[tokio::test]
async fn a_notification_of_a_changed_policy_is_repeated() {
    let core = core("notified", PcfConfig::default()).await;
    let (notifications, mut received) = tokio::sync::mpsc::unbounded_channel();
    let is_busy = AtomicBool::new(true);
    let handler = move |_, _, request: Request| {
        let body: SmPolicyNotification = request.body.take().unwrap();
        notifications.send(body.sm_policy_decision.unwrap()).unwrap();
        let response = match is_busy.swap(false, Ordering::Relaxed) {
            true => Err(Problem::new(503, "NF_CONGESTION")),
            false => Ok(Response::new(204, Body::empty())),
        };
        let response: BoxFuture<'static, _> = Box::pin(std::future::ready(response));
        response
    };
    let operation = NSMF_CALLBACK::sm_policy_update_notify();
    let route = Route { operation, handler: Arc::new(handler) };
    core.local.add(&at(16).to_string(), Arc::new(Router::new().serve(vec![route])));
    let mut request = session(1, "internet");
    request.subs_sess_ambr = Some(ambr("100 Mbps"));
    let created = core.sm.create_sm_policy(request).await.unwrap();

    let reload = core.pcf.handle.reload.clone().unwrap();
    reload(Box::new(PcfConfig { default_5qi: 7, ..Default::default() })).unwrap();
    let rule = |decision: SmPolicyDecision| {
        decision.sess_rules.unwrap().into_values().flatten().next().unwrap()
    };
    let first = rule(received.recv().await.unwrap());
    assert_eq!(first.auth_sess_ambr, Some(ambr("100 Mbps")));
    let change =
        SmPolicyUpdateContextData { subs_sess_ambr: Some(ambr("5 Mbps")), ..Default::default() };
    core.sm.update_sm_policy(id(&created.location), change).await.unwrap();
    let second = rule(received.recv().await.unwrap());
    assert_eq!(second.auth_sess_ambr, Some(ambr("5 Mbps")));
    assert_eq!(second.auth_def_qos.unwrap().five_qi, Some(7));
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

#[tokio::test]
async fn an_amf_is_notified_of_a_changed_rfsp_index() {
    let core = core("rfsp", PcfConfig::default()).await;
    let (notifications, mut received) = tokio::sync::mpsc::unbounded_channel();
    let handler = move |_, _, request: Request| {
        let body: PolicyUpdate = request.body.take().unwrap();
        notifications.send(body).unwrap();
        let response = Ok::<_, Problem>(Response::new(204, Body::empty()));
        let response: BoxFuture<'static, _> = Box::pin(std::future::ready(response));
        response
    };
    let operation = NAMF_CALLBACK::am_policy_update_notify();
    let route = Route { operation, handler: Arc::new(handler) };
    core.local.add(&at(17).to_string(), Arc::new(Router::new().serve(vec![route])));
    let supi = "imsi-001010000000001".parse().unwrap();
    let uri = "http://127.0.0.17:7777/namf-callback/v1/am-policy/1".to_string();
    let mut request = PolicyAssociationRequest::new(uri, supi, "0".into());
    request.rfsp = Some(3);
    let created = core.am.create_individual_am_policy_association(request).await.unwrap();

    let reload = core.pcf.handle.reload.clone().unwrap();
    let reload = |default_rfsp, default_5qi| {
        reload(Box::new(PcfConfig { default_rfsp, default_5qi, ..Default::default() })).unwrap()
    };
    let (one, none) =
        ("policies (0 sessions and 1 UEs updated)", "policies (0 sessions and 0 UEs updated)");
    assert_eq!(reload(Some(7), 9), one);
    let notified = received.recv().await.unwrap();
    assert_eq!((notified.resource_uri, notified.rfsp), (created.location, Some(7)));
    assert_eq!(reload(Some(7), 8), none);
    // The subscribed index.
    assert_eq!(reload(None, 8), one);
    assert_eq!(received.recv().await.unwrap().rfsp, Some(3));
    assert_eq!(reload(Some(3), 8), none);
}
