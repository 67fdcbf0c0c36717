//! Quirks of network functions on the service-based interface.
use super::{DUE, SOON, charging, check, subscription_data, tokens, with_strictness};
use crate::connection::paging::manual;
use crate::sbi::proxy::{AT, Proxy};
use crate::security::scas::problem;
use anyhow::{Result, bail, ensure};
use martlet::config::{Config, NrfAddresses};
use martlet::core::{Sbi, secure_environment, start_function};
use martlet_interop::SbiQuirk;
use martlet_nf::{Shutdown, ShutdownTrigger};
use martlet_ran::ue::ServicePurpose;
use martlet_sbi::{Body, Created, Multipart, OperationInfo, Query, Response, content_type};
use martlet_sbi_api::Json;
use martlet_sbi_api::common::{NfInstanceId, Snssai, Tac, Tai};
use martlet_sbi_api::namf_communication::NAMF_COMM;
use martlet_sbi_api::nausf_ueauthentication::NAUSF_AUTH;
use martlet_sbi_api::nnrf_nfdiscovery::NNRF_DISC;
use martlet_sbi_api::nnrf_nfmanagement::{
    NNRF_NFM, NfManagementClient, NfProfile, NfStatus, NfType,
};
use martlet_sbi_api::nnrf_oauth2::NNRF_OAUTH2;
use martlet_sbi_api::nnssf_ns_selection::{
    NsSelectionQuery, NssfNsSelectionClient, QueriedTai, SliceInfoForRegistration, SubscribedSnssai,
};
use martlet_sbi_api::nsmf_pdusession::{NSMF_PDUSESSION, SmContextCreatedData};
use martlet_sbi_api::nudm_sdm::{SdmSubscription, UdmSubscriberDataManagementClient};
use martlet_sbi_api::nudr_dr::UdrDataRepositoryClient;
use martlet_sbi_http::ServerLimits;
use martlet_smf::ChargingMode;
use martlet_tests::{LogLines, TestCore, eventually, in_namespace, internet, ping};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

#[test]
fn sbi_quirks_are_tolerated_unless_strict() {
    check(
        |quirk| match quirk {
            SbiQuirk::AbsoluteApiPrefix
            | SbiQuirk::BareSmContextReference
            | SbiQuirk::UnreadableElement
            | SbiQuirk::NullList
            | SbiQuirk::MissingLocation
            | SbiQuirk::MissingChallenge
            | SbiQuirk::SeparateDataSets => "amf",
            SbiQuirk::PrefixedSmContextReference
            | SbiQuirk::EnvelopedResponse
            | SbiQuirk::NoInitialGrant
            | SbiQuirk::EmptyFinalAction => "smf",
            SbiQuirk::NoHeartbeats => "nrf",
            SbiQuirk::SdmVersion1
            | SbiQuirk::EmptySubscription
            | SbiQuirk::TypedInstanceList
            | SbiQuirk::TokenClaims => "udm",
            SbiQuirk::RegistrationError => "ausf",
            SbiQuirk::DecimalTac => "nssf",
            SbiQuirk::CallbackToken
            | SbiQuirk::ServiceScope
            | SbiQuirk::InfluenceSelectors
            | SbiQuirk::DrVersion1 => "udr",
        },
        |quirk, is_strict, core| Box::pin(sbi(quirk, is_strict, core)),
    );
}

