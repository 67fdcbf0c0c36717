//! PDU session establishment (TS 23.502, 4.3.2.2.1; TS 29.502, 5.2.2.2).
use crate::procedures::branching::anchor_relocation;
use crate::procedures::charging::converged_charging;
use crate::procedures::establishment::negotiation::{
    Offer, asked_type, choose_mode, choose_type, framed_routes,
};
use crate::procedures::modification::network_requested_modification;
use crate::procedures::n1_n2_transfer::{N1, reference};
use crate::procedures::release::pdu_session_release;
use crate::procedures::user_plane::n4_session_establishment;
use crate::protection::UpPolicy;
use crate::session::{QFI, Session, SessionEvent};
use crate::{DnnConfig, Smf, metrics, n1};
use martlet_nas::options::{Given, Requested};
use martlet_nas::{GsmCause, Nas5gsMessage, Nas5gsmMessage, NasPduSessionEstablishmentRequest};
use martlet_nf::Criteria;
use martlet_sbi::{ApiRoot, Created, Multipart, Problem, ProblemDetails, content_type, trace};
use martlet_sbi_api::Json;
use martlet_sbi_api::common::{
    Ambr, Arp, BitRate, Dnn, PduSessionType, PreemptionCapability, PreemptionVulnerability, Snssai,
    SscMode, Supi,
};
use martlet_sbi_api::namf_communication::{AmfCommunicationClient, NgapIeType};
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_sbi_api::npcf_sm_policy_control::{PcfSmPolicyControlClient, SmPolicyContextData};
use martlet_sbi_api::nsmf_pdusession::{
    SmContextCreateData, SmContextCreateError, SmContextCreatedData,
};
use martlet_sbi_api::nudm_sdm::{DnnConfiguration, SmDataQuery, UdmSubscriberDataManagementClient};
use martlet_sbi_api::nudm_uecm::{SmfRegistration, UdmUeContextManagementClient};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How long an older session of the same identity may take to end.
const OLD_SESSION: Duration = Duration::from_secs(2);

/// Checks a request and answers at once (step 5); the rest goes on in the session's own task.
pub async fn create(
    smf: &Arc<Smf>,
    body: Multipart<SmContextCreateData>,
) -> Result<Created<Multipart<SmContextCreatedData>>, Problem> {
    let started = Instant::now();
    let outcome = begin(smf, body, started).await;
    if let Err(problem) = &outcome {
        metrics::procedure("pdu_session_establishment", problem.cause(), started);
    }
    outcome
}

/// What the UE asks for.
struct Asked {
    id: u8,
    pti: u8,
    message: NasPduSessionEstablishmentRequest,
    /// What a UE waits that there is no room for, seconds.
    back_off: u32,
}

