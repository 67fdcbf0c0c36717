//! Consumers that cancel a request at any time (TS 29.500, 6.11.2): the request is carried out
//! completely or not at all.
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

/// A client of the function at `127.0.0.LAST` with a timeout.
fn consumer(binding: &Arc<HttpBinding>, last: u8, timeout: Duration) -> Result<Peer> {
    let (root, _) =
        ApiRoot::split(&format!("http://127.0.0.{last}:7777")).context("not an API root")?;
    Ok(Peer::new(binding.clone(), root, "AMF", CallPolicy { timeout, strict: false }))
}

fn last_octet(address: std::net::SocketAddr) -> Result<u8> {
    match address.ip() {
        std::net::IpAddr::V4(ip) => Ok(ip.octets()[3]),
        std::net::IpAddr::V6(_) => anyhow::bail!("the tests use IPv4"),
    }
}

/// The AMFs that received a deregistration notification, by the numbers in their URIs.
type Notified = Arc<Mutex<BTreeSet<usize>>>;

fn notification_routes(notified: Notified) -> Vec<Route> {
    let handler: martlet_sbi::Handler = Arc::new(move |parameters, _, _| {
        let number: Option<usize> =
            parameters.get(0).strip_prefix("imsi-").and_then(|digits| digits.parse().ok());
        notified.lock().expect("no panic").extend(number);
        Box::pin(async { Ok(Response::new(204, Body::empty())) })
    });
    vec![Route { operation: NAMF_CALLBACK::deregistration_notify(), handler }]
}

/// UDM: a cancelled AMF registration is stored or not. If it is stored, the previous AMF is
/// notified.
#[test]
fn cancelled_amf_registration_leaves_one_serving_amf() {
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |config| {
            // The AMFs are not registered with the NRF.
            config.sbi.callbacks.allow = vec!["127.0.0.79".into()];
        })
        .await?;
        let notified = Notified::default();
        let router = Arc::new(Router::new().serve(notification_routes(notified.clone())));
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
            // The last request is not cancelled.
            let last = number + 1 == ROUNDS;
            let timeout = if last {
                Duration::from_secs(5)
            } else {
                Duration::from_micros(rng.random_range(50..6000))
            };
            let uri =
                format!("http://127.0.0.79:7777/namf-callback/v1/deregistration/imsi-{number:015}");
            let id = format!("6d1c6d3a-7a55-4b14-8c3a-{number:012}").parse()?;
            let body = Amf3GppAccessRegistration::new(id, uri, guami.clone(), RatType::Nr);
            let client = UdmUeContextManagementClient::new(consumer(&binding, udm, timeout)?);
            let answer = client.registration_3gpp(supi, body).await;
            ensure!(!last || answer.is_ok(), "the last registration failed");
            // Requests in flight have arrived.
            tokio::time::sleep(Duration::from_millis(20)).await;
            let client =
                UdmUeContextManagementClient::new(consumer(&binding, udm, Duration::from_secs(5))?);
            if let Ok(now) = client.get_3gpp_registration(supi, FeaturesQuery::default()).await {
                let serves: usize =
                    now.dereg_callback_uri.rsplit('-').next().context("no number")?.parse()?;
                if stored.last() != Some(&serves) {
                    stored.push(serves);
                }
            }
        }
        let last = stored.pop().context("no AMF serves the UE")?;
        ensure!(last + 1 == ROUNDS, "AMF {last} serves the UE");
        println!(
            "{} of {ROUNDS} registrations were stored; most requests were cancelled",
            stored.len() + 1
        );
        let expected: BTreeSet<usize> = stored.into_iter().collect();
        let all_notified = || (*notified.lock().expect("no panic") == expected).then_some(());
        eventually("all previous AMFs are notified", all_notified, || {
            format!("{:?}, expected {expected:?}", notified.lock())
        })
        .await
    });
}

/// PCF: a cancelled and repeated request leaves one association.
#[test]
fn cancelled_policy_associations_do_not_accumulate() {
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |_| {}).await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        // Not the quirks: the requests lack a location, and some may arrive.
        let status = || {
            let mut status = core.status("pcf");
            status.as_object_mut().map(|status| status.remove("quirks"));
            status
        };
        let before = status();
        let binding = Arc::new(HttpBinding::new(ClientLimits::default()));
        let pcf = last_octet(core.config().sbi.pcf)?;
        let mut rng = rand::rngs::StdRng::seed_from_u64(7);
        let (mut answered, mut cancelled) = (0, 0);
        for _ in 0..ROUNDS {
            let timeout = Duration::from_micros(rng.random_range(50..6000));
            let client = PcfAmPolicyControlClient::new(consumer(&binding, pcf, timeout)?);
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
                Err(_) => cancelled += 1,
            }
        }
        println!("{cancelled} of {ROUNDS} requests cancelled, {answered} answered");
        ensure!(cancelled > 0, "no request was cancelled");
        // Requests in flight have arrived.
        tokio::time::sleep(Duration::from_millis(50)).await;
        let is_as_before = || (status() == before).then_some(());
        eventually("one association is left", is_as_before, || status().to_string()).await?;
        reaches(&ue, 1, GATEWAY).await
    });
}