async fn sbi(quirk: SbiQuirk, is_strict: bool, core: &mut Option<TestCore>) -> Result<bool> {
    match quirk {
        SbiQuirk::RegistrationError => return registration_error(is_strict, core).await,
        SbiQuirk::EnvelopedResponse => return enveloped_response(is_strict, core).await,
        SbiQuirk::TypedInstanceList => return typed_instance_list(is_strict, core).await,
        SbiQuirk::MissingLocation => return missing_location(is_strict, core).await,
        SbiQuirk::MissingChallenge => return tokens::missing_challenge(is_strict, core).await,
        SbiQuirk::CallbackToken => return tokens::callback_token(is_strict, core).await,
        SbiQuirk::TokenClaims => return tokens::token_claims(is_strict, core).await,
        SbiQuirk::ServiceScope => return tokens::service_scope(is_strict, core).await,
        _ => {}
    }
    let core = core.insert(
        TestCore::start_on(Sbi::Http, |config| {
            config.nrf.interop.no_heartbeats = true;
            config.nrf.max_heartbeat_s = 1;
            (config.udm.sdm_v1, config.udm.empty_subscriptions) = (true, true);
            config.sbi.callbacks.allow = vec![AT.into()];
            if matches!(quirk, SbiQuirk::NoInitialGrant | SbiQuirk::EmptyFinalAction) {
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
        SbiQuirk::UnreadableElement => subscription_data::unreadable_element(core).await,
        SbiQuirk::NullList => subscription_data::null_list(core).await,
        SbiQuirk::NoHeartbeats => no_heartbeats(is_strict, core).await,
        SbiQuirk::SdmVersion1 => sdm_v1(core).await,
        SbiQuirk::DrVersion1 => dr_v1(core).await,
        SbiQuirk::EmptySubscription => empty_subscription(core).await,
        SbiQuirk::NoInitialGrant => charging::no_initial_grant(core).await,
        SbiQuirk::EmptyFinalAction => charging::empty_final_action(core).await,
        SbiQuirk::InfluenceSelectors => influence_selectors(core).await,
        SbiQuirk::DecimalTac => decimal_tac(core).await,
        SbiQuirk::SeparateDataSets => subscription_data::separate_data_sets(core).await,
        SbiQuirk::RegistrationError
        | SbiQuirk::EnvelopedResponse
        | SbiQuirk::TypedInstanceList
        | SbiQuirk::MissingLocation
        | SbiQuirk::MissingChallenge
        | SbiQuirk::CallbackToken
        | SbiQuirk::TokenClaims
        | SbiQuirk::ServiceScope => bail!("played above"),
    }
}

/// What a proxy of the NRF changes in responses.
pub type Rewrite = fn(&OperationInfo, &str, Response) -> Response;

/// Starts an NRF behind a proxy with these limits. Returns what stops the NRF, and its address.
pub async fn start_nrf(
    change: impl FnOnce(&mut Config),
    limits: ServerLimits,
    rewrite: Rewrite,
) -> Result<(ShutdownTrigger, NrfAddresses)> {
    let mut config = Config::load(None)?;
    config.sbi.listen = true;
    config.udr.path = ":memory:".into();
    change(&mut config);
    let (trigger, shutdown) = Shutdown::new();
    let environment = secure_environment(&config, "core", Sbi::Http, false, shutdown)?;
    let nrf = start_function("nrf", &config, &environment).await?;
    tokio::spawn(nrf.finished);
    let services = [NNRF_NFM::OPERATIONS, NNRF_DISC::OPERATIONS, NNRF_OAUTH2::OPERATIONS];
    Proxy::with_limits(config.sbi.nrf.first(), &services, limits, rewrite).await?;
    Ok((trigger, NrfAddresses::one(format!("{AT}:7777").parse()?)))
}

/// A core with the NRF at this address.
pub async fn behind(
    nrf: NrfAddresses,
    is_strict: bool,
    change: impl FnOnce(&mut Config),
) -> Result<TestCore> {
    TestCore::start_on(Sbi::Http, |config| {
        config.sbi.external = vec!["nrf".into()];
        config.sbi.nrf = nrf;
        change(config);
        with_strictness(is_strict)(config);
    })
    .await
}

/// A core whose NRF is behind a proxy, and the trigger that stops this NRF.
async fn behind_nrf(is_strict: bool, rewrite: Rewrite) -> Result<(TestCore, ShutdownTrigger)> {
    let (trigger, nrf) = start_nrf(|_| {}, ServerLimits::default(), rewrite).await?;
    Ok((behind(nrf, is_strict, |_| {}).await?, trigger))
}

pub fn problem_response(status: u16, cause: &str) -> Response {
    let bytes = serde_json::json!({"status": status, "cause": cause}).to_string();
    let body = Body::encoded("application/problem+json", bytes.into());
    Response::new(status, body)
}

/// free5GC's NRF answers with the failure of its own notification.
async fn registration_error(is_strict: bool, core: &mut Option<TestCore>) -> Result<bool> {
    let rewrite: Rewrite = |operation, _, response| match operation.name {
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
    let rewrite: Rewrite = |operation, target, response| match operation.name {
        "GetNFInstances" if target.contains("nf-type=") && target.contains("limit=") => {
            objects(response, |members| {
                if let Some(links) = members.remove("_links") {
                    let link = serde_json::json!({"item": links["item"]});
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

/// free5GC's NRF answers a subscription without `Location`.
async fn missing_location(is_strict: bool, core: &mut Option<TestCore>) -> Result<bool> {
    let rewrite: Rewrite = |operation, _, mut response| {
        if operation.name == "CreateSubscription" {
            response.headers.remove(http::header::LOCATION);
        }
        response
    };
    let log = LogLines::record();
    let (started, _nrf) = behind_nrf(is_strict, rewrite).await?;
    let core = core.insert(started);
    let gnb = core.gnb(1).await?;
    gnb.new_ue(core.ue_config(1))?.register().await?;
    let outcome = || {
        let refused = log.with_message("subscription to status changes without a location refused");
        let is_listed = core.status("amf")["quirks"].to_string().contains("missing_location");
        (!refused.is_empty() || is_listed).then_some(refused.is_empty())
    };
    eventually("the subscription is accepted or refused", outcome, || format!("{:?}", log.all()))
        .await
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

/// As OAI's SMF: a location without a scheme, and a number as cause of an update.
fn as_oais_smf(operation: &OperationInfo, response: Response) -> Response {
    match (operation.name, response.status) {
        ("PostSmContexts", _) => location(response, |reference| {
            format!("192.0.2.1:8080/nsmf-pdusession/v1/sm-contexts/{reference}")
        }),
        ("UpdateSmContext", 204) => {
            let body = Body::encoded("application/json", r#"{"cause":255}"#.into());
            Response { status: 200, body, ..response }
        }
        ("UpdateSmContext", 200) => objects(response, |members| {
            members.insert("cause".into(), 255.into());
        }),
        _ => response,
    }
}

#[test]
fn sessions_of_oais_smf_are_updated_and_deactivated() {
    in_namespace(|| async {
        let core = TestCore::start_on(Sbi::Http, |_| {}).await?;
        let proxy = behind_smf(&core, as_oais_smf).await?;
        let gnb = core.gnb(1).await?;
        let (ue, _) = core.ue_with_session(&gnb, 1).await?;
        let updated = |member: &str, value: &str| {
            let requests = core.sbi_record.requests("nsmf-pdusession UpdateSmContext");
            requests.iter().any(|(_, body)| body[member] == value).then_some(())
        };
        let calls = || proxy.calls().to_string();
        let set_up = || updated("n2SmInfoType", "PDU_RES_SETUP_RSP");
        eventually("the gNB's answer reaches the SMF", set_up, calls).await?;
        ue.release_to_idle().await?;
        let deactivated = || updated("upCnxState", "DEACTIVATED");
        eventually("the deactivation reaches the SMF", deactivated, calls).await?;
        ue.service_request_for(ServicePurpose::Data, &[1]).await?;
        ue.deregister().await?;
        Ok(())
    });
}

/// As free5GC's AMF answers while it pages a UE: headers and data in the body.
fn envelope(_: &OperationInfo, _: &str, response: Response) -> Response {
    if response.status != 202 {
        return response;
    }
    let Response { status, mut headers, body } = response;
    headers.remove(http::header::CONTENT_LENGTH);
    let Ok(Some(encoded)) = body.to_encoded() else { return Response { status, headers, body } };
    let data = serde_json::from_slice(&encoded.bytes).unwrap_or(serde_json::Value::Null);
    let headers_in_body = serde_json::json!({ "Location": ["http://127.0.0.1/n1-n2-messages/1"] });
    let body = serde_json::json!({ "data": data, "headers": headers_in_body });
    let body = Body::encoded(encoded.content_type, body.to_string().into());
    Response { status, headers, body }
}

async fn enveloped_response(is_strict: bool, core: &mut Option<TestCore>) -> Result<bool> {
    let core = core.insert(
        TestCore::start_on(Sbi::Http, |config| {
            config.sbi.advertise.insert("amf".into(), format!("{AT}:7777"));
            with_strictness(is_strict)(config);
        })
        .await?,
    );
    let amf = core.config().sbi.amf;
    let _proxy = Proxy::of(amf, &[NAMF_COMM::OPERATIONS], envelope).await?;
    let gnb = core.gnb(1).await?;
    let (one, from) = core.ue_with_session(&gnb, 1).await?;
    let two = gnb.new_ue(manual(core.ue_config(2)))?;
    let to = core.register_with_session(&two).await?;
    two.release_to_idle().await?;
    one.send_ip(1, ping(from, to, 1)).await?;
    // The AMF pages the UE in both cases. The answer decides what becomes of the packet.
    two.wait_for_paging().await?;
    let dropped = core.until("the buffer is dropped", |counts| counts.buffered == 0);
    let limit = if is_strict { DUE } else { SOON };
    if tokio::time::timeout(limit, dropped).await.is_ok() {
        return Ok(false);
    }
    two.service_request_for(ServicePurpose::Data, &[1]).await?;
    two.recv_ip().await?;
    Ok(true)
}

/// Changes each object of a JSON body.
pub fn objects(
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

/// As free5GC's PCF: data networks, slices and SUPIs.
async fn influence_selectors(core: &TestCore) -> Result<bool> {
    let IpAddr::V4(at) = core.config().sbi.udr.ip() else { bail!("IPv4 is needed") };
    let udr = UdrDataRepositoryClient::new(crate::security::scas::peer(at.octets()[3])?);
    let uri = format!("http://{AT}:7777/npcf-callback/v1/nudr-notify/influence-data/1");
    let subscribed = async |selectors: serde_json::Value| {
        let mut body = selectors;
        body["notificationUri"] = uri.as_str().into();
        let made = udr.create_individual_influence_data_subscription(serde_json::from_value(body)?);
        anyhow::Ok(made.await.err().map_or(201, |problem| problem.status()))
    };
    ensure!(subscribed(serde_json::json!({"dnns": ["internet"]})).await? == 201);
    let several = serde_json::json!({"dnns": ["internet"], "snssais": [{"sst": 1}],
        "supis": ["imsi-001010000000001"]});
    match subscribed(several).await? {
        201 => Ok(true),
        400 => Ok(false),
        other => bail!("{other}"),
    }
}

/// As OAI's AMF.
async fn decimal_tac(core: &TestCore) -> Result<bool> {
    let IpAddr::V4(at) = core.config().sbi.nssf.ip() else { bail!("IPv4 is needed") };
    let nssf = NssfNsSelectionClient::new(crate::security::scas::peer(at.octets()[3])?);
    let mut slice = SubscribedSnssai::new(Snssai::new(1, None));
    slice.default_indication = Some(true);
    let request =
        SliceInfoForRegistration { subscribed_nssai: Some(vec![slice]), ..Default::default() };
    let query = |is_decimal| {
        let tai = Tai::new("00101".parse()?, Tac::from_u32(1));
        anyhow::Ok(NsSelectionQuery {
            nf_type: Some(NfType::Amf),
            nf_id: Some("6d1c6d3a-7a55-4b14-8c3a-2f7f6a7c1f80".parse()?),
            slice_info_request_for_registration: Some(Json(request.clone())),
            tai: Some(QueriedTai { tai, is_decimal }),
            ..Default::default()
        })
    };
    nssf.ns_selection_get(query(false)?).await.map_err(problem)?;
    match nssf.ns_selection_get(query(true)?).await {
        Ok(_) => Ok(true),
        Err(refused) if refused.status() == 400 => Ok(false),
        Err(other) => bail!("{other}"),
    }
}

/// A request for an SM context as OAI's AMF makes it: the tracking area code of the location in
/// decimal digits, and the differentiator that stands for none.
async fn session_of_oais_amf(is_strict: bool) -> Result<()> {
    let core = TestCore::start_on(Sbi::Http, |config| {
        config.sbi.callbacks.allow = vec![AT.into()];
        with_strictness(is_strict)(config);
    })
    .await?;
    let IpAddr::V4(at) = core.config().sbi.smf.ip() else { bail!("IPv4 is needed") };
    let smf = crate::security::scas::peer(at.octets()[3])?;
    let plmn = serde_json::json!({ "mcc": "001", "mnc": "01" });
    let data = serde_json::json!({
        "supi": "imsi-001010000000001",
        "dnn": "internet",
        "sNssai": { "sst": 1, "sd": "FFFFFF" },
        "pduSessionId": 1,
        "requestType": "INITIAL_REQUEST",
        "servingNfId": "6d1c6d3a-7a55-4b14-8c3a-2f7f6a7c1f80",
        "servingNetwork": plmn,
        "anType": "3GPP_ACCESS",
        "smContextStatusUri": format!("http://{AT}:7777/status/1"),
        "n1SmMsg": { "contentId": "n1SmMsg" },
        "ueLocation": { "nrLocation": {
            "tai": { "plmnId": plmn, "tac": "1" },
            "ncgi": { "plmnId": plmn, "nrCellId": "000000010" },
        } },
    });
    // PDU SESSION ESTABLISHMENT REQUEST for IPv4.
    let message = vec![0x2e, 1, 1, 0xc1, 0xff, 0xff, 0x91];
    let body = Multipart::new(data).part("n1SmMsg", content_type::NAS, message);
    let operation = NSMF_PDUSESSION::post_sm_contexts();
    let created: Result<Created<Multipart<SmContextCreatedData>>, _> =
        smf.call(operation, &[], Query::default(), Body::of(body)).await;
    match (is_strict, created) {
        (false, Ok(_)) => {
            let quirks = &core.status("smf")["quirks"];
            ensure!(quirks.to_string().contains("decimal_tac"), "{quirks}");
        }
        (true, Err(refused)) => ensure!(refused.cause() == "OPTIONAL_IE_INCORRECT", "{refused}"),
        (_, other) => bail!("strict: {is_strict}: {other:?}"),
    }
    Ok(())
}

#[test]
fn the_smf_reads_the_location_of_oais_amf() {
    for is_strict in [false, true] {
        in_namespace(move || session_of_oais_amf(is_strict));
    }
}

/// As free5GC's functions up to 3.4: no heartbeats.
async fn no_heartbeats(is_strict: bool, core: &TestCore) -> Result<bool> {
    let IpAddr::V4(at) = core.config().sbi.nrf.first().ip() else { bail!("IPv4 is needed") };
    let nrf = NfManagementClient::new(crate::security::scas::peer(at.octets()[3])?);
    let id: NfInstanceId = "6d1c6d3a-7a55-4b14-8c3a-2f7f6a7c1f80".parse()?;
    let mut profile = NfProfile::new(id.clone(), NfType::Ausf, NfStatus::Registered);
    profile.ipv4_addresses = Some(vec![Ipv4Addr::new(127, 0, 0, 80)]);
    nrf.register_nf_instance(&id, profile).await.map_err(problem)?;
    let is_registered = || {
        let status = core.status("nrf");
        let entry = status["registered"].as_array().into_iter().flatten().find(|entry| {
            entry["instance"] == id.as_ref() || entry.to_string().contains(id.as_ref())
        });
        entry.is_some_and(|entry| entry["status"] == "REGISTERED")
    };
    if is_strict {
        let suspended = || (!is_registered()).then_some(());
        eventually("it is suspended", suspended, || core.status("nrf").to_string()).await?;
    } else {
        // One heartbeat is due each second; after three of them the NRF looks twice a second.
        tokio::time::sleep(Duration::from_secs(4)).await;
    }
    Ok(is_registered())
}

fn udm(core: &TestCore) -> Result<martlet_sbi::Peer> {
    let IpAddr::V4(at) = core.config().sbi.udm.ip() else { bail!("IPv4 is needed") };
    crate::security::scas::peer(at.octets()[3])
}

/// As free5GC's SMF up to 1.2.4.
async fn sdm_v1(core: &TestCore) -> Result<bool> {
    is_served(core.config().sbi.udm, "/nudm-sdm/v1/imsi-001010000000001/am-data").await
}

/// As Open5GS's UDM.
async fn dr_v1(core: &TestCore) -> Result<bool> {
    let of_ue = "/nudr-dr/v1/subscription-data/imsi-001010000000001";
    let path = format!("{of_ue}/00101/provisioned-data/am-data");
    is_served(core.config().sbi.udr, &path).await
}

/// Whether a path is known.
async fn is_served(at: SocketAddr, path: &str) -> Result<bool> {
    let stream = tokio::net::TcpStream::connect(at).await?;
    let (mut client, connection) = h2::client::handshake(stream).await?;
    tokio::spawn(connection);
    let uri = format!("http://{at}{path}");
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