async fn begin(
    smf: &Arc<Smf>,
    body: Multipart<SmContextCreateData>,
    started: Instant,
) -> Result<Created<Multipart<SmContextCreatedData>>, Problem> {
    let data = &body.json;
    let missing = |name: &str| Problem::new(400, "MANDATORY_IE_MISSING").detail(name.to_string());
    let supi = data.supi.clone().ok_or_else(|| missing("supi"))?;
    let slice = data.s_nssai.ok_or_else(|| missing("sNssai"))?;
    let dnn = data.dnn.clone().ok_or_else(|| missing("dnn"))?;
    let asked = read_request(&body, smf.config.back_off_s)?;
    let refused =
        |status, cause: &str, gsm, detail: String| refuse(&asked, status, cause, gsm, detail);
    if !smf.config.slices.iter().any(|s| s.snssai() == slice) {
        return Err(refused(
            403,
            "SNSSAI_DENIED",
            GsmCause::MissingOrUnknownDnnInASlice,
            format!("no slice {slice} here"),
        ));
    }
    let Some(network) = smf.config.dnns.iter().find(|d| d.name.eq_ignore_ascii_case(&dnn)) else {
        return Err(refused(
            403,
            "DNN_NOT_SUPPORTED",
            GsmCause::MissingOrUnknownDnn,
            format!("no data network {dnn} here"),
        ));
    };
    // A session of the same identity is one that the UE has forgotten (TS 23.502, 4.3.2.2.1, step
    // 2).
    if let Some(old) = smf.sessions.of(&supi, asked.id) {
        let (done, wait) = oneshot::channel();
        if old.send(SessionEvent::Release(done)) {
            let _ = tokio::time::timeout(OLD_SESSION, wait).await;
        }
    }
    let plmn = data.serving_network.plmn_id.clone();
    let subscription =
        subscription(smf, &supi, slice, &dnn).await.map_err(|problem| match problem.status() {
            404 => refused(
                403,
                "DNN_DENIED",
                GsmCause::MissingOrUnknownDnnInASlice,
                format!("{dnn} is not subscribed in slice {slice}"),
            ),
            _ => refused(504, "PEER_NOT_RESPONDING", GsmCause::NetworkFailure, problem.to_string()),
        })?;
    let (ipv4, ipv6) = smf.pools.families(&dnn);
    let unstructured = network.unstructured.filter(|_| ipv6);
    let offer =
        Offer { ipv4, ipv6, ethernet: network.ethernet, unstructured: unstructured.is_some() };
    let chosen = choose_type(asked_type(&asked.message), offer, &subscription);
    let (kind, lesser) = chosen.map_err(|gsm| {
        let detail = "neither subscription nor data network have this session type".to_string();
        refused(403, "PDUTYPE_DENIED", gsm, detail)
    })?;
    let asked_mode = asked.message.ssc_mode.as_ref().and_then(|mode| mode.mode());
    let ssc_mode = choose_mode(asked_mode, &kind, &subscription).map_err(|gsm| {
        refused(
            403,
            "SSC_NOT_SUPPORTED",
            gsm,
            "the subscription does not have this SSC mode".into(),
        )
    })?;
    let room = smf.limits.take(slice, &dnn).map_err(|gsm| match gsm {
        GsmCause::InsufficientResourcesForSpecificSlice => refused(
            500,
            "INSUFFICIENT_RESOURCES_SLICE",
            gsm,
            format!("too many sessions in slice {slice}: see smf.limits"),
        ),
        _ => {
            let what = format!("too many sessions with {dnn} in slice {slice}: see smf.limits");
            refused(500, "INSUFFICIENT_RESOURCES_SLICE_DNN", gsm, what)
        }
    })?;
    let no_room = |what: &str| {
        refused(
            500,
            "INSUFFICIENT_RESOURCES_SLICE_DNN",
            GsmCause::InsufficientResources,
            what.into(),
        )
    };
    // From here on nothing is waited for: an AMF that gives up takes this with it wherever it
    // waits, and what the session had would be nobody's.
    let amf = amf_of(smf, data, &supi).await?;
    let (reference, inbox) = smf
        .sessions
        .add(&supi, asked.id, smf.config.session_queue)
        .ok_or_else(|| no_room("too many sessions: raise smf.max_sessions"))?;
    let Some(addresses) = take_addresses(smf, &dnn, &kind, &subscription) else {
        smf.sessions.remove(reference);
        return Err(no_room(
            "the address pool is exhausted, or the fixed address is in use: see smf.dnns",
        ));
    };
    let usual = || BitRate::from_bps(1_000_000_000);
    let arp = Arp {
        priority_level: 8,
        preempt_cap: PreemptionCapability::NotPreempt,
        preempt_vuln: PreemptionVulnerability::NotPreemptable,
    };
    let qos = subscription.five_g_qos_profile.as_ref();
    let session = Session {
        smf: smf.clone(),
        reference,
        inbox,
        id: asked.id,
        pti: asked.pti,
        slice,
        plmn,
        amf,
        status_uri: data.sm_context_status_uri.clone(),
        kind,
        addresses,
        ssc_mode,
        routes: framed_routes(&subscription),
        server: unstructured,
        always_on: network.always_on
            || asked
                .message
                .always_on_pdu_session_requested
                .as_ref()
                .is_some_and(|asked| asked.apsr()),
        ambr: subscription
            .session_ambr
            .clone()
            .unwrap_or_else(|| Ambr { uplink: usual(), downlink: usual() }),
        five_qi: qos.map_or(9, |qos| qos.five_qi),
        arp: qos.map_or(arp, |qos| qos.arp.clone()),
        policy: None,
        decided: Arc::default(),
        flows: Vec::new(),
        charging: None,
        refusal: GsmCause::NetworkFailure,
        sdm_subscription: None,
        modifying: None,
        registered: false,
        upf: None,
        anchor: None,
        intermediate: false,
        tac: anchor_relocation::place(data.ue_location.as_ref()),
        relocating: false,
        gnb: None,
        active: false,
        activating: false,
        waiting: false,
        stale: false,
        release_commands: 0,
        lost: false,
        handover: None,
        forwards: Vec::new(),
        left: Vec::new(),
        room,
        protection: UpPolicy::choose(
            subscription.up_security.as_ref(),
            network.up_security,
            &asked.message,
        ),
        supi,
        dnn,
    };
    let options = asked.message.extended_protocol_configuration_options.as_ref();
    let requested = options.map(Requested::read).unwrap_or_default();
    let given = given(network).of(requested);
    let location = format!("{}/nsmf-pdusession/v1/sm-contexts/{reference}", smf.context.api_root());
    let created = SmContextCreatedData {
        pdu_session_id: Some(asked.id),
        s_nssai: Some(slice),
        ..Default::default()
    };
    // What it takes to set the session up is let go afterwards: there are many tasks of sessions,
    // and they live for long.
    let begun = Box::pin(go_on(session.into(), subscription, given, lesser, started));
    trace::spawn(trace::Origin::here(), async move {
        let session = begun.await;
        if let Some(session) = session {
            session.run().await;
        }
    });
    Ok(Created { location, body: Multipart::new(created) })
}

