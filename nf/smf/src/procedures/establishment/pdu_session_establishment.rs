//! PDU session establishment (TS 23.502, 4.3.2.2.1; TS 29.502, 5.2.2.2).
//!
//! ```text
//! AMF                                SMF        UDM     PCF     CHF     UPF
//!  |-- CreateSMContext ---------------->|--- get -->|       |       |       |   create
//!  |<-- 201 ----------------------------|           |       |       |       |
//!  |                                    |--- policy ------->|       |       |   set_up
//!  |                                    |--- charging ------------->|       |
//!  |                                    |--- N4 session establishment ----->|
//!  |<-- N1N2MessageTransfer: accept ----|           |       |       |       |
//!  |                                    |- register>|       |       |       |   run
//! ```
use super::negotiation::{
    DnnCapabilities, allowed_ssc_modes, framed_routes, requested_type, select_ssc_mode, select_type,
};
use crate::addresses::Addresses;
use crate::config::DnnConfig;
use crate::limits::LimitPermits;
use crate::n4::N4Error;
use crate::procedures::branching::anchor_relocation::tracking_area;
use crate::procedures::charging::charging_session::{self, ChargingError};
use crate::procedures::n1_n2_transfer::{N1, is_initiated, reference, setup_request, transfer};
use crate::procedures::policy::sm_policy_association::{self, AccessInfo};
use crate::procedures::release::{address_reclaim, pdu_session_release};
use crate::procedures::subscription::{sm_subscription_data, smf_registration};
use crate::procedures::user_plane::n4_session_establishment;
use crate::qos_flows::DEFAULT_QFI;
use crate::session::{
    GsmState, Mobility, ServingAmf, Session, SessionParameters, SessionQos, UdmState, UserPlane,
};
use crate::session_event::SessionEvent;
use crate::shared::Smf;
use crate::up_security::UpSecurity;
use crate::{metrics, n1};
use martlet_event_queue::Receiver;
use martlet_interop::{N1Quirk, Quirk};
use martlet_nas::options::{Given, Requested};
use martlet_nas::{GsmCause, Nas5gsmMessage, NasPduSessionEstablishmentRequest};
use martlet_nf::Criteria;
use martlet_sbi::{ApiRoot, Created, Multipart, Problem, ProblemDetails, content_type};
use martlet_sbi_api::common::{
    Ambr, Arp, BitRate, Dnn, PduSessionType, PlmnId, PreemptionCapability, PreemptionVulnerability,
    Snssai, Supi,
};
use martlet_sbi_api::namf_communication::{AmfCommunicationClient, NgapIeType};
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_sbi_api::nsmf_pdusession::{
    SmContextCreateData, SmContextCreateError, SmContextCreatedData,
};
use martlet_sbi_api::nudm_sdm::DnnConfiguration;
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How long the release of older sessions may take.
const OLD_SESSION_TIMEOUT: Duration = Duration::from_secs(2);

/// An accepted request, whose establishment continues in the session's task.
pub struct Establishment {
    session: Box<Session>,
    subscription: DnnConfiguration,
    access: AccessInfo,
    options: Given,
    /// Why the session has fewer IP versions than requested.
    restriction: Option<GsmCause>,
    started: Instant,
}

/// The response to a CreateSMContext request.
pub type CreateResponse = Created<Multipart<SmContextCreatedData>>;

/// Checks a request and responds at once (step 5). The establishment continues with
/// [`Establishment::run`].
pub async fn create(
    smf: &Arc<Smf>,
    body: Multipart<SmContextCreateData>,
) -> Result<(CreateResponse, Establishment), Problem> {
    let started = Instant::now();
    let outcome = accept(smf, body, started).await;
    if let Err(problem) = &outcome {
        metrics::procedure("pdu_session_establishment", problem.cause(), started);
    }
    outcome
}

/// The UE's request.
struct Request {
    id: u8,
    pti: u8,
    message: NasPduSessionEstablishmentRequest,
    /// Back-off time for a rejection because of a limit, in seconds.
    back_off: u32,
}

