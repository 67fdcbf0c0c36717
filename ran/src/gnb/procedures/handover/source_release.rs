//! Release of the UE's context at a gNB that it has left (TS 38.413, 8.3.3).
use crate::gnb::error::UeError;
use crate::gnb::node::{Downlink, Gnb};
use crate::gnb::ue::context::{Connection, UeContext};
use crate::sample::Procedure;
use martlet_ngap::{NgapPduKind as Kind, build_ngap};

/// A message about the UE to a gNB that it has left: UE CONTEXT RELEASE COMMAND ends the handover.
pub(crate) async fn downlink(ue: &mut UeContext, downlink: Downlink) {
    if downlink.pdu.kind() != Kind::Initiating_UEContextRelease {
        let kind = downlink.pdu.kind();
        return tracing::debug!(supi = ue.supi(), ?kind, "NGAP message to the handover source");
    }
    let amf_id = downlink.amf_id();
    let found = ue
        .left
        .iter()
        .position(|left| left.connection.amf_id == amf_id && left.gnb.is(&downlink.gnb));
    let Some(mut left) = found.map(|at| ue.left.swap_remove(at)) else { return };
    complete(&left.gnb, &left.connection).await;
    if let Some((start, mut outcome)) = left.outcome.take() {
        outcome.total = downlink.at.saturating_duration_since(start);
        ue.record(Procedure::Handover, Some(start), None);
        ue.waiters.handover.finish(Ok(outcome));
    }
    left.release();
}

/// UE CONTEXT RELEASE COMPLETE from a gNB that does not serve the UE.
pub(crate) async fn complete(gnb: &Gnb, connection: &Connection) {
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
        Err(error) => {
            tracing::error!(gnb = gnb.name(), %error, "UE CONTEXT RELEASE COMPLETE not encoded")
        }
    }
}

/// Sends a message through a gNB that does not serve the UE, on the stream of its connection.
pub(crate) async fn send(gnb: &Gnb, connection: &Connection, message: Vec<u8>) {
    if let Err(error) = gnb.send(connection.stream, message.into()).await {
        tracing::debug!(gnb = gnb.name(), %error, "NGAP message not sent");
    }
}

/// A gNB that does not serve the UE has lost the AMF, or the UE's context.
pub(crate) fn lost(ue: &mut UeContext, gnb: &Gnb) {
    if ue.handover.as_ref().is_some_and(|handover| handover.target.is(gnb)) {
        ue.abort_handover(UeError::Handover("the target has lost the UE's context".into()));
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
