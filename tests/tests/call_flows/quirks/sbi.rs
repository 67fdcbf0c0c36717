//! Quirks of network functions on the service-based interface.
use super::{SOON, check, with_strictness};
use crate::sbi::proxy::{AT, Proxy};
use crate::security::scas::problem;
use anyhow::{Result, bail, ensure};
use martlet::config::{Config, NrfAddresses};
use martlet::core::{Sbi, secure_environment, start_function};
use martlet_interop::SbiQuirk;
use martlet_nf::{Shutdown, ShutdownTrigger};
use martlet_sbi::{Body, OperationInfo, Response};
use martlet_sbi_api::common::NfInstanceId;
use martlet_sbi_api::nausf_ueauthentication::NAUSF_AUTH;
use martlet_sbi_api::nchf_converged_charging::NCHF_CONVERGEDCHARGING;
use martlet_sbi_api::nnrf_nfdiscovery::NNRF_DISC;
use martlet_sbi_api::nnrf_nfmanagement::{
    NNRF_NFM, NfManagementClient, NfProfile, NfStatus, NfType,
};
use martlet_sbi_api::nsmf_pdusession::NSMF_PDUSESSION;
use martlet_sbi_api::nudm_sdm::{NUDM_SDM, SdmSubscription, UdmSubscriberDataManagementClient};
use martlet_sbi_api::nudm_ueau::NUDM_UEAU;
use martlet_sbi_api::nudm_uecm::NUDM_UECM;
use martlet_smf::ChargingMode;
use martlet_tests::{GATEWAY, TestCore, eventually, internet, reaches};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

#[test]
fn sbi_quirks_are_tolerated_unless_strict() {
    check(
        |quirk| match quirk {
            SbiQuirk::AbsoluteApiPrefix
            | SbiQuirk::BareSmContextReference
            | SbiQuirk::UnreadableElement
            | SbiQuirk::NullList => "amf",
            SbiQuirk::PrefixedSmContextReference | SbiQuirk::NoInitialGrant => "smf",
            SbiQuirk::NoHeartbeats => "nrf",
            SbiQuirk::SdmVersion1 | SbiQuirk::EmptySubscription => "udm",
            SbiQuirk::RegistrationError => "ausf",
            SbiQuirk::TypedInstanceList => "udm",
        },
        |quirk, is_strict, core| Box::pin(sbi(quirk, is_strict, core)),
    );
}

async fn sbi(quirk: SbiQuirk, is_strict: bool, core: &mut Option<TestCore>) -> Result<bool> {
    match quirk {
        SbiQuirk::RegistrationError => return registration_error(is_strict, core).await,
        SbiQuirk::TypedInstanceList => return typed_instance_list(is_strict, core).await,
        _ => {}
    }
    let core = core.insert(
        TestCore::start_on(Sbi::Http, |config| {
            config.nrf.interop.no_heartbeats = true;
            config.nrf.max_heartbeat_s = 1;
            (config.udm.sdm_v1, config.udm.empty_subscriptions) = (true, true);
            if matches!(quirk, SbiQuirk::NoInitialGrant) {
                config.chf.enabled = true;
                config.smf.charging.mode = ChargingMode::Online;
            }
            with_strictness(is_strict)(config);
        })
        .await?,
    );
    match quirk {
        SbiQuirk::AbsoluteApiPrefix => absolute_prefix(core).await,
        SbiQuirk::BareSmContextReference => session_with(core, bare_reference).await,
        SbiQuirk::PrefixedSmContextReference => prefixed(core).await,
        SbiQuirk::UnreadableElement => registration_with(core, unreadable).await,
        SbiQuirk::NullList => registration_with(core, null_list).await,
        SbiQuirk::NoHeartbeats => no_heartbeats(core).await,
        SbiQuirk::SdmVersion1 => sdm_v1(core).await,
        SbiQuirk::EmptySubscription => empty_subscription(core).await,
        SbiQuirk::NoInitialGrant => no_initial_grant(core).await,
        SbiQuirk::RegistrationError | SbiQuirk::TypedInstanceList => bail!("played above"),
    }
}