impl Request {
    fn wants_always_on(&self) -> bool {
        let requested = self.message.always_on_pdu_session_requested.as_ref();
        requested.is_some_and(|requested| requested.apsr())
    }
}

async fn accept(
    smf: &Arc<Smf>,
    body: Multipart<SmContextCreateData>,
    started: Instant,
) -> Result<(CreateResponse, Establishment), Problem> {
    let data = &body.json;
    let missing = |name: &str| Problem::new(400, "MANDATORY_IE_MISSING").detail(name.to_string());
    let supi = data.supi.clone().ok_or_else(|| missing("supi"))?;
    let slice = data.s_nssai.ok_or_else(|| missing("sNssai"))?;
    let dnn = data.dnn.clone().ok_or_else(|| missing("dnn"))?;
    let request = read_request(smf, &supi, &body)?;
    let plmn = data.serving_network.plmn_id.clone();
    let network = configured_network(smf, &request, slice, &dnn)?;
    release_old_sessions(smf, &supi, request.id).await;
    let subscription = read_subscription(smf, &request, &supi, &plmn, slice, &dnn).await?;
    let (ipv4, ipv6) = smf.pools.families(&dnn);
    let unstructured = network.unstructured.filter(|_| ipv6);
    let capabilities = DnnCapabilities {
        ipv4,
        ipv6,
        ethernet: network.ethernet,
        unstructured: unstructured.is_some(),
    };
    let (kind, restriction, ssc_mode) = negotiate(&request, capabilities, &subscription)?;
    let permits = acquire_permits(smf, &request, slice, &dnn)?;
    let amf = serving_amf(smf, data, &supi).await?;
    let fixed = static_addresses(&kind, &subscription);
    address_reclaim::request(smf, &supi, &dnn, &fixed).await;
    // No await below this line: a cancelled request would leak the session's resources.
    let (reference, inbox, addresses) = allocate(smf, &request, &supi, &dnn, &kind, &subscription)?;
    let session = Box::new(Session {
        smf: smf.clone(),
        reference,
        inbox,
        id: request.id,
        slice,
        plmn,
        amf: ServingAmf {
            client: amf,
            status_uri: data.sm_context_status_uri.clone(),
            denies_session: false,
        },
        parameters: SessionParameters {
            kind,
            addresses,
            is_in_pool: true,
            static_addresses: fixed,
            ssc_mode,
            framed_routes: framed_routes(&subscription),
            unstructured_server: unstructured,
            always_on: network.always_on || request.wants_always_on(),
        },
        qos: subscribed_qos(&subscription),
        qos_at_ue: None,
        qos_at_upf: None,
        policy: None,
        udm: UdmState::default(),
        charging: None,
        pti: request.pti,
        gsm: GsmState::default(),
        qos_in_setup: None,
        unconfirmed: None,
        rejected_by_ue: None,
        postponed: VecDeque::new(),
        user_plane: UserPlane {
            security: UpSecurity::choose(
                subscription.up_security.as_ref(),
                network.up_security,
                &request.message,
            ),
            ..UserPlane::default()
        },
        mobility: Mobility { tac: tracking_area(data.ue_location.as_ref()), ..Mobility::default() },
        permits,
        supi,
        dnn,
    });
    let options = request.message.extended_protocol_configuration_options.as_ref();
    let options =
        configuration_options(network).of(options.map(Requested::read).unwrap_or_default());
    let root = smf.context.api_root();
    let location = format!("{root}/nsmf-pdusession/v1/sm-contexts/{reference}");
    let created = SmContextCreatedData {
        pdu_session_id: Some(request.id),
        s_nssai: Some(slice),
        ..Default::default()
    };
    let access = AccessInfo::of(data);
    let establishment =
        Establishment { session, subscription, access, options, restriction, started };
    Ok((Created { location, body: Multipart::new(created) }, establishment))
}

