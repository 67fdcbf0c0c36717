//! N2 handover at the source gNB (TS 38.413, 8.4.1, 8.4.5, 8.4.6): asked for, commanded, or
//! cancelled; and the gNB that a UE has left.
use crate::gnb::command::Reply;
use super::handover_resource_allocation::{self, AtTarget};
use crate::gnb::ue_task::{Connection, Downlink, Fault, UeTask};
use super::{ran_status_transfer, transparent_containers};
use crate::gnb::{Gnb, UeError};
use crate::sample::Procedure;
use crate::user_plane::Port;
use martlet_ngap::ngap::*;
use martlet_ngap::transfer::{
    HandoverCommand as CommandTransfer, HandoverRequired as RequiredTransfer,
};
use martlet_ngap::{NgapPduKind as Kind, build_ngap, build_ngap_ie, extract_ngap_ies, helpers, ie};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long a gNB that a UE has left goes on forwarding what still comes (TS 38.300, 9.2.3.2.1,
/// step 12).
const LINGER: Duration = Duration::from_millis(500);

/// What becomes of a handover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HandoverTurn {
    /// The UE comes to the target.
    #[default]
    Arrives,
    /// The source cancels it as soon as it has asked for it.
    CancelledAtOnce,
    /// The source cancels it once it is commanded.
    Cancelled,
    /// The UE never comes to the target.
    Stays,
    /// The target does not answer.
    TargetSilent,
    /// The target has no room: HANDOVER FAILURE.
    TargetFull,
    /// What tells the UE of a new K_AMF is damaged on its way to it.
    NewKeyNotProved,
}

/// How a handover is to go.
#[derive(Debug, Clone, Default)]
pub struct HandoverPlan {
    /// Source and target reach each other without the core.
    pub direct_forwarding: bool,
    /// Nothing is forwarded.
    pub without_forwarding: bool,
    /// Sessions that the target does not take.
    pub refused: Vec<u8>,
    /// What becomes of it.
    pub turn: HandoverTurn,
}

/// How a handover went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoverOutcome {
    /// Sessions that the target has.
    pub sessions: Vec<u8>,
    /// Until the UE was told to go: HANDOVER COMMAND. Zero for an Xn handover.
    pub preparation: Duration,
    /// Until the core had followed: the context at the source is released, or the path is
    /// switched.
    pub total: Duration,
}

/// A handover that the gNB has asked for.
pub(crate) struct Handover {
    pub(crate) target: Gnb,
    pub(crate) plan: HandoverPlan,
    pub(crate) start: Instant,
    pub(crate) commanded: Option<Instant>,
    pub(crate) at_target: Option<AtTarget>,
}

/// A gNB that the UE has left, until the AMF releases its context there.
pub(crate) struct Left {
    pub(crate) gnb: Gnb,
    pub(crate) connection: Connection,
    pub(crate) ports: BTreeMap<u8, Port>,
    /// Of the handover by which it left.
    pub(crate) outcome: Option<(Instant, HandoverOutcome)>,
}

impl Left {
    /// The context is gone; what still comes on its tunnels is forwarded for a while.
    pub(crate) fn release(mut self) {
        if let Some(ran_id) = self.connection.ran_id.take() {
            self.gnb.table().disconnect(ran_id, self.connection.amf_id.take());
        }
        let ports = self.ports;
        tokio::spawn(async move {
            tokio::time::sleep(LINGER).await;
            drop(ports);
        });
    }
}

/// Which of a UE's ends a message came to.
pub(crate) enum End {
    Here,
    Target,
    Left,
}

impl UeTask {
    pub(crate) fn end_of(&self, downlink: &Downlink) -> End {
        if downlink.pdu.kind() == Kind::Initiating_HandoverResourceAllocation {
            return End::Target;
        }
        let amf_id = amf_id_of(&downlink.pdu);
        let is = |connection: &Connection| amf_id.is_some() && connection.amf_id == amf_id;
        let at_target = self.handover.as_ref().and_then(|handover| handover.at_target.as_ref());
        if self.left.iter().any(|left| is(&left.connection) && left.gnb.is(&downlink.gnb)) {
            End::Left
        } else if at_target.is_some_and(|at| is(&at.connection)) {
            End::Target
        } else {
            End::Here
        }
    }
}

