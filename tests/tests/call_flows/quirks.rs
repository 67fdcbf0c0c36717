//! Each entry of the tables of interop quirks: a peer shows the deviation, which is tolerated and
//! counted, and refused with `strict: true`.
//!
//! The matches are exhaustive, so that a new entry needs a test.
use crate::sbi::proxy::{AT, Proxy};
use crate::security::attack_n4::{NEIGHBOUR, Neighbour, claim_of};
use crate::security::five_g_aka::{REGISTRATION_REQUEST, from_hex};
use crate::security::scas::problem;
use crate::user_plane::no_qfi::beside_the_gnb;
use anyhow::{Context, Result, bail, ensure};
use martlet::config::{Config, NrfAddresses};
use martlet::core::{Sbi, secure_environment, start_function};
use martlet_eap::keys::{Keys, identity_of};
use martlet_eap::packet::{Attribute, Code, Packet, Subtype};
use martlet_interop::{Interface, N1Quirk, N2Quirk, N3Quirk, N4Quirk, Quirk, SbiQuirk};
use martlet_nas::{Nas5gsMessage, NasConfigurationUpdateComplete};
use martlet_nf::{Shutdown, ShutdownTrigger};
use martlet_ngap::NgapPduKind as Kind;
use martlet_pfcp::ie::{Cause, DestinationInterface};
use martlet_pfcp::{Message, Packet as Pfcp};
use martlet_ran::UeEvent;
use martlet_ran::ue::Event;
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
use martlet_security::aka::{SubscriberKey, ck_ik_prime};
use martlet_security::{Autn, Rand};
use martlet_smf::ChargingMode;
use martlet_store::AuthenticationMethod;
use martlet_tests::{
    GATEWAY, MetricDelta, RawGnb, TestCore, eventually, in_namespace, internet, ping, reaches,
    subscriber_keys,
};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::time::Duration;

/// How long an answer takes at most, where none is the sign of a refusal.
const SOON: Duration = Duration::from_millis(500);

/// The configuration of `strict: true`.
fn strict(config: &mut Config) {
    config.strict = true;
    config.apply_strict();
}

fn with_strictness(is_strict: bool) -> impl FnOnce(&mut Config) {
    move |config| {
        if is_strict {
            strict(config);
        }
    }
}

/// Whether a quirk was tolerated. The core of the play is handed back for its status.
type Play<'a> = Pin<Box<dyn Future<Output = Result<bool>> + 'a>>;

/// Plays each quirk of a table without and with `strict`, each in a network namespace of its own.
fn check<Q: Quirk + Send + Sync>(
    nf: fn(Q) -> &'static str,
    play: for<'a> fn(Q, bool, &'a mut Option<TestCore>) -> Play<'a>,
) {
    for quirk in Q::ALL {
        for is_strict in [false, true] {
            in_namespace(move || check_one(*quirk, is_strict, nf(*quirk), play));
        }
    }
}

async fn check_one<Q: Quirk>(
    quirk: Q,
    is_strict: bool,
    nf: &'static str,
    play: for<'a> fn(Q, bool, &'a mut Option<TestCore>) -> Play<'a>,
) -> Result<()> {
    let (interface, name) = (Q::INTERFACE.name(), quirk.description().name);
    let counted = MetricDelta::of(
        "martlet_interop_quirks_total",
        &[("interface", interface), ("quirk", name)],
    );
    let mut core = None;
    let tolerated = play(quirk, is_strict, &mut core)
        .await
        .with_context(|| format!("{interface} {name}, strict: {is_strict}"))?;
    ensure!(tolerated != is_strict, "{interface} {name}: strict {is_strict}: {tolerated}");
    if is_strict {
        return Ok(());
    }
    // The datapath counts packets by itself.
    ensure!(Q::INTERFACE == Interface::N3 || counted.get() >= 1.0, "{name} not counted");
    let status = core.context("the play has no core")?.status(nf);
    let mut listed = status["quirks"].as_array().into_iter().flatten();
    let shown = listed.any(|entry| entry["interface"] == interface && entry["quirk"] == name);
    ensure!(shown, "{name}: not in the status: {status}");
    Ok(())
}

#[test]
fn n1_quirks_are_tolerated_unless_strict() {
    check(
        |quirk| match quirk {
            N1Quirk::UnrequestedConfigurationUpdateComplete => "amf",
            N1Quirk::EapResponseWithKdf => "ausf",
        },
        |quirk, is_strict, core| match quirk {
            N1Quirk::UnrequestedConfigurationUpdateComplete => {
                Box::pin(unrequested_complete(is_strict, core))
            }
            N1Quirk::EapResponseWithKdf => Box::pin(eap_response_with_kdf(is_strict, core)),
        },
    );
}