/// The configuration of the data network, if the SMF serves it and the slice.
fn configured_network<'a>(
    smf: &'a Smf,
    request: &Request,
    slice: Snssai,
    dnn: &Dnn,
) -> Result<&'a DnnConfig, Problem> {
    if !smf.config.slices.iter().any(|s| s.snssai() == slice) {
        let detail = format!("slice {slice} is not configured: see smf.slices");
        let gsm = GsmCause::MissingOrUnknownDnnInASlice;
        return Err(reject(request, 403, "SNSSAI_DENIED", gsm, detail));
    }
    let network = smf.config.dnns.iter().find(|d| d.name.eq_ignore_ascii_case(dnn));
    network.ok_or_else(|| {
        let detail = format!("data network {dnn} is not configured: see smf.dnns");
        reject(request, 403, "DNN_NOT_SUPPORTED", GsmCause::MissingOrUnknownDnn, detail)
    })
}

/// Releases an existing session with this identity: the UE has lost it (step 2). Waits for its end,
/// and for those of the UE's sessions that are ending: PCF, CHF and UDM get what concerns the new
/// session last.
async fn release_old_sessions(smf: &Smf, supi: &Supi, id: u8) {
    // A session that has ended drops its events.
    let ended = smf.sessions.before(supi, id).into_iter().filter_map(|old| {
        let (done, wait) = oneshot::channel();
        old.send(SessionEvent::Replaced(done)).then_some(wait)
    });
    let ended: Vec<_> = ended.collect();
    if ended.is_empty() {
        return;
    }
    let all = async {
        for wait in ended {
            let _ = wait.await;
        }
    };
    let _ = tokio::time::timeout(OLD_SESSION_TIMEOUT, all).await;
}

async fn read_subscription(
    smf: &Smf,
    request: &Request,
    supi: &Supi,
    plmn: &PlmnId,
    slice: Snssai,
    dnn: &Dnn,
) -> Result<DnnConfiguration, Problem> {
    let subscription = sm_subscription_data::get(smf, supi, plmn, slice, dnn).await;
    subscription.map_err(|problem| match problem.status() {
        404 => {
            let detail = format!("{dnn} is not subscribed in slice {slice}");
            let gsm = GsmCause::MissingOrUnknownDnnInASlice;
            reject(request, 403, "DNN_DENIED", gsm, detail)
        }
        _ => {
            let detail = problem.to_string();
            reject(request, 504, "PEER_NOT_RESPONDING", GsmCause::NetworkFailure, detail)
        }
    })
}

/// The session's type, why it has fewer IP versions than requested, and its SSC mode.
fn negotiate(
    request: &Request,
    capabilities: DnnCapabilities,
    subscription: &DnnConfiguration,
) -> Result<(PduSessionType, Option<GsmCause>, u8), Problem> {
    let selected = select_type(requested_type(&request.message), capabilities, subscription);
    let (kind, restriction) = selected.map_err(|gsm| {
        let detail = "subscription or data network do not support this session type".to_string();
        reject(request, 403, "PDUTYPE_DENIED", gsm, detail)
    })?;
    let requested_mode = request.message.ssc_mode.as_ref().and_then(|mode| mode.mode());
    let ssc_mode = select_ssc_mode(requested_mode, &kind, subscription).map_err(|_| {
        let detail = "SSC mode is not subscribed".to_string();
        // The UE requests one of the allowed modes then.
        let allowed = allowed_ssc_modes(&kind, subscription);
        let n1 = n1::reject_ssc_mode(request.id, request.pti, allowed);
        reject_by(n1, 403, "SSC_NOT_SUPPORTED", detail)
    })?;
    Ok((kind, restriction, ssc_mode))
}

/// The permits of the limits that the session counts for.
fn acquire_permits(
    smf: &Smf,
    request: &Request,
    slice: Snssai,
    dnn: &Dnn,
) -> Result<LimitPermits, Problem> {
    smf.limits.acquire(slice, dnn).map_err(|gsm| match gsm {
        GsmCause::InsufficientResourcesForSpecificSlice => {
            let detail = format!("too many sessions in slice {slice}: see smf.limits");
            reject(request, 500, "INSUFFICIENT_RESOURCES_SLICE", gsm, detail)
        }
        _ => {
            let detail = format!("too many sessions with {dnn} in slice {slice}: see smf.limits");
            reject(request, 500, "INSUFFICIENT_RESOURCES_SLICE_DNN", gsm, detail)
        }
    })
}

