//! Handover preparation at the source gNB (TS 38.413, 8.4.1).
use super::{
    handover_cancellation, handover_notification, ran_status_transfer, transparent_containers,
};
use crate::gnb::error::UeError;
use crate::gnb::handover_plan::{HandoverOutcome, HandoverPlan, HandoverScript};
use crate::gnb::node::Gnb;
use crate::gnb::ue::Reply;
use crate::gnb::ue::context::{Fault, OngoingHandover, UeContext};
use martlet_ngap::ngap::*;
use martlet_ngap::transfer::{
    HandoverCommand as CommandTransfer, HandoverRequired as RequiredTransfer,
};
use martlet_ngap::{build_ngap_ie, extract_ngap_ies, helpers};
use std::time::Instant;

/// HANDOVER REQUIRED.
pub(crate) async fn run(
    ue: &mut UeContext,
    target: Gnb,
    plan: HandoverPlan,
    reply: Reply<HandoverOutcome>,
) {
    let Some((amf_id, ran_id)) = ue.ids() else {
        return reply.done(Err(UeError::State("a handover needs a connected UE")));
    };
    if ue.sessions.is_empty() {
        return reply.done(Err(UeError::State("a handover needs a PDU session")));
    }
    if ue.handover.is_some() || target.is(&ue.gnb) {
        return reply.done(Err(UeError::State(
            "a handover is already in progress, or the target is the serving gNB",
        )));
    }
    let message = match required(ue, &target, &plan, (amf_id, ran_id)) {
        Ok(message) => message,
        Err(error) => return reply.done(Err(UeError::Handover(error.to_string()))),
    };
    target.announced().insert((ue.gnb.config().gnb_id, ran_id), ue.inbox.clone());
    let cancel = plan.script == HandoverScript::CancelledDuringPreparation;
    let start = Instant::now();
    ue.handover = Some(OngoingHandover { target, plan, start, commanded: None, at_target: None });
    ue.waiters.handover.add(reply);
    let mut sent = ue.transmit(message).await;
    if cancel && sent.is_ok() {
        sent = handover_cancellation::cancel(ue).await;
    }
    if let Err(error) = sent {
        ue.link_lost(&error.to_string());
    }
}

fn required(
    ue: &UeContext,
    target: &Gnb,
    plan: &HandoverPlan,
    ids: (u64, u32),
) -> Result<Vec<u8>, Fault> {
    let transfer = RequiredTransfer { direct_forwarding: plan.direct_forwarding }.encode()?;
    let item = |psi: &u8| {
        PDUSessionResourceItemHORqd::new(PDUSessionID(*psi), transfer.clone().into(), None)
    };
    let list = PDUSessionResourceListHORqd(ue.sessions.keys().map(item).collect());
    let (config, identity) = (target.config(), target.identity());
    let node = helpers::global_gnb_id(identity.plmn, config.gnb_id, config.gnb_id_bits.into())?;
    let tai = helpers::tai(identity.plmn, identity.tac);
    let target_id = TargetRANNodeID::new(GlobalRANNodeID::globalGNB_ID(node), tai, None);
    let container = transparent_containers::source_to_target(&ue.gnb, target, ids.1)?;
    let mut ies = vec![
        build_ngap_ie!(HandoverRequired, AMF_UE_NGAP_ID(ids.0))?,
        build_ngap_ie!(HandoverRequired, RAN_UE_NGAP_ID(ids.1))?,
        build_ngap_ie!(HandoverRequired, HandoverType(HandoverType::intra5gs))?,
        build_ngap_ie!(
            HandoverRequired,
            Cause(Cause::radioNetwork(CauseRadioNetwork::handover_desirable_for_radio_reason))
        )?,
        build_ngap_ie!(HandoverRequired, TargetID(TargetID::targetRANNodeID(target_id)))?,
    ];
    if plan.direct_forwarding {
        let available = DirectForwardingPathAvailability::direct_path_available;
        ies.push(build_ngap_ie!(HandoverRequired, DirectForwardingPathAvailability(available))?);
    }
    ies.push(build_ngap_ie!(HandoverRequired, PDUSessionResourceListHORqd(list))?);
    ies.push(build_ngap_ie!(HandoverRequired, SourceToTarget_TransparentContainer(container))?);
    type Required<'a> = HandoverRequired<'a>;
    use martlet_ngap::Message;
    let pdu = NGAP_PDU::of_message(
        &HandoverRequired::new(ProtocolIEContainer(ies)),
        Required::CRITICALITY,
    )?;
    Ok(pdu.encode()?)
}

/// HANDOVER PREPARATION FAILURE.
pub(crate) fn failure(ue: &mut UeContext, pdu: &NGAP_PDU) -> Result<(), Fault> {
    extract_ngap_ies!(pdu, HandoverPreparationFailure, lax cause: Cause = Cause(cause) => cause,);
    let cause = cause.as_ref().map(martlet_ngap::cause::text).unwrap_or_default();
    ue.abort_handover(UeError::Handover(cause));
    Ok(())
}

/// HANDOVER COMMAND: the UE moves to the target, and the source forwards downlink packets.
pub(crate) async fn command(ue: &mut UeContext, pdu: &NGAP_PDU) -> Result<(), Fault> {
    extract_ngap_ies!(pdu, HandoverCommand,
        opt sessions: PDUSessionResourceHandoverList = PDUSessionResourceHandoverList(list) => list,
    );
    let received = ue.received;
    let Some(handover) = &mut ue.handover else {
        tracing::warn!(supi = ue.supi(), gnb = ue.gnb_name(), "HANDOVER COMMAND without handover");
        return Ok(());
    };
    handover.commanded = Some(received);
    match handover.plan.script {
        HandoverScript::CancelledAfterCommand => {
            handover_cancellation::cancel(ue).await?;
            return Ok(());
        }
        HandoverScript::Completed | HandoverScript::NasContainerDamaged => {}
        _ => return Ok(()),
    }
    // A UE that cannot verify the NAS container keeps its K_AMF and stays at the source (TS
    // 33.501, 6.9.2.3.3), so the source cancels the handover.
    let new_key = handover.at_target.as_ref().and_then(|target| target.new_key.as_ref());
    if new_key.is_some_and(Option::is_none) {
        tracing::warn!(supi = ue.supi(), "NAS container with a wrong MAC: the UE stays");
        handover_cancellation::cancel(ue).await?;
        return Ok(());
    }
    let mut admitted = Vec::new();
    for item in sessions.map(|list| list.0).unwrap_or_default() {
        let psi = item.pdu_session_id.0;
        admitted.push(psi);
        let transfer = CommandTransfer::decode(&item.handover_command_transfer)?;
        if let (Some(tunnel), Some(port)) = (transfer.forwarding, ue.ports.get(&psi)) {
            port.forward_to(tunnel);
        }
    }
    let status = ran_status_transfer::uplink(ue, &admitted)?;
    ue.transmit(status).await?;
    // The reconfiguration at the source, and its completion at the target.
    ue.uplink_radio(2).await;
    handover_notification::run(ue, &admitted).await
}
