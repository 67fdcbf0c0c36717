//! Path switch request of an Xn handover (TS 38.413, 8.4.4; TS 38.423, 8.2.1). The simulated gNBs
//! agree on the handover without Xn messages.
use super::handover_notification::change_gnb;
use super::source_release;
use crate::gnb::error::UeError;
use crate::gnb::handover_plan::{HandoverOutcome, XnHandoverPlan};
use crate::gnb::node::Gnb;
use crate::gnb::procedures::pdu_session::resources::protect;
use crate::gnb::procedures::ue_context::ue_context_release_request::{self, ReleaseReason};
use crate::gnb::ue::Reply;
use crate::gnb::ue::context::{Connection, Fault, SourceContext, TargetContext, UeContext};
use crate::sample::Procedure;
use martlet_nas::algorithms;
use martlet_ngap::ngap::*;
use martlet_ngap::transfer::{
    PathSwitchAcknowledge as AcknowledgeTransfer, PathSwitchRequest as RequestTransfer,
    PathSwitchSetupFailed,
};
use martlet_ngap::{BitString, Message, build_ngap_ie, extract_ngap_ies};
use std::time::{Duration, Instant};

/// The UE moves to the target, which sends PATH SWITCH REQUEST.
pub(crate) async fn run(
    ue: &mut UeContext,
    target: Gnb,
    plan: &XnHandoverPlan,
    reply: Reply<HandoverOutcome>,
) {
    let lost = &plan.lost;
    let Some((amf_id, ran_id)) = ue.ids() else {
        return reply.done(Err(UeError::State("a handover needs a connected UE")));
    };
    if ue.sessions.keys().all(|psi| lost.contains(psi)) {
        return reply.done(Err(UeError::State("a path switch needs a PDU session")));
    }
    if ue.handover.is_some() || target.is(&ue.gnb) {
        return reply.done(Err(UeError::State(
            "a handover is already in progress, or the target is the serving gNB",
        )));
    }
    let source_sessions: Vec<u8> = ue.sessions.keys().copied().collect();
    match switch(ue, &target, plan, amf_id) {
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
            tracing::error!(
                supi = ue.supi(),
                ran_id,
                ?source_sessions,
                %error,
                "PATH SWITCH REQUEST not encoded"
            );
            reply.done(Err(UeError::Handover(error.to_string())));
        }
    }
}

/// Moves the UE to the target, to which the source forwards. Returns the message, and the context
/// at the source.
fn switch(
    ue: &mut UeContext,
    target: &Gnb,
    plan: &XnHandoverPlan,
    amf_id: u64,
) -> Result<(Vec<u8>, SourceContext), Fault> {
    let ran_id = target.ues().connect(ue.inbox.clone());
    target.ues().set_amf_id(ran_id, amf_id);
    let connection = Connection {
        ran_id: Some(ran_id),
        amf_id: Some(amf_id),
        stream: target.stream_of(ran_id),
        early: std::mem::take(&mut ue.connection.early),
    };
    // Location reporting is part of the HANDOVER REQUEST over Xn.
    let mut at =
        TargetContext { connection, reporting: ue.reporting.clone(), ..TargetContext::default() };
    let (mut switched, mut failed) = (Vec::new(), Vec::new());
    let sessions: Vec<_> =
        ue.sessions.iter().map(|(psi, s)| (*psi, s.uplink, s.qfis.clone(), s.security)).collect();
    for (psi, uplink, mut qfis, security) in sessions {
        qfis.retain(|qfi| !plan.lost_flows.contains(qfi));
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
        let (downlink, forwarding) = at.set_up_session(ue, target, psi, (uplink, &qfis), true);
        if let (Some(tunnel), Some(port)) = (forwarding, ue.ports.get(&psi)) {
            port.forward_to(tunnel);
        }
        // The security indication is part of the HANDOVER REQUEST over Xn.
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
    if let Some(reported) = plan.capability {
        (own.nr_encryption, own.nr_integrity) = reported;
    }
    let bits = |bits: u8| BitString::from([bits, 0]);
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
    let (gnb, connection, ports) = change_gnb(ue, target.clone(), at);
    Ok((message, SourceContext { gnb, connection, ports, outcome: None }))
}

/// The source of an Xn handover, to which the target sends UE CONTEXT RELEASE (TS 38.423, 8.2.7).
fn source(ue: &mut UeContext) -> Option<SourceContext> {
    let amf_id = ue.connection.amf_id;
    let at = ue
        .left
        .iter()
        .position(|left| left.connection.amf_id == amf_id && left.outcome.is_none())?;
    Some(ue.left.swap_remove(at))
}

/// PATH SWITCH REQUEST ACKNOWLEDGE.
pub(crate) async fn acknowledge(ue: &mut UeContext, pdu: &NGAP_PDU) -> Result<(), Fault> {
    extract_ngap_ies!(pdu, PathSwitchRequestAcknowledge,
        req amf_id: u64 = AMF_UE_NGAP_ID(id),
        req security: SecurityContext = SecurityContext(it) => it,
        lax switched: PDUSessionResourceSwitchedList = PDUSessionResourceSwitchedList(list) => list,
        opt released: PDUSessionResourceReleasedListPSAck =
            PDUSessionResourceReleasedListPSAck(list) => list,
    );
    let (ncc, nh) =
        (security.next_hop_chaining_count.0, security.next_hop_nh.0.as_octets().to_vec());
    if ue.gnb.config().check_k_gnb && !ue.nas.security_mut().take_next_hop(ncc, &nh) {
        tracing::warn!(
            supi = ue.supi(),
            gnb = ue.gnb_name(),
            ncc,
            "NH mismatch between AMF and UE"
        );
        ue.waiters
            .handover
            .finish(Err(UeError::Handover("the NH of the AMF differs from the UE's".into())));
        return Ok(());
    }
    if let Some(left) = source(ue) {
        left.release();
    }
    ue.connection.amf_id = Some(amf_id);
    for item in switched.map(|list| list.0).unwrap_or_default() {
        // The SMF's security policy takes precedence over the source's (TS 33.501, 6.6.1).
        let transfer = AcknowledgeTransfer::decode(&item.path_switch_request_acknowledge_transfer)?;
        let psi = item.pdu_session_id.0;
        if let Some(uplink) = transfer.uplink
            && let Some(qfis) = ue.sessions.get(&psi).map(|session| session.qfis.clone())
        {
            ue.retarget(psi, uplink, &qfis);
        }
        let Some(asked) = transfer.security else { continue };
        let done = protect(ue.gnb.config(), asked);
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

/// PATH SWITCH REQUEST FAILURE: the connection is lost, and the source requests its release.
pub(crate) async fn failure(ue: &mut UeContext, _: &NGAP_PDU) -> Result<(), Fault> {
    let start = ue.starts.path_switch.take();
    ue.record(Procedure::PathSwitch, start, Some("path switch failed".into()));
    if let Some(left) = source(ue) {
        if let (Some(amf_id), Some(ran_id)) = (left.connection.amf_id, left.connection.ran_id) {
            let message = ue_context_release_request::message(
                ue,
                amf_id,
                ran_id,
                ReleaseReason::RadioConnectionLost,
            )?;
            source_release::send(&left.gnb, &left.connection, message).await;
        }
        ue.left.push(left);
    }
    // The AMF UE NGAP ID still belongs to the source.
    ue.connection.amf_id = None;
    ue.waiters.handover.finish(Err(UeError::Handover("path switch failed".into())));
    ue.released();
    Ok(())
}