/// AMF UE NGAP ID of a message.
pub(crate) fn amf_id_of(pdu: &NGAP_PDU) -> Option<u64> {
    if let Some(Ok(id)) = pdu.ie::<ie::AMF_UE_NGAP_ID>() {
        return Some(id.0);
    }
    match pdu.ie::<ie::UE_NGAP_IDs>() {
        Some(Ok(UENGAPIDs::uE_NGAP_ID_pair(pair))) => Some(pair.amf_ue_ngap_id.0),
        Some(Ok(UENGAPIDs::aMF_UE_NGAP_ID(id))) => Some(id.0),
        _ => None,
    }
}

/// Hand a message to the transport of a gNB, on the stream of a connection.
pub(crate) async fn send(gnb: &Gnb, connection: &Connection, message: Vec<u8>) {
    if let Err(error) = gnb.link().send(connection.stream, message.into()).await {
        tracing::debug!(gnb = gnb.name(), %error, "a message was not sent");
    }
}

/// HANDOVER REQUIRED.
pub(crate) async fn require(
    ue: &mut UeTask,
    target: Gnb,
    plan: HandoverPlan,
    reply: Reply<HandoverOutcome>,
) {
    let Some((amf_id, ran_id)) = ue.ids() else {
        return reply.done(Err(UeError::State("only a connected UE is handed over")));
    };
    if ue.sessions.is_empty() {
        return reply
            .done(Err(UeError::State("a UE is handed over with its PDU sessions: it has none")));
    }
    if ue.handover.is_some() || target.is(&ue.gnb) {
        return reply.done(Err(UeError::State("a handover is underway, or leads nowhere")));
    }
    let message = match required(ue, &target, &plan, (amf_id, ran_id)) {
        Ok(message) => message,
        Err(error) => return reply.done(Err(UeError::Handover(error.to_string()))),
    };
    target.announced().insert((ue.gnb.config().gnb_id, ran_id), ue.mailbox.clone());
    let at_once = plan.turn == HandoverTurn::CancelledAtOnce;
    let start = Instant::now();
    ue.handover = Some(Handover { target, plan, start, commanded: None, at_target: None });
    ue.waiters.handover.add(reply);
    let mut sent = ue.transmit(message).await;
    if at_once && sent.is_ok() {
        sent = cancel(ue).await;
    }
    if let Err(error) = sent {
        ue.link_lost(&error.to_string());
    }
}