/// A core whose NRF is behind a proxy, and the trigger that stops this NRF.
async fn behind_nrf(
    is_strict: bool,
    rewrite: fn(&OperationInfo, &str, Response) -> Response,
) -> Result<(TestCore, ShutdownTrigger)> {
    let mut config = Config::load(None)?;
    config.sbi.listen = true;
    config.udr.path = ":memory:".into();
    let (trigger, shutdown) = Shutdown::new();
    let environment = secure_environment(&config, "core", Sbi::Http, false, shutdown)?;
    let nrf = start_function("nrf", &config, &environment).await?;
    tokio::spawn(nrf.finished);
    let services = [NNRF_NFM::OPERATIONS, NNRF_DISC::OPERATIONS];
    Proxy::of(config.sbi.nrf.first(), &services, rewrite).await?;
    let core = TestCore::start_on(Sbi::Http, |config| {
        config.sbi.external = vec!["nrf".into()];
        config.sbi.nrf = NrfAddresses::one(format!("{AT}:7777").parse().expect("an address"));
        with_strictness(is_strict)(config);
    })
    .await?;
    Ok((core, trigger))
}

fn problem_response(status: u16, cause: &str) -> Response {
    let bytes = serde_json::json!({"status": status, "cause": cause}).to_string();
    let body = Body::encoded("application/problem+json", bytes.into());
    Response::new(status, body)
}

/// free5GC's NRF answers with the failure of its own notification.
async fn registration_error(is_strict: bool, core: &mut Option<TestCore>) -> Result<bool> {
    let rewrite: fn(&OperationInfo, &str, Response) -> Response =
        |operation, _, response| match operation.name {
            "RegisterNFInstance" => problem_response(500, "NOTIFICATION_ERROR"),
            _ => response,
        };
    let (started, _nrf) = behind_nrf(is_strict, rewrite).await?;
    let ready = core.insert(started).core.ready_source();
    if is_strict {
        tokio::time::sleep(SOON * 2).await;
    } else {
        let registered = || ready().is_ok().then_some(());
        let failure = || ready().err().map_or(String::new(), |missing| missing.to_string());
        eventually("all functions are registered", registered, failure).await?;
    }
    Ok(ready().is_ok())
}

/// free5GC's NRF needs `nf-type` and `limit`.
async fn typed_instance_list(is_strict: bool, core: &mut Option<TestCore>) -> Result<bool> {
    let rewrite: fn(&OperationInfo, &str, Response) -> Response =
        |operation, target, response| match operation.name {
            "GetNFInstances" if target.contains("nf-type=") && target.contains("limit=") => {
                objects(response, |members| {
                    if let Some(links) = members.remove("_links") {
                        let link = serde_json::json!({"item": links["items"]});
                        members.insert("_link".into(), link);
                    }
                })
            }
            "GetNFInstances" => problem_response(400, ""),
            _ => response,
        };
    let (started, _nrf) = behind_nrf(is_strict, rewrite).await?;
    let core = core.insert(started);
    let ready = core.core.ready_source();
    let registered = || ready().is_ok().then_some(());
    eventually("all functions are registered", registered, String::new).await?;
    // UDM, UDR and PCF check the addresses of notifications.
    let gnb = core.gnb(1).await?;
    Ok(gnb.new_ue(core.ue_config(1))?.register().await.is_ok())
}

fn unchanged(_: &OperationInfo, response: Response) -> Response {
    response
}

/// The AUSF's profile as free5GC's are.
async fn absolute_prefix(core: &TestCore) -> Result<bool> {
    let absolute = |profile: &mut NfProfile| {
        let listed = profile.nf_service_list.iter_mut().flat_map(|list| list.values_mut());
        for service in listed.chain(profile.nf_services.iter_mut().flatten()) {
            service.api_prefix = Some(format!("http://{AT}:7777"));
        }
    };
    let real = core.config().sbi.ausf;
    let proxy =
        Proxy::before(core, NfType::Ausf, real, &[NAUSF_AUTH::OPERATIONS], absolute, unchanged)
            .await?;
    let gnb = core.gnb(1).await?;
    gnb.new_ue(core.ue_config(1))?.register().await?;
    Ok(proxy.calls() > 0)
}

async fn behind_smf(
    core: &TestCore,
    rewrite: fn(&OperationInfo, Response) -> Response,
) -> Result<Proxy> {
    let real = core.config().sbi.smf;
    let services = [NSMF_PDUSESSION::OPERATIONS];
    Proxy::before(core, NfType::Smf, real, &services, |_| {}, rewrite).await
}

