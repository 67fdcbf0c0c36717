//! Xn handover (TS 38.423, 8.2.1; TS 38.413, 8.4.4): the gNBs have agreed on it, the UE is at the
//! target, and the core has to follow.
use crate::gnb::command::Reply;
use crate::gnb::procedures::handover::handover_preparation::{HandoverOutcome, Left, send};
use crate::gnb::procedures::handover::handover_resource_allocation::{AtTarget, move_to};
use crate::gnb::procedures::ue_context::ue_context_release::{ReleaseReason, request_message};
use crate::gnb::ue_task::{Connection, Fault, UeTask};
use crate::gnb::{Gnb, UeError};
use crate::sample::Procedure;
use martlet_nas::algorithms;
use martlet_ngap::ngap::*;
use martlet_ngap::transfer::{
    PathSwitchAcknowledge as AcknowledgeTransfer, PathSwitchRequest as RequestTransfer,
    PathSwitchSetupFailed, UserPlaneSecurity,
};
use martlet_ngap::{BitString, Message, build_ngap_ie, extract_ngap_ies};
use std::time::{Duration, Instant};

/// How an Xn handover is to go.
#[derive(Debug, Clone, Default)]
pub struct XnPlan {
    /// Sessions that the target does not take over.
    pub lost: Vec<u8>,
    /// NR algorithms that the target says the UE has, for ciphering and for integrity, in place of
    /// the UE's own (TS 38.413, 9.3.1.86).
    pub capability: Option<(u8, u8)>,
    /// What the target says was asked for the user plane's security, in place of what was.
    pub up_security: Option<UserPlaneSecurity>,
}

/// The UE goes to the target, which asks the core to follow: PATH SWITCH REQUEST.
pub(crate) async fn request(
    ue: &mut UeTask,
    target: Gnb,
    plan: &XnPlan,
    reply: Reply<HandoverOutcome>,
) {
    let lost = &plan.lost;
    let Some((amf_id, ran_id)) = ue.ids() else {
        return reply.done(Err(UeError::State("only a connected UE is handed over")));
    };
    if ue.sessions.keys().all(|psi| lost.contains(psi)) {
        return reply
            .done(Err(UeError::State("a path is switched for a PDU session: there is none")));
    }
    if ue.handover.is_some() || target.is(&ue.gnb) {
        return reply.done(Err(UeError::State("a handover is underway, or leads nowhere")));
    }
    let source_sessions: Vec<u8> = ue.sessions.keys().copied().collect();
    match go(ue, &target, plan, amf_id) {
        Ok((message, source)) => {
            let start = Instant::now();
            ue.starts.path_switch = Some(start);
            ue.waiters.handover.add(reply);
            ue.left.push(source);
            if let Err(error) = ue.transmit(message).await {
                ue.link_lost(&error.to_string());
            }
        }
        Err(error) => {
            tracing::error!(supi = ue.supi(), ran_id, ?source_sessions, %error, "PATH SWITCH REQUEST");
            reply.done(Err(UeError::Handover(error.to_string())));
        }
    }
}

/// The UE's part: it is at the target, to which the source forwards. The message, and what is left
/// at the source.
fn go(ue: &mut UeTask, target: &Gnb, plan: &XnPlan, amf_id: u64) -> Result<(Vec<u8>, Left), Fault> {
    let ran_id = target.table().connect(ue.mailbox.clone());
    target.table().learn_amf_id(ran_id, amf_id);
    let connection = Connection {
        ran_id: Some(ran_id),
        amf_id: Some(amf_id),
        stream: target.stream_of(ran_id),
        early: std::mem::take(&mut ue.connection.early),
    };
    // The source tells the target over Xn what the AMF wants to be told.
    let mut at = AtTarget { connection, reporting: ue.reporting.clone(), ..AtTarget::default() };
    let (mut switched, mut failed) = (Vec::new(), Vec::new());
    let sessions: Vec<_> =
        ue.sessions.iter().map(|(psi, s)| (*psi, s.uplink, s.qfis.clone(), s.security)).collect();
    for (psi, uplink, qfis, security) in sessions {
        if plan.lost.contains(&psi) {
            let cause = Cause::radioNetwork(CauseRadioNetwork::radio_resources_not_available);
            let transfer = PathSwitchSetupFailed { cause }.encode()?;
            failed.push(PDUSessionResourceFailedToSetupItemPSReq::new(
                PDUSessionID(psi),
                transfer.into(),
                None,
            ));
            continue;
        }
        let (downlink, forwarding) = at.take(ue, target, psi, (uplink, &qfis), true);
        if let (Some(tunnel), Some(port)) = (forwarding, ue.ports.get(&psi)) {
            port.forward_to(tunnel);
        }
        // The source tells the target over Xn what was asked for.
        let security =
            security.map(|(outcome, asked)| (outcome, plan.up_security.unwrap_or(asked)));
        if let Some(session) = at.sessions.get_mut(&psi) {
            session.security = security;
        }
        let transfer =
            RequestTransfer { downlink, reused: false, security, flows: qfis }.encode()?;
        switched.push(PDUSessionResourceToBeSwitchedDLItem::new(
            PDUSessionID(psi),
            transfer.into(),
            None,
        ));
    }
    let mut own = algorithms::access_stratum(ue.nas.security_capability());
    if let Some(said) = plan.capability {
        (own.nr_encryption, own.nr_integrity) = said;
    }
    let bits = |octet: u8| BitString::from([octet, 0]);
    let capability = UESecurityCapabilities::new(
        NRencryptionAlgorithms(bits(own.nr_encryption)),
        NRintegrityProtectionAlgorithms(bits(own.nr_integrity)),
        EUTRAencryptionAlgorithms(bits(own.eutra_encryption)),
        EUTRAintegrityProtectionAlgorithms(bits(own.eutra_integrity)),
        None,
    );
    let mut ies = vec![
        build_ngap_ie!(PathSwitchRequest, RAN_UE_NGAP_ID(ran_id))?,
        build_ngap_ie!(PathSwitchRequest, SourceAMF_UE_NGAP_ID(amf_id))?,
        build_ngap_ie!(PathSwitchRequest, UserLocationInformation(target.identity().location()))?,
        build_ngap_ie!(PathSwitchRequest, UESecurityCapabilities(capability))?,
        build_ngap_ie!(
            PathSwitchRequest,
            PDUSessionResourceToBeSwitchedDLList(PDUSessionResourceToBeSwitchedDLList(switched))
        )?,
    ];
    if !failed.is_empty() {
        let list = PDUSessionResourceFailedToSetupListPSReq(failed);
        ies.push(build_ngap_ie!(
            PathSwitchRequest,
            PDUSessionResourceFailedToSetupListPSReq(list)
        )?);
    }
    type Request<'a> = PathSwitchRequest<'a>;
    let message = PathSwitchRequest::new(ProtocolIEContainer(ies));
    let message = NGAP_PDU::of_message(&message, Request::CRITICALITY)?.encode()?;
    let (gnb, connection, ports) = move_to(ue, target.clone(), at);
    Ok((message, Left { gnb, connection, ports, outcome: None }))
}