/// Reads the UE's message.
fn read_request(body: &Multipart<SmContextCreateData>, back_off: u32) -> Result<Asked, Problem> {
    let wrong = |detail: &str| Problem::new(403, "N1_SM_ERROR").detail(detail);
    let part = body.json.n1_sm_msg.as_ref().and_then(|r| body.find(&r.content_id));
    let octets = part.ok_or_else(|| Problem::new(400, "MANDATORY_IE_MISSING").detail("n1SmMsg"))?;
    let message = Nas5gsMessage::decode(octets).map_err(|e| wrong(&e.to_string()))?;
    let Nas5gsMessage::Gsm(header, Nas5gsmMessage::PduSessionEstablishmentRequest(message)) =
        message
    else {
        return Err(wrong("the message is no PDU SESSION ESTABLISHMENT REQUEST"));
    };
    let (id, pti) = (header.pdu_session_identity, header.procedure_transaction_identity);
    if !(1..=15).contains(&id) || body.json.pdu_session_id.is_some_and(|said| said != id) {
        return Err(wrong("the PDU session identity is not 1 to 15, or not the AMF's"));
    }
    if pti == 0 || pti == 255 {
        return Err(wrong("the procedure transaction identity is not 1 to 254"));
    }
    Ok(Asked { id, pti, message: *message, back_off })
}

