//! Consumers that give up at any moment (TS 29.500, 6.11.2): what their request has changed is
//! whole, or has not changed at all.
use anyhow::{Context, Result, ensure};
use martlet::core::Sbi;
use martlet_sbi::{ApiRoot, Body, CallPolicy, Peer, Response, Route, Router};
use martlet_sbi_api::common::{Guami, RatType};
use martlet_sbi_api::namf_callback::NAMF_CALLBACK;
use martlet_sbi_api::npcf_am_policy_control::{PcfAmPolicyControlClient, PolicyAssociationRequest};
use martlet_sbi_api::nudm_uecm::{
    Amf3GppAccessRegistration, FeaturesQuery, UdmUeContextManagementClient,
};
use martlet_sbi_http::{ClientLimits, HttpBinding, HttpServer};
use martlet_tests::{GATEWAY, TestCore, eventually, in_namespace, reaches};
use rand::{Rng, SeedableRng};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const ROUNDS: usize = 60;

/// A consumer of the function at `127.0.0.LAST` that waits so long.
fn consumer(binding: &Arc<HttpBinding>, last: u8, timeout: Duration) -> Result<Peer> {
    let (root, _) = ApiRoot::split(&format!("http://127.0.0.{last}:7777")).context("a root")?;
    Ok(Peer::new(binding.clone(), root, "AMF", CallPolicy { timeout }))
}

fn last_octet(address: std::net::SocketAddr) -> Result<u8> {
    match address.ip() {
        std::net::IpAddr::V4(ip) => Ok(ip.octets()[3]),
        std::net::IpAddr::V6(_) => anyhow::bail!("IPv4 is used in tests"),
    }
}

/// AMFs that the UDM has told that they serve a UE no more, by the numbers in their URIs.
type Told = Arc<Mutex<BTreeSet<usize>>>;

fn told_routes(told: Told) -> Vec<Route> {
    let handler: martlet_sbi::Handler = Arc::new(move |parameters, _, _| {
        let number: Option<usize> =
            parameters.get(0).strip_prefix("imsi-").and_then(|digits| digits.parse().ok());
        told.lock().expect("no panic").extend(number);
        Box::pin(async { Ok(Response::new(204, Body::empty())) })
    });
    vec![Route { operation: NAMF_CALLBACK::deregistration_notify(), handler }]
}

/// The UDM: an AMF that registers and gives up is registered or not. Where it is, the AMF of before
/// has been told.
#[test]
fn cancelled_amf_registration_leaves_one_serving_amf() {
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |_| {}).await?;
        let told = Told::default();
        let router = Arc::new(Router::new().serve(told_routes(told.clone())));
        let server =
            HttpServer::bind("127.0.0.79:7777".parse()?, router, Default::default()).await?;
        tokio::spawn(server.run());
        let binding = Arc::new(HttpBinding::new(ClientLimits::default()));
        let udm = last_octet(core.config().sbi.udm)?;
        let supi = "imsi-001010000000001";
        let mut rng = rand::rngs::StdRng::seed_from_u64(7);
        let mut stored = Vec::new();
        let guami: Guami = serde_json::from_value(
            serde_json::json!({"plmnId": {"mcc": "001", "mnc": "01"}, "amfId": "010041"}),
        )?;
        for number in 0..ROUNDS {
            // The last one waits.
            let last = number + 1 == ROUNDS;
            let patience = if last {
                Duration::from_secs(5)
            } else {
                Duration::from_micros(rng.random_range(50..6000))
            };
            let uri =
                format!("http://127.0.0.79:7777/namf-callback/v1/deregistration/imsi-{number:015}");
            let id = format!("6d1c6d3a-7a55-4b14-8c3a-{number:012}").parse()?;
            let body = Amf3GppAccessRegistration::new(id, uri, guami.clone(), RatType::Nr);
            let client = UdmUeContextManagementClient::new(consumer(&binding, udm, patience)?);
            let answer = client.registration_3gpp(supi, body).await;
            ensure!(!last || answer.is_ok(), "the last one is registered");
            // What was on its way has arrived, or never will.
            tokio::time::sleep(Duration::from_millis(20)).await;
            let patient =
                UdmUeContextManagementClient::new(consumer(&binding, udm, Duration::from_secs(5))?);
            if let Ok(now) = patient.get_3gpp_registration(supi, FeaturesQuery::default()).await {
                let serves: usize =
                    now.dereg_callback_uri.rsplit('-').next().context("a number")?.parse()?;
                if stored.last() != Some(&serves) {
                    stored.push(serves);
                }
            }
        }
        let last = stored.pop().context("somebody serves the phone")?;
        ensure!(last + 1 == ROUNDS, "the last one serves it: {last}");
        println!(
            "{} of {ROUNDS} registrations were carried out though most consumers gave up",
            stored.len() + 1
        );
        let due: BTreeSet<usize> = stored.into_iter().collect();
        let all_told = || (*told.lock().expect("no panic") == due).then_some(());
        eventually("all AMFs of before are told", all_told, || {
            format!("{:?}, due {due:?}", told.lock())
        })
        .await
    });
}

/// The PCF: an AMF that gives up and asks again leaves one association, and no more.
#[test]
fn cancelled_policy_associations_do_not_accumulate() {
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (phone, _) = core.phone_with_session(&gnb, 1).await?;
        let before = core.status("pcf");
        let binding = Arc::new(HttpBinding::new(ClientLimits::default()));
        let pcf = last_octet(core.config().sbi.pcf)?;
        let mut rng = rand::rngs::StdRng::seed_from_u64(7);
        let (mut answered, mut given_up) = (0, 0);
        for _ in 0..ROUNDS {
            let patience = Duration::from_micros(rng.random_range(50..6000));
            let client = PcfAmPolicyControlClient::new(consumer(&binding, pcf, patience)?);
            let supi = "imsi-001010000000001".parse()?;
            let uri = "http://127.0.0.79:7777/namf-callback/v1/am-policy/imsi-001010000000001"
                .to_string();
            match client
                .create_individual_am_policy_association(PolicyAssociationRequest::new(
                    uri,
                    supi,
                    "0".into(),
                ))
                .await
            {
                Ok(_) => answered += 1,
                Err(_) => given_up += 1,
            }
        }
        println!("{given_up} of {ROUNDS} gave up, {answered} were answered");
        ensure!(given_up > 0, "somebody gives up within 6 ms at most");
        tokio::time::sleep(Duration::from_millis(50)).await;
        ensure!(core.status("pcf") == before, "{} after {before}", core.status("pcf"));
        reaches(&phone, 1, GATEWAY).await
    });
}
