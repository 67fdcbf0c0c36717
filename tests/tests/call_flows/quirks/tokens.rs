//! Quirks of network functions with access tokens.
use super::sbi::{behind, start_nrf};
use super::{DUE, SOON, with_strictness};
use crate::security::scas::{peer, problem};
use anyhow::{Context, Result, bail, ensure};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use martlet::config::Config;
use martlet::core::Sbi;
use martlet_nf::tokens::{Audience, Claims, SigningKey, now};
use martlet_sbi::{Problem, Router};
use martlet_sbi_api::nnrf_nfdiscovery::{NfDiscoveryClient, SearchQuery};
use martlet_sbi_api::nnrf_nfmanagement::{NfManagementClient, NfProfile, NfType};
use martlet_sbi_api::nudm_sdm::{AmDataQuery, UdmSubscriberDataManagementClient};
use martlet_sbi_api::nudm_uecm::FeaturesQuery;
use martlet_sbi_api::nudr_dr::UdrDataRepositoryClient;
use martlet_sbi_http::{Guard, HttpServer, PeerCertificate, Refusal, ServerLimits};
use martlet_tests::{TestCore, eventually, peer_with_token};
use serde_json::json;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The NRF's RSA keys in these tests.
const PRIVATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/interop/keys/token-key.pem");
const PUBLIC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/interop/keys/token.pem");

const SUPI: &str = "imsi-001010000000001";

fn tokens(config: &mut Config) {
    config.nrf.token_key = Some(PRIVATE.into());
    config.sbi.token_key = PUBLIC.into();
}

async fn start(
    is_strict: bool,
    core: &mut Option<TestCore>,
    change: impl FnOnce(&mut Config),
) -> Result<&mut TestCore> {
    let started = TestCore::start_on(Sbi::Http, |config| {
        tokens(config);
        change(config);
        with_strictness(is_strict)(config);
    });
    Ok(core.insert(started.await?))
}

/// A token that the NRF did not issue, but has signed.
fn token(iss: &str, aud: Audience, scope: &str) -> Result<String> {
    let (iss, sub) = (iss.into(), "3fa85f64-5717-4562-b3fc-2c963f66afa6".into());
    let claims = Claims { iss, sub, aud, scope: scope.into(), exp: now() + 60 };
    Ok(SigningKey::load(Path::new(PRIVATE))?.sign(&claims)?)
}

fn of_type(nf_type: NfType) -> Audience {
    Audience::One(nf_type.as_str().into())
}

/// A guard that requires a token, and names no scheme if it is missing, as free5GC's. `is_open`
/// says which paths need none; `count` counts requests without and with a token.
fn guard(is_open: fn(&http::Method, &str) -> bool, count: Arc<[AtomicUsize; 2]>) -> ServerLimits {
    let check = move |method: &http::Method,
                      headers: &HeaderMap,
                      path: &str,
                      _: Option<&PeerCertificate>| {
        let has_token = headers.contains_key(AUTHORIZATION);
        count[usize::from(has_token)].fetch_add(1, Ordering::Relaxed);
        match has_token || is_open(method, path) {
            true => Ok(()),
            false => Err(Refusal { problem: Problem::new(401, ""), challenge: String::new() }),
        }
    };
    ServerLimits { guard: Some(Guard(Arc::new(check))), ..ServerLimits::default() }
}

/// free5GC's NRF requires tokens for its services, except the registration.
pub async fn missing_challenge(is_strict: bool, core: &mut Option<TestCore>) -> Result<bool> {
    let is_open = |method: &http::Method, path: &str| {
        path.starts_with("/oauth2") || *method == http::Method::PUT
    };
    let limits = guard(is_open, Arc::default());
    let (_nrf, root) = start_nrf(tokens, limits, |_, _, response| response).await?;
    let core = core.insert(behind(root, is_strict, tokens).await?);
    let gnb = core.gnb(1).await?;
    Ok(gnb.new_ue(core.ue_config(1))?.register().await.is_ok())
}

/// Where the PCF of the test is.
const PCF: &str = "127.0.0.78:7777";