/// As PacketRusher's UEs do after each registration.
async fn unrequested_complete(is_strict: bool, core: &mut Option<TestCore>) -> Result<bool> {
    let core = core.insert(TestCore::start(Sbi::Local, with_strictness(is_strict)).await?);
    let gnb = core.gnb(1).await?;
    let ue = gnb.new_ue(core.ue_config(1))?;
    ue.register().await?;
    let mut events = ue.subscribe().await?;
    ue.send_nas(Nas5gsMessage::new_5gmm(NasConfigurationUpdateComplete::new())).await?;
    let status = async {
        loop {
            if let UeEvent::Nas(Event::Status { cause, .. }) = events.recv().await? {
                return anyhow::Ok(cause);
            }
        }
    };
    let refused = match tokio::time::timeout(SOON, status).await {
        Ok(cause) => cause? == 98,
        Err(_) => false,
    };
    ue.deregister().await?;
    Ok(!refused)
}

/// As UERANSIM's UEs before 3.2.7: RES, MAC and AT_KDF.
async fn eap_response_with_kdf(is_strict: bool, core: &mut Option<TestCore>) -> Result<bool> {
    let core = core.insert(TestCore::start(Sbi::Local, with_strictness(is_strict)).await?);
    core.subscribe(1, |subscriber| {
        subscriber.authentication_method = AuthenticationMethod::EapAkaPrime;
    })?;
    let gnb = RawGnb::set_up(core, 1).await?;
    gnb.send(gnb.initial_ue_message(1, &from_hex(REGISTRATION_REQUEST))).await?;
    let (amf_id, nas) = gnb.next_nas().await?;
    let challenge = Packet::decode(nas.get(10..).context("no EAP packet")?)?;
    let bytes = |wanted: fn(&Attribute) -> Option<[u8; 16]>| {
        challenge.attributes().iter().find_map(wanted).context("an attribute is missing")
    };
    let rand = Rand::new(&bytes(|it| match it {
        Attribute::Rand(rand) => Some(*rand),
        _ => None,
    })?);
    let autn = Autn::new(&bytes(|it| match it {
        Attribute::Autn(autn) => Some(*autn),
        _ => None,
    })?);
    let (k, opc) = subscriber_keys();
    let response = SubscriberKey::new(&k, &opc).check_autn(&rand, &autn);
    let response = response.map_err(|_| anyhow::anyhow!("AUTN is wrong"))?;
    let network = "5G:mnc001.mcc001.3gppnetwork.org";
    let (ck, ik) = ck_ik_prime(&response.ck, &response.ik, &autn, network)?;
    let keys = Keys::derive(&ck, &ik, identity_of("imsi-001010000000001"));
    let attributes =
        vec![Attribute::Res(response.res.clone()), Attribute::Mac([0; 16]), Attribute::Kdf(1)];
    let packet = Packet::new(Code::Response, challenge.identifier, Subtype::Challenge, attributes);
    let mut packet = packet.encode();
    let mac = martlet_security::kdf::kdf(&keys.k_aut, &packet);
    let at = packet.len() - 4 - 16;
    packet[at..at + 16].copy_from_slice(&mac[..16]);
    let length = u16::try_from(packet.len())?.to_be_bytes();
    let answer = [&[0x7e, 0x00, 0x57, 0x78], length.as_slice(), &packet].concat();
    gnb.send(gnb.uplink_nas_transport(amf_id, 1, &answer)).await?;
    let (_, nas) = gnb.next_nas().await?;
    // SECURITY MODE COMMAND, or AUTHENTICATION REJECT.
    match (nas.get(1), nas.get(2)) {
        (Some(3), _) => Ok(true),
        (Some(0), Some(0x58)) => Ok(false),
        _ => bail!("{nas:02x?}"),
    }
}

#[test]
fn n2_quirks_are_tolerated_unless_strict() {
    check(
        |_| "amf",
        |quirk, is_strict, core| match quirk {
            N2Quirk::ElementOrder => Box::pin(element_order(is_strict, core)),
            N2Quirk::OffloadedChecksum => Box::pin(offloaded_checksum(is_strict, core)),
        },
    );
}

/// As PacketRusher's gNB.
async fn element_order(is_strict: bool, core: &mut Option<TestCore>) -> Result<bool> {
    let core = core.insert(TestCore::start(Sbi::Local, with_strictness(is_strict)).await?);
    let gnb = RawGnb::set_up(core, 1).await?;
    gnb.send(gnb.disordered_initial_ue_message(1, &from_hex(REGISTRATION_REQUEST))).await?;
    match gnb.next().await?.kind() {
        Kind::Initiating_DownlinkNASTransport => Ok(true),
        Kind::Initiating_ErrorIndication => Ok(false),
        other => bail!("{other:?}"),
    }
}