/// Allocates the session's number in the table, and its addresses.
fn allocate(
    smf: &Smf,
    request: &Request,
    supi: &Supi,
    dnn: &Dnn,
    kind: &PduSessionType,
    subscription: &DnnConfiguration,
) -> Result<(u64, Receiver<SessionEvent>, Addresses), Problem> {
    let over_limit = |detail: &str| {
        let gsm = GsmCause::InsufficientResources;
        reject(request, 500, "INSUFFICIENT_RESOURCES_SLICE_DNN", gsm, detail.into())
    };
    let added = smf.sessions.add(supi, request.id, smf.config.session_queue);
    let (reference, inbox) =
        added.ok_or_else(|| over_limit("too many sessions: raise smf.max_sessions"))?;
    let Some(addresses) = allocate_addresses(smf, dnn, kind, subscription) else {
        smf.sessions.remove(reference);
        return Err(over_limit(&without_address(subscription)));
    };
    Ok((reference, inbox, addresses))
}

/// The QoS of the default flow, and the session AMBR, as subscribed; without a subscribed value
/// 5QI 9 and 1 Gbit/s.
fn subscribed_qos(subscription: &DnnConfiguration) -> SessionQos {
    let default_rate = || BitRate::from_bps(1_000_000_000);
    let default_ambr = || Ambr { uplink: default_rate(), downlink: default_rate() };
    let arp = Arp {
        priority_level: 8,
        preempt_cap: PreemptionCapability::NotPreempt,
        preempt_vuln: PreemptionVulnerability::NotPreemptable,
    };
    let default_qos = subscription.five_g_qos_profile.as_ref();
    SessionQos {
        ambr: subscription.session_ambr.clone().unwrap_or_else(default_ambr),
        five_qi: default_qos.map_or(9, |qos| qos.five_qi),
        arp: default_qos.map_or(arp, |qos| qos.arp.clone()),
        flows: Vec::new(),
        rules: Arc::default(),
    }
}

/// Reads the UE's message.
fn read_request(
    smf: &Smf,
    supi: &Supi,
    body: &Multipart<SmContextCreateData>,
) -> Result<Request, Problem> {
    let wrong = |detail: &str| Problem::new(403, "N1_SM_ERROR").detail(detail);
    let part = body.json.n1_sm_msg.as_ref().and_then(|r| body.find(&r.content_id));
    let bytes = part.ok_or_else(|| Problem::new(400, "MANDATORY_IE_MISSING").detail("n1SmMsg"))?;
    let n1::Received { id, pti, message } =
        n1::decode(bytes).map_err(|error| wrong(&error.to_string()))?;
    let Nas5gsmMessage::PduSessionEstablishmentRequest(message) = message else {
        return Err(wrong("the message is not a PDU SESSION ESTABLISHMENT REQUEST"));
    };
    if !(1..=15).contains(&id) || body.json.pdu_session_id.is_some_and(|in_body| in_body != id) {
        return Err(wrong("the PDU session identity is not 1 to 15, or differs from the AMF's"));
    }
    let request = Request { id, pti, message: *message, back_off: smf.config.back_off_s };
    // TS 24.501, 7.3.1: an unassigned or reserved PTI is rejected with #81.
    if pti == 0 && !smf.config.n1.strict {
        N1Quirk::UnassignedPti.met("smf", supi);
    } else if pti == 0 || pti == 255 {
        let detail = "the procedure transaction identity is not 1 to 254".into();
        return Err(reject(&request, 403, "N1_SM_ERROR", GsmCause::InvalidPtiValue, detail));
    }
    Ok(request)
}

fn has_ipv4(kind: &PduSessionType) -> bool {
    matches!(kind, PduSessionType::Ipv4 | PduSessionType::Ipv4v6)
}

fn has_prefix(kind: &PduSessionType) -> bool {
    matches!(kind, PduSessionType::Ipv6 | PduSessionType::Ipv4v6 | PduSessionType::Unstructured)
}