/// Addresses of a type; all or none.
fn take_addresses(
    smf: &Smf,
    dnn: &Dnn,
    kind: &PduSessionType,
    subscription: &DnnConfiguration,
) -> Option<crate::addresses::Addresses> {
    let fixed = || subscription.static_ip_address.iter().flatten();
    let fixed_prefix = || {
        let prefix = fixed().find_map(|ip| ip.ipv6_prefix.as_deref())?;
        prefix.split('/').next()?.parse().ok()
    };
    let mut addresses = crate::addresses::Addresses::default();
    if matches!(kind, PduSessionType::Ipv4 | PduSessionType::Ipv4v6) {
        addresses.ipv4 = Some(smf.pools.take(dnn, fixed().find_map(|ip| ip.ipv4_addr))?);
    }
    if matches!(kind, PduSessionType::Ipv6 | PduSessionType::Ipv4v6 | PduSessionType::Unstructured)
    {
        addresses.prefix =
            smf.pools.take6(dnn, fixed().find_map(|ip| ip.ipv6_addr).or_else(fixed_prefix));
        if addresses.prefix.is_none() {
            smf.pools.give_back(dnn, &addresses);
            return None;
        }
    }
    Some(addresses)
}

/// What UEs may be told of a data network.
fn given(network: &DnnConfig) -> Given {
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
    }
}

/// A refusal with the message that tells the UE why.
fn refuse(asked: &Asked, status: u16, cause: &str, gsm: GsmCause, detail: String) -> Problem {
    let error = ProblemDetails {
        status: Some(status),
        cause: Some(cause.into()),
        detail: Some(detail),
        ..Default::default()
    };
    let error =
        SmContextCreateError { error, n1_sm_msg: Some(reference(N1)), ..Default::default() };
    let n1 = n1::reject(asked.id, asked.pti, gsm, asked.back_off);
    SmContextCreateError::into_problem(Multipart::new(error).part(N1, content_type::NAS, n1))
}

/// What the subscriber may do in the slice and data network (step 4).
pub async fn subscription(
    smf: &Smf,
    supi: &Supi,
    slice: Snssai,
    dnn: &Dnn,
) -> Result<DnnConfiguration, Problem> {
    let peer =
        smf.context.discover(NfType::Udm, "nudm-sdm", &Criteria::default()).await?.about(supi);
    let query = SmDataQuery {
        single_nssai: Some(Json(slice)),
        dnn: Some(dnn.clone()),
        ..Default::default()
    };
    let data = UdmSubscriberDataManagementClient::new(peer).get_sm_data(supi, query).await?;
    let configurations = data
        .individual()
        .iter()
        .filter(|d| d.single_nssai == slice)
        .filter_map(|d| d.dnn_configurations.as_ref());
    let mut all = configurations.flat_map(|configurations| configurations.iter());
    let found = all
        .find(|(name, _)| name.eq_ignore_ascii_case(dnn))
        .map(|(_, configuration)| configuration.clone());
    found.ok_or_else(|| Problem::new(404, "DATA_NOT_FOUND"))
}