/// As the kernel's SCTP, which leaves the checksum to the loopback interface: the four messages of
/// the association setup (RFC 9260, 5.1) with the checksum 0.
async fn offloaded_checksum(is_strict: bool, core: &mut Option<TestCore>) -> Result<bool> {
    let core = core.insert(
        TestCore::start(Sbi::Local, |config| {
            config.amf.n2.stack = martlet_amf::SctpStackConfig::Usrsctp;
            with_strictness(is_strict)(config);
        })
        .await?,
    );
    let IpAddr::V4(amf) = core.config().amf.n2.bind[0] else { bail!("IPv4 is needed") };
    let peer = crate::n2::unchecked_sctp::UncheckedPeer::open(amf)?;
    let Some(cookie) = peer.init(SOON).await? else { return Ok(false) };
    ensure!(peer.echo(&cookie, SOON).await?, "no COOKIE ACK");
    let counted = || {
        let status = core.status("amf");
        status["quirks"].to_string().contains("offloaded_checksum").then_some(())
    };
    eventually("the quirk is counted", counted, || core.status("amf").to_string()).await?;
    Ok(true)
}

#[test]
fn n3_quirks_are_tolerated_unless_strict() {
    check(
        |_| "upf",
        |quirk, is_strict, core| match quirk {
            N3Quirk::NoQfi => Box::pin(no_qfi(is_strict, core)),
        },
    );
}

/// As free-ran-ue's gNB.
async fn no_qfi(is_strict: bool, core: &mut Option<TestCore>) -> Result<bool> {
    let core = core.insert(TestCore::start(Sbi::Local, with_strictness(is_strict)).await?);
    let gnb = core.gnb(1).await?;
    let (_ue, address) = core.ue_with_session(&gnb, 1).await?;
    let (socket, _, teid) = beside_the_gnb(core).await?;
    let packet = ping(address, GATEWAY, 1);
    socket.send(&martlet_upf::conformance::g_pdu(teid, None, &packet)).await?;
    let outcome = || {
        let status = core.status("upf");
        match (&status["counters"]["unmarked_packets"], &status["drops"]["no_qfi"]) {
            (passed, _) if *passed == 1 => Some(true),
            (_, dropped) if *dropped == 1 => Some(false),
            _ => None,
        }
    };
    eventually("the packet is counted", outcome, || core.status("upf").to_string()).await
}

#[test]
fn n4_quirks_are_tolerated_unless_strict() {
    check(
        |_| "upf",
        |quirk, is_strict, core| match quirk {
            N4Quirk::ForwardWithoutHeader => Box::pin(forward_without_header(is_strict, core)),
        },
    );
}

/// As free5GC's SMF before the gNB has named its tunnel.
async fn forward_without_header(is_strict: bool, core: &mut Option<TestCore>) -> Result<bool> {
    let core = core.insert(
        TestCore::start(Sbi::Local, |config| {
            crate::n4::malformed::allow_all(config);
            with_strictness(is_strict)(config);
        })
        .await?,
    );
    ensure!(core.counts().user_planes == 0);
    let smf = Neighbour::open().await?;
    ensure!(smf.associate(1, NEIGHBOUR).await? == Some(Cause::ACCEPTED));
    let mut request = claim_of(Ipv4Addr::new(10, 99, 0, 7));
    for parameters in request.create_fars.iter_mut().flat_map(|far| &mut far.forwarding_parameters)
    {
        parameters.destination_interface =
            DestinationInterface(martlet_pfcp::ie::Interface::Access);
        parameters.outer_header_creation = None;
    }
    let Some(Message::SessionEstablishmentResponse(answer)) =
        smf.request(Pfcp::session(0, 2, request)).await?
    else {
        bail!("no answer of the UPF")
    };
    match answer.cause {
        Cause::ACCEPTED => Ok(true),
        Cause::CONDITIONAL_IE_MISSING => Ok(false),
        other => bail!("{other:?}"),
    }
}

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

/// `docs/interop.md` has the tables.
#[test]
fn the_page_has_the_tables() -> Result<()> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/interop.md");
    let page = std::fs::read_to_string(&path)?;
    let (before, rest) = page.split_once("<!-- quirks -->\n").context("no mark of the tables")?;
    let (_, after) = rest.split_once("<!-- end of the quirks -->\n").context("no end mark")?;
    let tables = martlet_interop::all_markdown();
    let now = format!("{before}<!-- quirks -->\n\n{tables}\n<!-- end of the quirks -->\n{after}");
    if std::env::var_os("MARTLET_WRITE_DOCS").is_some() {
        std::fs::write(&path, &now)?;
        return Ok(());
    }
    ensure!(page == now, "write `martlet reference quirks` there (MARTLET_WRITE_DOCS=1 does it)");
    Ok(())
}