/// The subscribed static addresses of a session type.
fn static_addresses(kind: &PduSessionType, subscription: &DnnConfiguration) -> Addresses {
    let all = || subscription.static_ip_address.iter().flatten();
    let in_prefix = || -> Option<Ipv6Addr> {
        let prefix = all().find_map(|ip| ip.ipv6_prefix.as_deref())?;
        prefix.split('/').next()?.parse().ok()
    };
    let ipv6 = || all().find_map(|ip| ip.ipv6_addr).or_else(in_prefix);
    Addresses {
        ipv4: has_ipv4(kind).then(|| all().find_map(|ip| ip.ipv4_addr)).flatten(),
        prefix: has_prefix(kind).then(ipv6).flatten().map(|ipv6| (ipv6.to_bits() >> 64) as u64),
    }
}

/// Allocates the addresses of a session type, all or none.
fn allocate_addresses(
    smf: &Smf,
    dnn: &Dnn,
    kind: &PduSessionType,
    subscription: &DnnConfiguration,
) -> Option<Addresses> {
    let fixed = static_addresses(kind, subscription);
    let mut addresses = Addresses::default();
    if has_ipv4(kind) {
        addresses.ipv4 = Some(smf.pools.allocate_ipv4(dnn, fixed.ipv4)?);
    }
    if has_prefix(kind) {
        addresses.prefix = smf.pools.allocate_ipv6(dnn, fixed.ipv6());
        if addresses.prefix.is_none() {
            smf.pools.release(dnn, &addresses);
            return None;
        }
    }
    Some(addresses)
}

/// Why there is no address for a session, and what to do.
fn without_address(subscription: &DnnConfiguration) -> String {
    let addresses = subscription.static_ip_address.iter().flatten();
    let texts = addresses.flat_map(|ip| {
        let v6 = ip.ipv6_addr.map(|address| address.to_string());
        [ip.ipv4_addr.map(|address| address.to_string()), v6.or_else(|| ip.ipv6_prefix.clone())]
    });
    let texts: Vec<String> = texts.flatten().collect();
    match texts.is_empty() {
        true => "the address pool is exhausted: enlarge it in smf.dnns".into(),
        false => format!(
            "the subscribed static address {} is in use, the gateway's, or outside the pool in \
             smf.dnns, or the pool is exhausted",
            texts.join(", ")
        ),
    }
}

/// Protocol configuration options of a data network.
fn configuration_options(network: &DnnConfig) -> Given {
    let v4 = |all: &[IpAddr]| {
        all.iter().filter_map(|ip| if let IpAddr::V4(ip) = ip { Some(*ip) } else { None }).collect()
    };
    let v6 = |all: &[IpAddr]| {
        all.iter().filter_map(|ip| if let IpAddr::V6(ip) = ip { Some(*ip) } else { None }).collect()
    };
    Given {
        dns_ipv4: v4(&network.dns),
        dns_ipv6: v6(&network.dns),
        ipv4_mtu: Some(network.mtu),
        pcscf_ipv4: v4(&network.pcscf),
        pcscf_ipv6: v6(&network.pcscf),
        ..Given::default()
    }
}

/// A rejection with a PDU SESSION ESTABLISHMENT REJECT for the UE.
fn reject(request: &Request, status: u16, cause: &str, gsm: GsmCause, detail: String) -> Problem {
    let n1 = n1::reject(request.id, request.pti, gsm, request.back_off);
    reject_by(n1, status, cause, detail)
}

/// A rejection with this message for the UE.
fn reject_by(n1: Vec<u8>, status: u16, cause: &str, detail: String) -> Problem {
    let error = ProblemDetails {
        status: Some(status),
        cause: Some(cause.into()),
        detail: Some(detail),
        ..Default::default()
    };
    let error =
        SmContextCreateError { error, n1_sm_msg: Some(reference(N1)), ..Default::default() };
    SmContextCreateError::into_problem(Multipart::new(error).part(N1, content_type::NAS, n1))
}