async fn session_with(
    core: &TestCore,
    rewrite: fn(&OperationInfo, Response) -> Response,
) -> Result<bool> {
    behind_smf(core, rewrite).await?;
    let gnb = core.gnb(1).await?;
    let ue = gnb.new_ue(core.ue_config(1))?;
    ue.register().await?;
    match ue.establish_pdu_session(internet()).await {
        Ok(_) => {
            ue.deregister().await?;
            Ok(true)
        }
        Err(error) if error.cause() == Some(90) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn location(response: Response, change: impl FnOnce(&str) -> String) -> Response {
    let Some((_, reference)) = response.location().and_then(|it| it.rsplit_once('/')) else {
        return response;
    };
    let changed = change(reference);
    response.located(&changed)
}

/// As free5GC's SMF.
fn bare_reference(_: &OperationInfo, response: Response) -> Response {
    location(response, str::to_owned)
}

/// A location from which the AMF makes requests as free5GC's AMF does.
fn prefixed_reference(_: &OperationInfo, response: Response) -> Response {
    let with_prefix = |reference: &str| {
        format!("http://{AT}:7777/nsmf-pdusession/v1/sm-contexts/urn:uuid:{reference}")
    };
    location(response, with_prefix)
}

async fn prefixed(core: &TestCore) -> Result<bool> {
    let proxy = behind_smf(core, prefixed_reference).await?;
    let gnb = core.gnb(1).await?;
    let ue = gnb.new_ue(core.ue_config(1))?;
    ue.register().await?;
    // The gNB's answer leads to UpdateSMContext.
    let _ = tokio::time::timeout(SOON * 4, ue.establish_pdu_session(internet())).await;
    let released = || (proxy.calls() >= 2).then_some(());
    eventually("UpdateSMContext", released, || proxy.calls().to_string()).await?;
    let _ = tokio::time::timeout(SOON, ue.deregister()).await;
    Ok(proxy.not_found() == 0)
}

async fn registration_with(
    core: &TestCore,
    rewrite: fn(&OperationInfo, Response) -> Response,
) -> Result<bool> {
    let services = [NUDM_SDM::OPERATIONS, NUDM_UEAU::OPERATIONS, NUDM_UECM::OPERATIONS];
    let real = core.config().sbi.udm;
    Proxy::before(core, NfType::Udm, real, &services, |_| {}, rewrite).await?;
    let gnb = core.gnb(1).await?;
    Ok(gnb.new_ue(core.ue_config(1))?.register().await.is_ok())
}

/// Changes each object of a JSON body.
fn objects(
    response: Response,
    change: fn(&mut serde_json::Map<String, serde_json::Value>),
) -> Response {
    fn walk(
        value: &mut serde_json::Value,
        change: fn(&mut serde_json::Map<String, serde_json::Value>),
    ) {
        match value {
            serde_json::Value::Object(members) => {
                members.values_mut().for_each(|member| walk(member, change));
                change(members);
            }
            serde_json::Value::Array(items) => {
                items.iter_mut().for_each(|item| walk(item, change));
            }
            _ => {}
        }
    }
    let Response { status, mut headers, body } = response;
    headers.remove(http::header::CONTENT_LENGTH);
    let Ok(Some(encoded)) = body.to_encoded() else { return Response { status, headers, body } };
    let Ok(mut json) = serde_json::from_slice::<serde_json::Value>(&encoded.bytes) else {
        return Response { status, headers, body };
    };
    walk(&mut json, change);
    let bytes = serde_json::to_vec(&json).unwrap_or_default();
    Response { status, headers, body: Body::encoded(encoded.content_type, bytes.into()) }
}

/// A GPSI that is a number.
fn unreadable(_: &OperationInfo, response: Response) -> Response {
    objects(response, |members| {
        if members.contains_key("subscribedUeAmbr") {
            members.insert("gpsis".into(), serde_json::json!([7]));
        }
    })
}

/// A slice of no interest whose data networks are `null`.
fn null_list(_: &OperationInfo, response: Response) -> Response {
    objects(response, |members| {
        if let Some(infos) = members.get_mut("subscribedSnssaiInfos") {
            infos["250"] = serde_json::json!({"dnnInfos": null});
        }
    })
}

/// As free5GC's CHF: nothing is granted at first, and the final action is an empty text until the
/// units are final.
fn without_grant(operation: &OperationInfo, response: Response) -> Response {
    match operation.name {
        "Create" => objects(response, |members| {
            members.remove("multipleUnitInformation");
        }),
        _ => objects(response, |members| {
            if members.contains_key("grantedUnit") {
                let indication = serde_json::json!({"finalUnitAction": ""});
                members.insert("finalUnitIndication".into(), indication);
            }
        }),
    }
}

async fn no_initial_grant(core: &TestCore) -> Result<bool> {
    core.query("charging/imsi-001010000000001/1000000").await?;
    let (real, services) = (core.config().sbi.chf, [NCHF_CONVERGEDCHARGING::OPERATIONS]);
    Proxy::before(core, NfType::Chf, real, &services, |_| {}, without_grant).await?;
    let gnb = core.gnb(1).await?;
    let ue = gnb.new_ue(core.ue_config(1))?;
    ue.register().await?;
    let session = match ue.establish_pdu_session(internet()).await {
        Ok(session) => session,
        Err(error) if error.cause() == Some(8) => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    reaches(&ue, session.psi, GATEWAY).await?;
    ue.deregister().await?;
    core.until_all_released().await?;
    // The granted units are not taken for the final ones, and the used ones are charged.
    let shown = core.query("charging/imsi-001010000000001").await?;
    let record = &shown["records"][0];
    ensure!(record["uplink"].as_u64() > Some(0) && record["reports"] == 2, "{shown}");
    Ok(true)
}

/// As free5GC's functions up to 3.4: no heartbeats.
async fn no_heartbeats(core: &TestCore) -> Result<bool> {
    let IpAddr::V4(at) = core.config().sbi.nrf.first().ip() else { bail!("IPv4 is needed") };
    let nrf = NfManagementClient::new(crate::security::scas::peer(at.octets()[3])?);
    let id: NfInstanceId = "6d1c6d3a-7a55-4b14-8c3a-2f7f6a7c1f80".parse()?;
    let mut profile = NfProfile::new(id.clone(), NfType::Ausf, NfStatus::Registered);
    profile.ipv4_addresses = Some(vec![Ipv4Addr::new(127, 0, 0, 80)]);
    nrf.register_nf_instance(&id, profile).await.map_err(problem)?;
    // One heartbeat is due each second.
    tokio::time::sleep(Duration::from_millis(3500)).await;
    let status = core.status("nrf");
    let entry =
        status["registered"].as_array().into_iter().flatten().find(|entry| {
            entry["instance"] == id.as_ref() || entry.to_string().contains(id.as_ref())
        });
    Ok(entry.is_some_and(|entry| entry["status"] == "REGISTERED"))
}

fn udm(core: &TestCore) -> Result<martlet_sbi::Peer> {
    let IpAddr::V4(at) = core.config().sbi.udm.ip() else { bail!("IPv4 is needed") };
    crate::security::scas::peer(at.octets()[3])
}

/// As free5GC's SMF up to 1.2.4.
async fn sdm_v1(core: &TestCore) -> Result<bool> {
    let at: SocketAddr = core.config().sbi.udm;
    let stream = tokio::net::TcpStream::connect(at).await?;
    let (mut client, connection) = h2::client::handshake(stream).await?;
    tokio::spawn(connection);
    let uri = format!("http://{at}/nudm-sdm/v1/imsi-001010000000001/am-data");
    let request = http::Request::get(uri).body(())?;
    let (response, _) = client.send_request(request, true)?;
    match response.await?.status().as_u16() {
        200 => Ok(true),
        404 => Ok(false),
        other => bail!("{other}"),
    }
}

/// As free5GC's AMF.
async fn empty_subscription(core: &TestCore) -> Result<bool> {
    let id: NfInstanceId = "6d1c6d3a-7a55-4b14-8c3a-2f7f6a7c1f81".parse()?;
    let body = SdmSubscription::new(id, String::new(), Vec::new());
    let client = UdmSubscriberDataManagementClient::new(udm(core)?);
    match client.subscribe("imsi-001010000000001", body).await {
        Ok(_) => Ok(true),
        Err(problem) if problem.status() == 400 => Ok(false),
        Err(other) => bail!("{other}"),
    }
}