/// free5GC's PCF requires a token for the notifications of the UDR.
pub async fn callback_token(is_strict: bool, core: &mut Option<TestCore>) -> Result<bool> {
    let core = start(is_strict, core, |_| {}).await?;
    let count: Arc<[AtomicUsize; 2]> = Arc::default();
    let limits = guard(|_, _| false, count.clone());
    let server = HttpServer::bind(PCF.parse()?, Arc::new(Router::new()), limits).await?;
    tokio::spawn(server.run());
    let id = "6d1c6d3a-7a55-4b14-8c3a-2f7f6a7c1f82";
    let profile: NfProfile = serde_json::from_value(json!({
        "nfInstanceId": id, "nfType": "PCF", "nfStatus": "REGISTERED",
        "ipv4Addresses": ["127.0.0.78"],
        "nfServices": [{
            "serviceInstanceId": "1", "serviceName": "npcf-policyauthorization",
            "versions": [{"apiVersionInUri": "v1", "apiFullVersion": "1.0.0"}],
            "scheme": "http", "nfServiceStatus": "REGISTERED",
            "ipEndPoints": [{"ipv4Address": "127.0.0.78", "port": 7777}],
        }],
    }))?;
    let IpAddr::V4(at) = core.config().sbi.nrf.first().ip() else { bail!("IPv4 is needed") };
    let nrf = NfManagementClient::new(peer(at.octets()[3])?);
    nrf.register_nf_instance(id, profile).await.map_err(problem)?;
    let token = token("nrf", of_type(NfType::Udr), "nudr-dr nudr-dr:application-data")?;
    let udr = peer_with_token(Some(token), &core.config().sbi.udr.to_string());
    let udr = UdrDataRepositoryClient::new(udr);
    let uri = format!("http://{PCF}/npcf-callback/v1/influence-data");
    let subscription = serde_json::from_value(json!({"supis": [SUPI], "notificationUri": uri}))?;
    udr.create_individual_influence_data_subscription(subscription).await.map_err(problem)?;
    let data = json!({"afAppId": "edge", "supi": SUPI, "dnn": "internet"});
    let data = serde_json::from_value(data)?;
    udr.create_or_replace_individual_influence_data("1", data).await.map_err(problem)?;
    let [without, with] = &*count;
    let notified = || (without.load(Ordering::Relaxed) > 0).then_some(());
    eventually("a notification without a token", notified, String::new).await?;
    let notified = async {
        while with.load(Ordering::Relaxed) == 0 {
            tokio::time::sleep(SOON / 50).await;
        }
    };
    let limit = if is_strict { SOON } else { DUE };
    Ok(tokio::time::timeout(limit, notified).await.is_ok())
}

/// free5GC's NRF names one instance as a text, and no issuer.
pub async fn token_claims(is_strict: bool, core: &mut Option<TestCore>) -> Result<bool> {
    let core = start(is_strict, core, |_| {}).await?;
    let IpAddr::V4(at) = core.config().sbi.nrf.first().ip() else { bail!("IPv4 is needed") };
    let query = SearchQuery {
        target_nf_type: Some(NfType::Udm),
        requester_nf_type: Some(NfType::Smf),
        ..Default::default()
    };
    let found = NfDiscoveryClient::new(peer(at.octets()[3])?).search_nf_instances(query).await;
    let found = found.map_err(problem)?.nf_instances;
    let instance = found.first().context("no UDM")?.nf_instance_id.to_string();
    let status = async |iss: &str, aud: Audience| {
        let token = token(iss, aud, "nudm-sdm")?;
        let udm = peer_with_token(Some(token), &core.config().sbi.udm.to_string());
        let udm = UdmSubscriberDataManagementClient::new(udm);
        let read = udm.get_am_data(SUPI, AmDataQuery::default()).await;
        anyhow::Ok(read.err().map_or(200, |problem| problem.status()))
    };
    ensure!(status("nrf", of_type(NfType::Udm)).await? == 200);
    ensure!(status("nrf", Audience::Many(vec![instance.clone()])).await? == 200);
    // The audience counts in either form.
    ensure!(status("", of_type(NfType::Udr)).await? == 401);
    let deviating =
        [status("", of_type(NfType::Udm)).await?, status("nrf", Audience::One(instance)).await?];
    match deviating {
        [200, 200] => Ok(true),
        [401, 401] => Ok(false),
        other => bail!("{other:?}"),
    }
}

/// free5GC's NRF issues tokens for services, not for their operations.
pub async fn service_scope(is_strict: bool, core: &mut Option<TestCore>) -> Result<bool> {
    let by_service = |config: &mut Config| config.sbi.interop.service_tokens = true;
    let core = start(is_strict, core, by_service).await?;
    let token = token("nrf", of_type(NfType::Udr), "nudr-dr")?;
    let udr = peer_with_token(Some(token), &core.config().sbi.udr.to_string());
    let udr = UdrDataRepositoryClient::new(udr);
    let read = udr.query_auth_subs_data(SUPI, FeaturesQuery::default()).await;
    match read.err().map_or(200, |problem| problem.status()) {
        200 => Ok(true),
        403 => Ok(false),
        other => bail!("{other}"),
    }
}