/// The AMF that serves the UE: from the NRF, else at the API root of its status URI.
async fn serving_amf(
    smf: &Smf,
    data: &SmContextCreateData,
    supi: &Supi,
) -> Result<AmfCommunicationClient, Problem> {
    let criteria =
        Criteria { nf_instance_id: Some(data.serving_nf_id.clone()), ..Default::default() };
    let peer = match smf.context.discover(NfType::Amf, "namf-comm", &criteria).await {
        Ok(peer) => peer,
        Err(problem) => {
            let (root, _) = ApiRoot::split(&data.sm_context_status_uri).ok_or(problem)?;
            smf.context.peer_at(root)
        }
    };
    Ok(AmfCommunicationClient::new(peer.about(supi)))
}

/// Why an establishment failed, and the 5GSM cause for the UE.
#[derive(Debug, thiserror::Error)]
enum SetUpError {
    #[error("policy: {0}")]
    Policy(Problem),
    #[error("charging: {0}")]
    Charging(#[from] ChargingError),
    #[error("N4: {0}")]
    N4(#[from] N4Error),
    #[error("a message for UE or gNB was not encoded")]
    Encoding,
    #[error("AMF: {0}")]
    Amf(Problem),
}

impl SetUpError {
    fn cause(&self) -> GsmCause {
        match self {
            SetUpError::Charging(ChargingError::NoCredit) => GsmCause::OperatorDeterminedBarring,
            _ => GsmCause::NetworkFailure,
        }
    }
}

impl Establishment {
    /// Sets up policy, charging and user plane, and sends the messages for UE and gNB (steps 7 to
    /// 11). A failure releases everything and rejects the UE's request. Returns the session, unless
    /// it has ended.
    pub async fn run(self) -> Option<Box<Session>> {
        let Establishment { mut session, subscription, access, options, restriction, started } =
            self;
        session.record_identities();
        if let Err(error) = set_up(&mut session, &subscription, access, options, restriction).await
        {
            metrics::procedure("pdu_session_establishment", "failed", started);
            if let Some(suppressed) = martlet_log_limit::line("establishment", &session.supi) {
                tracing::warn!(
                    supi = %session.supi, session = session.id, %error, suppressed,
                    "PDU session establishment failed"
                );
            }
            let back_off = session.smf.config.back_off_s;
            let reject = n1::reject(session.id, session.pti, error.cause(), back_off);
            let _ = transfer(&session, Some(reject), None).await;
            pdu_session_release::finish(&mut session, true).await;
            session.smf.sessions.remove(session.reference);
            return None;
        }
        session.gsm.activate();
        metrics::procedure("pdu_session_establishment", "ok", started);
        tracing::info!(
            supi = %session.supi, session = session.id, dnn = %session.dnn,
            address = %session.parameters.addresses, "PDU session established"
        );
        session.persist();
        // The UE does not wait for the UDM (steps 16c and 4b).
        let registered = smf_registration::register(&session).await;
        session.udm.is_registered = registered.is_ok();
        if let Err(problem) = registered {
            tracing::warn!(
                supi = %session.supi, session = session.id, %problem,
                "registration at UDM failed, releasing"
            );
            if !pdu_session_release::by_network(&mut session, GsmCause::NetworkFailure).await {
                session.end();
                return None;
            }
            return Some(session);
        }
        sm_subscription_data::subscribe(&mut session).await;
        session.persist();
        Some(session)
    }
}

async fn set_up(
    session: &mut Session,
    subscription: &DnnConfiguration,
    access: AccessInfo,
    options: Given,
    restriction: Option<GsmCause>,
) -> Result<(), SetUpError> {
    sm_policy_association::create(session, subscription, &access)
        .await
        .map_err(SetUpError::Policy)?;
    charging_session::create(session, &access).await?;
    let path = n4_session_establishment::establish(session).await?;
    session.set_path(path);
    let parameters = &session.parameters;
    let n1 = n1::accept(n1::Accept {
        id: session.id,
        pti: session.pti,
        kind: &parameters.kind,
        ssc_mode: parameters.ssc_mode,
        addresses: parameters.addresses,
        interface: session.reference,
        slice: &session.slice,
        dnn: &session.dnn,
        five_qi: session.qos.five_qi,
        qfi: DEFAULT_QFI,
        ambr: &session.qos.ambr,
        options,
        flows: &session.qos.flows,
        always_on: parameters.always_on,
        cause: restriction,
    });
    let n1 = n1.ok_or(SetUpError::Encoding)?;
    let n2 = setup_request(session).ok_or(SetUpError::Encoding)?;
    let n2 = (NgapIeType::PduResSetupReq, n2);
    let reply = transfer(session, Some(n1), Some(n2)).await.map_err(SetUpError::Amf)?;
    // An idle UE is paged, and gets the accept without the gNB's resources.
    if is_initiated(Ok(reply)) {
        session.user_plane.is_accept_at_gnb = true;
        session.user_plane.connection.begin_activation();
    }
    Ok(())
}

/// The gNB has not set a new session up, and so has not passed the accept to the UE (step 15):
/// rejects the UE's request, and releases the session.
pub async fn refused_by_gnb(session: &mut Session, cause: GsmCause) {
    let back_off = session.smf.config.back_off_s;
    let reject = n1::reject(session.id, session.pti, cause, back_off);
    let _ = transfer(session, Some(reject), None).await;
    pdu_session_release::finish(session, true).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_nas::{NasIntegrityProtectionMaximumDataRate, NasSscMode, SscModeValue};
    use martlet_sbi_api::common::SscMode;
    use martlet_sbi_api::nudm_sdm::{IpAddress, PduSessionTypes, SscModes};

    #[test]
    fn a_static_address_that_cannot_be_used_is_named() {
        let types = PduSessionTypes {
            default_session_type: Some(PduSessionType::Ipv4),
            allowed_session_types: None,
        };
        let mut subscription = DnnConfiguration::new(types, SscModes::new(SscMode::SscMode1));
        assert!(without_address(&subscription).contains("pool is exhausted"));
        let fixed = |ip: &str| IpAddress { ipv4_addr: ip.parse().ok(), ..IpAddress::default() };
        subscription.static_ip_address = Some(vec![fixed("192.0.2.4")]);
        let v4 = |kind| static_addresses(&kind, &subscription).ipv4.map(|ip| ip.to_string());
        assert_eq!(v4(PduSessionType::Ipv4v6).as_deref(), Some("192.0.2.4"));
        assert_eq!(v4(PduSessionType::Ipv6), None);
        let detail = without_address(&subscription);
        assert!(detail.contains("192.0.2.4") && detail.contains("outside the pool"), "{detail}");
    }

    #[test]
    fn a_rejected_ssc_mode_is_answered_with_the_allowed_ones() {
        let types = PduSessionTypes {
            default_session_type: Some(PduSessionType::Ipv4),
            allowed_session_types: None,
        };
        let mut modes = SscModes::new(SscMode::SscMode1);
        modes.allowed_ssc_modes = Some(vec![SscMode::SscMode2]);
        let subscription = DnnConfiguration::new(types, modes);
        let rate = NasIntegrityProtectionMaximumDataRate::new(0xffff);
        let mut message = NasPduSessionEstablishmentRequest::new(rate);
        message.set_ssc_mode(NasSscMode::from_mode(SscModeValue::Ssc3));
        let request = Request { id: 5, pti: 1, message, back_off: 30 };
        let capabilities = DnnCapabilities { ipv4: true, ..DnnCapabilities::default() };
        let mut problem = negotiate(&request, capabilities, &subscription).unwrap_err();
        assert_eq!((problem.status(), problem.cause()), (403, "SSC_NOT_SUPPORTED"));
        let error = SmContextCreateError::from_problem(&mut problem).unwrap();
        let part = error.json.n1_sm_msg.as_ref().unwrap();
        // #68, and SSC modes 1 and 2 in the element 0xF-.
        assert_eq!(error.find(&part.content_id).unwrap()[..], [0x2e, 5, 1, 0xc3, 68, 0xf3]);
    }
}