fn required(
    ue: &UeTask,
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

/// HANDOVER CANCEL.
async fn cancel(ue: &mut UeTask) -> Result<Instant, crate::gnb::LinkError> {
    let Some((amf_id, ran_id)) = ue.ids() else { return Ok(Instant::now()) };
    let message = build_ngap!(
        InitiatingMessage,
        HandoverCancel,
        HandoverCancel,
        AMF_UE_NGAP_ID(amf_id),
        RAN_UE_NGAP_ID(ran_id),
        Cause(Cause::radioNetwork(CauseRadioNetwork::handover_cancelled)),
    )
    .and_then(|pdu| pdu.encode());
    match message {
        Ok(message) => ue.transmit(message).await,
        Err(error) => {
            tracing::error!(supi = ue.supi(), gnb = ue.gnb_name(), %error, "HANDOVER CANCEL");
            Ok(Instant::now())
        }
    }
}

/// The handover is over before the UE has left. What the target has of the UE, the AMF has it
/// released.
pub(crate) fn give_up(ue: &mut UeTask, error: UeError) {
    let Some(handover) = ue.handover.take() else { return };
    if let Some(at) = handover.at_target {
        ue.left.push(Left {
            gnb: handover.target,
            connection: at.connection,
            ports: at.ports,
            outcome: None,
        });
    }
    ue.record(Procedure::Handover, Some(handover.start), Some(error.to_string()));
    ue.waiters.handover.finish(Err(error));
}

/// HANDOVER CANCEL ACKNOWLEDGE.
pub(crate) fn cancelled(ue: &mut UeTask) -> Result<(), Fault> {
    give_up(ue, UeError::Handover("cancelled".into()));
    Ok(())
}

/// HANDOVER PREPARATION FAILURE.
pub(crate) fn not_prepared(ue: &mut UeTask, pdu: &NGAP_PDU) -> Result<(), Fault> {
    extract_ngap_ies!(pdu, HandoverPreparationFailure, lax cause: Cause = Cause(cause) => cause,);
    let cause = cause.as_ref().map(martlet_ngap::cause::text).unwrap_or_default();
    give_up(ue, UeError::Handover(cause));
    Ok(())
}

/// HANDOVER COMMAND: the UE goes, and what still comes for it is forwarded.
pub(crate) async fn command(ue: &mut UeTask, pdu: &NGAP_PDU) -> Result<(), Fault> {
    extract_ngap_ies!(pdu, HandoverCommand,
        opt sessions: PDUSessionResourceHandoverList = PDUSessionResourceHandoverList(list) => list,
    );
    let received = ue.received;
    let Some(handover) = &mut ue.handover else {
        tracing::warn!(supi = ue.supi(), gnb = ue.gnb_name(), "HANDOVER COMMAND for no handover");
        return Ok(());
    };
    handover.commanded = Some(received);
    match handover.plan.turn {
        HandoverTurn::Cancelled => {
            cancel(ue).await?;
            return Ok(());
        }
        HandoverTurn::Arrives | HandoverTurn::NewKeyNotProved => {}
        _ => return Ok(()),
    }
    // A UE that is told of a new key without its proof stays where it is, and with the key that it
    // has (TS 33.501, 6.9.2.3.3); its gNB hears it again, and gives the handover up.
    let told = handover.at_target.as_ref().and_then(|at| at.new_key.as_ref());
    if told.is_some_and(Option::is_none) {
        tracing::warn!(supi = ue.supi(), "a new K_AMF does not prove itself: the UE stays");
        cancel(ue).await?;
        return Ok(());
    }
    let mut taken = Vec::new();
    for item in sessions.map(|list| list.0).unwrap_or_default() {
        let psi = item.pdu_session_id.0;
        taken.push(psi);
        let transfer = CommandTransfer::decode(&item.handover_command_transfer)?;
        if let (Some(tunnel), Some(port)) = (transfer.forwarding, ue.ports.get(&psi)) {
            port.forward_to(tunnel);
        }
    }
    let status = ran_status_transfer::uplink(ue, &taken)?;
    ue.transmit(status).await?;
    handover_resource_allocation::arrive(ue, &taken).await
}

/// A message about the UE to a gNB where it is no more: the context there is released.
pub(crate) async fn left_downlink(ue: &mut UeTask, downlink: Downlink) {
    if downlink.pdu.kind() != Kind::Initiating_UEContextRelease {
        return tracing::debug!(supi = ue.supi(), kind = ?downlink.pdu.kind(), "for a gNB that the UE has left");
    }
    let amf_id = amf_id_of(&downlink.pdu);
    let found = ue
        .left
        .iter()
        .position(|left| left.connection.amf_id == amf_id && left.gnb.is(&downlink.gnb));
    let Some(mut left) = found.map(|at| ue.left.swap_remove(at)) else { return };
    complete_release(&left.gnb, &left.connection).await;
    if let Some((start, mut outcome)) = left.outcome.take() {
        outcome.total = downlink.at.saturating_duration_since(start);
        ue.record(Procedure::Handover, Some(start), None);
        ue.waiters.handover.finish(Ok(outcome));
    }
    left.release();
}

/// UE CONTEXT RELEASE COMPLETE.
pub(crate) async fn complete_release(gnb: &Gnb, connection: &Connection) {
    let (Some(amf_id), Some(ran_id)) = (connection.amf_id, connection.ran_id) else { return };
    let complete = build_ngap!(
        SuccessfulOutcome,
        UEContextRelease,
        UEContextReleaseComplete,
        AMF_UE_NGAP_ID(amf_id),
        RAN_UE_NGAP_ID(ran_id),
        UserLocationInformation(gnb.identity().location()),
    )
    .and_then(|pdu| pdu.encode());
    match complete {
        Ok(complete) => send(gnb, connection, complete).await,
        Err(error) => tracing::error!(gnb = gnb.name(), %error, "UE CONTEXT RELEASE COMPLETE"),
    }
}

/// A gNB that is not the UE's own has lost the AMF, or the UE's context.
pub(crate) fn lost(ue: &mut UeTask, gnb: &Gnb) {
    if ue.handover.as_ref().is_some_and(|handover| handover.target.is(gnb)) {
        give_up(ue, UeError::Handover("the target has lost the UE's context".into()));
    }
    let before = std::mem::take(&mut ue.left);
    for left in before {
        match left.gnb.is(gnb) {
            false => ue.left.push(left),
            true => {
                if let Some((_, outcome)) = left.outcome.clone() {
                    ue.waiters.handover.finish(Ok(outcome));
                }
                left.release();
            }
        }
    }
}