/// The AMF that serves the UE: where it takes the session's status is where its services are,
/// unless the NRF knows better.
async fn amf_of(
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

/// Policy, user plane, and the messages for UE and gNB (steps 7 to 11). A failure undoes what was
/// done and tells the UE.
async fn go_on(
    mut session: Box<Session>,
    subscription: DnnConfiguration,
    given: Given,
    lesser: Option<GsmCause>,
    started: Instant,
) -> Option<Box<Session>> {
    let outcome = set_up(&mut session, &subscription, given, lesser).await;
    match outcome {
        Ok(()) => {
            metrics::procedure("pdu_session_establishment", "ok", started);
            tracing::info!(supi = %session.supi, session = session.id, dnn = %session.dnn, address = %session.addresses, "a PDU session is set up");
            session.persist();
            // The UE need not wait for the UDM (steps 16c and 4b).
            let registered = register(&session).await;
            session.registered = registered.is_ok();
            if let Err(problem) = registered {
                tracing::warn!(supi = %session.supi, session = session.id, %problem, "the UDM does not take a session, which ends");
                if !pdu_session_release::by_network(&mut session, GsmCause::NetworkFailure).await {
                    session.forget();
                    return None;
                }
                return Some(session);
            }
            network_requested_modification::subscribe(&mut session).await;
            session.persist();
            Some(session)
        }
        Err(reason) => {
            metrics::procedure("pdu_session_establishment", "failed", started);
            tracing::warn!(supi = %session.supi, session = session.id, reason, "a PDU session is not set up");
            let reject =
                n1::reject(session.id, session.pti, session.refusal, session.smf.config.back_off_s);
            let _ = session.transfer(Some(reject), None).await;
            pdu_session_release::finish(&mut session, true).await;
            session.smf.sessions.remove(session.reference);
            None
        }
    }
}

async fn set_up(
    session: &mut Session,
    subscription: &DnnConfiguration,
    given: Given,
    lesser: Option<GsmCause>,
) -> Result<(), String> {
    policy(session, subscription).await.map_err(|p| format!("policy: {p}"))?;
    converged_charging::begin(session).await?;
    let user_plane = n4_session_establishment::establish(session).await;
    session.settle(user_plane.map_err(|e| format!("N4: {e}"))?);
    let n1 = n1::accept(n1::Accepted {
        id: session.id,
        pti: session.pti,
        kind: &session.kind,
        ssc_mode: session.ssc_mode,
        addresses: session.addresses,
        interface: session.reference,
        slice: &session.slice,
        dnn: &session.dnn,
        five_qi: session.five_qi,
        qfi: QFI,
        ambr: &session.ambr,
        given,
        flows: &session.flows,
        always_on: session.always_on,
        cause: lesser,
    });
    let n1 = n1.ok_or("the answer to the UE does not encode")?;
    let n2 = session.setup_request().ok_or("the request to the gNB does not encode")?;
    session
        .transfer(Some(n1), Some((NgapIeType::PduResSetupReq, n2)))
        .await
        .map_err(|p| format!("AMF: {p}"))?;
    Ok(())
}

/// Npcf_SMPolicyControl_Create (step 7).
pub async fn policy(session: &mut Session, subscription: &DnnConfiguration) -> Result<(), Problem> {
    let context = &session.smf.context;
    let peer = context
        .discover(NfType::Pcf, "npcf-smpolicycontrol", &Criteria::default())
        .await?
        .about(&session.supi);
    let pcf = PcfSmPolicyControlClient::new(peer);
    let notify = format!("{}/nsmf-callback/v1/sm-policy/{}", context.api_root(), session.reference);
    let kind = session.kind.clone();
    let mut data = SmPolicyContextData::new(
        session.supi.clone(),
        session.id,
        kind,
        session.dnn.clone(),
        notify,
        session.slice,
    );
    data.subs_sess_ambr = subscription.session_ambr.clone();
    data.subs_def_qos = subscription.five_g_qos_profile.clone();
    data.ssc_mode = Some(match session.ssc_mode {
        2 => SscMode::SscMode2,
        3 => SscMode::SscMode3,
        _ => SscMode::SscMode1,
    });
    data.ipv4_address = session.addresses.ipv4;
    data.ipv6_address_prefix = session.addresses.ipv6().map(|prefix| format!("{prefix}/64"));
    let created = pcf.create_sm_policy(data).await?;
    let id = created.location.rsplit('/').next().unwrap_or_default().to_string();
    session.policy = Some((pcf, id));
    network_requested_modification::take(session, &created.body);
    Ok(())
}

/// Nudm_UECM_Registration (step 16c).
pub async fn register(session: &Session) -> Result<(), Problem> {
    let smf = &session.smf;
    let peer = smf
        .context
        .discover(NfType::Udm, "nudm-uecm", &Criteria::default())
        .await?
        .about(&session.supi);
    let mut registration = SmfRegistration::new(
        smf.instance_id.clone(),
        session.id,
        session.slice,
        session.plmn.clone(),
    );
    registration.dnn = Some(session.dnn.clone());
    let udm = UdmUeContextManagementClient::new(peer);
    udm.registration(&session.supi, &session.id.to_string(), registration).await.map(|_| ())
}
