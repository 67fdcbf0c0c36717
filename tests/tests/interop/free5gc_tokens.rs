//! Access tokens between Martlet's functions and free5GC's (TS 33.501, 13.4.1): free5GC's NRF
//! issues them, or Martlet's.
use crate::free5gc::{core_without, registered_ue, session, start_beside_with};
use crate::free5gc_nrf::{CoreOfNrf, NRF};
use crate::free5gc_pcf::PCF;
use crate::{free5gc_nrf, free5gc_pcf, mongodb};
use anyhow::{Context, Result, ensure};
use martlet_nf::tokens::{Audience, Claims, SigningKey, now};
use martlet_sbi::Problem;
use martlet_sbi_api::nnrf_nfdiscovery::{NfDiscoveryClient, SearchQuery};
use martlet_sbi_api::nnrf_nfmanagement::{NfManagementClient, NfProfile, NfStatus, NfType};
use martlet_sbi_api::nnrf_oauth2::{AccessTokenReq, NrfAccessTokenClient};
use martlet_sbi_api::npcf_sm_policy_control::PcfSmPolicyControlClient;
use martlet_sbi_api::nudm_sdm::{AmDataQuery, UdmSubscriberDataManagementClient};
use martlet_sbi_api::nudr_dr::UdrDataRepositoryClient;
use martlet_tests::{GATEWAY, eventually, in_namespace, peer_with_token, reaches};
use std::path::{Path, PathBuf};

/// RSA keys of Martlet's NRF, for these tests alone.
const PRIVATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/interop/keys/token-key.pem");
const PUBLIC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/interop/keys/token.pem");

const SUPI: &str = "imsi-001010000000001";
/// The instance that the test registers as a consumer.
const CONSUMER: &str = "3fa85f64-5717-4562-b3fc-2c963f66afa6";

fn failed(problem: Problem) -> anyhow::Error {
    anyhow::anyhow!("{problem}")
}

/// The status of the UDM's answer to a request with a token, or with none.
async fn udm_answers(udm: &str, token: Option<String>) -> u16 {
    let udm = UdmSubscriberDataManagementClient::new(peer_with_token(token, udm));
    udm.get_am_data(SUPI, AmDataQuery::default()).await.err().map_or(200, |it| it.status())
}

#[test]
fn free5gc_nrf_issues_the_tokens_of_the_functions() {
    // Built before the namespace exists, since modules may have to be downloaded.
    let Some(database) = mongodb::build() else { return };
    let Some(program) = NRF.build() else { return };
    in_namespace(move || with_free5gc_nrf(database, program));
}

async fn with_free5gc_nrf(database: PathBuf, program: PathBuf) -> Result<()> {
    // The NRF makes its keys and certificates in the folder `cert`.
    let keys = |folder: &Path| folder.join("cert");
    let started = CoreOfNrf::start(&database, &program, ", oauth: true", |config, folder| {
        config.sbi.token_key = keys(folder).join("nrf.pem").display().to_string();
        config.sbi.interop.service_tokens = true;
    })
    .await?;
    let core = &started.core;
    let (_radio, ue) = registered_ue(core, |_| {}).await?;
    let session = ue.establish_pdu_session(session()).await?;
    reaches(&ue, session.psi, GATEWAY).await?;
    ue.release_to_idle().await?;
    ue.service_request().await?;
    reaches(&ue, session.psi, GATEWAY).await?;
    ue.release_pdu_session(session.psi).await?;
    ue.deregister().await?;
    core.until_all_released().await?;
    core.sbi_record.check_sent(&free5gc_nrf::SENT).await?;
    core.sbi_record.check_sent(&["oauth2 AccessTokenRequest"]).await?;

    let udm = core.config().sbi.udm.to_string();
    rejects_what_is_not_its_token(&udm, &keys(&started.folder)).await?;
    started.stop().await
}

/// A token of free5GC's NRF.
async fn token(target: NfType, instance: Option<&str>, scope: &str) -> Result<String> {
    let nrf = NrfAccessTokenClient::new(peer_with_token(None, &nrf()));
    let request = AccessTokenReq {
        grant_type: "client_credentials".into(),
        nf_instance_id: CONSUMER.into(),
        nf_type: Some("SMF".into()),
        target_nf_type: Some(target.as_str().into()),
        target_nf_instance_id: instance.map(String::from),
        scope: scope.into(),
    };
    Ok(nrf.access_token_request(request).await.map_err(failed)?.access_token)
}

fn nrf() -> String {
    format!("{}:{}", NRF.address, NRF.port)
}

/// The instance of an NF type.
async fn instance(target: NfType) -> Result<String> {
    let query = || SearchQuery {
        target_nf_type: Some(target.clone()),
        requester_nf_type: Some(NfType::Smf),
        ..SearchQuery::default()
    };
    // free5GC's NRF requires tokens for its services, too.
    let refused = NfDiscoveryClient::new(peer_with_token(None, &nrf()))
        .search_nf_instances(query())
        .await
        .err();
    ensure!(refused.as_ref().is_some_and(|it| it.status() == 401), "{refused:?}");
    let token = token(NfType::Nrf, None, "nnrf-disc").await?;
    let discovery = NfDiscoveryClient::new(peer_with_token(Some(token), &nrf()));
    let found = discovery.search_nf_instances(query()).await.map_err(failed)?;
    Ok(found.nf_instances.first().context("no instance")?.nf_instance_id.to_string())
}