/// The source of an Xn handover, which the target tells to let go (TS 38.423, 8.2.7).
fn source(ue: &mut UeTask) -> Option<Left> {
    let amf_id = ue.connection.amf_id;
    let at = ue
        .left
        .iter()
        .position(|left| left.connection.amf_id == amf_id && left.outcome.is_none())?;
    Some(ue.left.swap_remove(at))
}

/// PATH SWITCH REQUEST ACKNOWLEDGE.
pub(crate) async fn switched(ue: &mut UeTask, pdu: &NGAP_PDU) -> Result<(), Fault> {
    extract_ngap_ies!(pdu, PathSwitchRequestAcknowledge,
        req amf_id: u64 = AMF_UE_NGAP_ID(id),
        req security: SecurityContext = SecurityContext(it) => it,
        lax switched: PDUSessionResourceSwitchedList = PDUSessionResourceSwitchedList(list) => list,
        opt released: PDUSessionResourceReleasedListPSAck = PDUSessionResourceReleasedListPSAck(list) => list,
    );
    let (ncc, nh) =
        (security.next_hop_chaining_count.0, security.next_hop_nh.0.as_octets().to_vec());
    if ue.gnb.config().check_k_gnb && !ue.nas.security_mut().take_next_hop(ncc, &nh) {
        tracing::warn!(
            supi = ue.supi(),
            gnb = ue.gnb_name(),
            ncc,
            "the NH of the AMF is not the UE's"
        );
        ue.waiters.handover.finish(Err(UeError::Handover("another NH than the UE's".into())));
        return Ok(());
    }
    if let Some(left) = source(ue) {
        left.release();
    }
    ue.connection.amf_id = Some(amf_id);
    for item in switched.map(|list| list.0).unwrap_or_default() {
        // The SMF has another policy than the source had: it holds (TS 33.501, 6.6.1).
        let transfer = AcknowledgeTransfer::decode(&item.path_switch_request_acknowledge_transfer)?;
        let psi = item.pdu_session_id.0;
        if let Some(uplink) = transfer.uplink
            && let Some(qfis) = ue.sessions.get(&psi).map(|session| session.qfis.clone())
        {
            ue.retarget(psi, uplink, &qfis);
        }
        let Some(asked) = transfer.security else { continue };
        let done = crate::gnb::procedures::pdu_session::resources::protect(ue.gnb.config(), asked);
        if let (Some(session), Ok(done)) = (ue.sessions.get_mut(&psi), done) {
            session.security = Some((done, asked));
        }
    }
    for item in released.map(|list| list.0).unwrap_or_default() {
        ue.deactivate(item.pdu_session_id.0);
    }
    let start = ue.starts.path_switch.take();
    ue.record(Procedure::PathSwitch, start, None);
    let total = start.map(|start| ue.received.saturating_duration_since(start)).unwrap_or_default();
    let sessions = ue.sessions.keys().copied().collect();
    ue.waiters.handover.finish(Ok(HandoverOutcome {
        sessions,
        preparation: Duration::ZERO,
        total,
    }));
    Ok(())
}

/// PATH SWITCH REQUEST FAILURE: the UE has no connection any more, and the source asks for its
/// release.
pub(crate) async fn not_switched(ue: &mut UeTask, _: &NGAP_PDU) -> Result<(), Fault> {
    let start = ue.starts.path_switch.take();
    ue.record(Procedure::PathSwitch, start, Some("not switched".into()));
    if let Some(left) = source(ue) {
        if let (Some(amf_id), Some(ran_id)) = (left.connection.amf_id, left.connection.ran_id) {
            let message = request_message(ue, amf_id, ran_id, ReleaseReason::RadioConnectionLost)?;
            send(&left.gnb, &left.connection, message).await;
        }
        ue.left.push(left);
    }
    // The identity at the AMF is the source's still.
    ue.connection.amf_id = None;
    ue.waiters.handover.finish(Err(UeError::Handover("the path was not switched".into())));
    ue.released();
    Ok(())
}