async fn rejects_what_is_not_its_token(udm: &str, keys: &Path) -> Result<()> {
    let id = CONSUMER.parse().map_err(|_| anyhow::anyhow!("an NF instance identity"))?;
    let mut profile = NfProfile::new(id, NfType::Smf, NfStatus::Registered);
    profile.ipv4_addresses = Some(vec![[127, 0, 0, 1].into()]);
    let management = NfManagementClient::new(peer_with_token(None, &nrf()));
    management.register_nf_instance(CONSUMER, profile).await.map_err(failed)?;
    let (own, other) = (instance(NfType::Udm).await?, instance(NfType::Udr).await?);

    // It is this key that signs, in PKCS #1 with the label of PKCS #8.
    let pem = std::fs::read_to_string(keys.join("nrf.key"))?;
    let relabelled = keys.join("nrf-pkcs1.key");
    std::fs::write(&relabelled, pem.replace(" PRIVATE KEY", " RSA PRIVATE KEY"))?;
    let signed = |key: &Path, exp: u64| -> Result<String> {
        let claims = Claims {
            iss: String::new(),
            sub: CONSUMER.into(),
            aud: Audience::One(own.clone()),
            scope: "nudm-sdm".into(),
            exp,
        };
        Ok(SigningKey::load(key)?.sign(&claims)?)
    };
    let valid = token(NfType::Udm, Some(&own), "nudm-sdm").await?;
    let (body, signature) = valid.rsplit_once('.').context("three parts")?;
    let changed = if signature.starts_with('A') { "B" } else { "A" };
    let altered = format!("{body}.{changed}{}", &signature[1..]);
    let cases = [
        ("its token", Some(valid.clone()), 200),
        ("no token", None, 401),
        ("no token of three parts", Some("a.b.c".into()), 401),
        ("another signature", Some(altered), 401),
        ("no audience", Some(token(NfType::Udm, None, "nudm-sdm").await?), 401),
        ("another audience", Some(token(NfType::Udm, Some(&other), "nudm-sdm").await?), 401),
        ("another scope", Some(token(NfType::Udm, Some(&own), "nudm-uecm").await?), 403),
        ("signed by the NRF's key", Some(signed(&relabelled, now() + 60)?), 200),
        ("expired", Some(signed(&relabelled, now() - 1)?), 401),
        ("another key", Some(signed(Path::new(PRIVATE), now() + 60)?), 401),
    ];
    for (what, token, expected) in cases {
        let status = udm_answers(udm, token).await;
        ensure!(status == expected, "{what}: {status}, and not {expected}");
    }
    Ok(())
}

#[test]
fn free5gc_pcf_uses_tokens_of_martlets_nrf() {
    // Built before the namespace exists, since modules may have to be downloaded.
    let Some(database) = mongodb::build() else { return };
    let Some(program) = PCF.build() else { return };
    in_namespace(move || with_free5gc_pcf(database, program));
}

async fn with_free5gc_pcf(database: PathBuf, program: PathBuf) -> Result<()> {
    let core = core_without("pcf", |config| {
        config.nrf.token_key = Some(PRIVATE.into());
        config.nrf.interop.oauth2_in_custom_info = true;
        config.sbi.token_key = PUBLIC.into();
    })
    .await?;
    let database = mongodb::start(&database, core.folder()).await?;
    let certificate = format!("  nrfCertPem: {PUBLIC}\n");
    let pcf = start_beside_with(&core, &PCF, &program, &certificate).await?;
    let until_logged = async |event: &str| {
        let logged = || pcf.output().contains(event).then_some(());
        eventually(event, logged, || pcf.output()).await
    };
    until_logged("OAuth2 setting receive from NRF: true").await?;

    let (_radio, ue) = registered_ue(&core, |_| {}).await?;
    until_logged("Handle AM Policy Create Request").await?;
    let session = ue.establish_pdu_session(session()).await?;
    until_logged("Handle CreateSmPolicy").await?;
    reaches(&ue, session.psi, GATEWAY).await?;
    // Changed data: Martlet's UDR notifies the PCF, which requires a token for that, and the PCF
    // then notifies the SMF with a token of Martlet's NRF for that.
    let claims = Claims {
        iss: "nrf".into(),
        sub: CONSUMER.into(),
        aud: Audience::One("UDR".into()),
        scope: "nudr-dr nudr-dr:application-data".into(),
        exp: now() + 60,
    };
    let token = SigningKey::load(Path::new(PRIVATE))?.sign(&claims)?;
    let udr = UdrDataRepositoryClient::new(peer_with_token(
        Some(token),
        &core.config().sbi.udr.to_string(),
    ));
    let data = free5gc_pcf::influence("1")?;
    udr.create_or_replace_individual_influence_data("application", data).await.map_err(failed)?;
    let updates = || core.sbi_record.calls("nsmf-callback SmPolicyUpdateNotify");
    let is_updated = || (updates() >= 1).then_some(());
    eventually("the SMF is notified", is_updated, || pcf.output()).await?;
    reaches(&ue, session.psi, GATEWAY).await?;
    // Martlet's UDR has accepted the tokens of the PCF.
    let read = core.sbi_record.calls("nudr-dr ReadSessionManagementPolicyData");
    ensure!(read > 0, "{:?}", core.sbi_record.counts());
    ue.release_pdu_session(session.psi).await?;
    until_logged("Handle DeleteSmPolicyContext").await?;
    ue.deregister().await?;
    until_logged("Handle AM Policy Association Delete").await?;
    core.sbi_record.check_sent(&free5gc_pcf::SENT).await?;

    let without = PcfSmPolicyControlClient::new(peer_with_token(
        None,
        &format!("{}:{}", PCF.address, PCF.port),
    ));
    let refused = without.get_sm_policy("1").await.err();
    ensure!(refused.as_ref().is_some_and(|it| it.status() == 401), "{refused:?}");
    let without = udm_answers(&core.config().sbi.udm.to_string(), None).await;
    ensure!(without == 401, "the UDM answers {without} without a token");
    pcf.stop().await?;
    database.stop().await
}
