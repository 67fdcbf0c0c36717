//! Events that the running procedure of a UE does not wait for.
use crate::metrics;
use crate::n2::uplink::Uplink;
use crate::procedures::connection::{
    initial_ue_message, n1_n2_message_transfer, nas_non_delivery, ue_radio_capability_info,
};
use crate::procedures::handover::{handover_cancel, n2_handover, ran_status_transfer, xn_handover};
use crate::procedures::positioning::nrppa_transport;
use crate::ue::{Event, HandoverPhase, Interleaved, Stop, Ue, Work};
use futures_util::FutureExt;
use martlet_ngap::ngap::{Cause, CauseRadioNetwork};
use martlet_sbi_api::nudm_uecm::DeregistrationReason;

/// An event that the running procedure does not wait for: it ends the procedure, is queued, is
/// handled at once, or needs the procedure that is returned.
pub(super) fn event(ue: &mut Ue, event: Event) -> Result<Option<Interleaved<'_>>, Stop> {
    match event {
        // The UE is at the target gNB already; the running procedure continues there.
        Event::PathSwitch(gnb, request) => {
            let path_switch = xn_handover::run(ue, gnb, *request);
            Ok(Some(Box::pin(path_switch.map(Ok))))
        }
        Event::Uplink { amf_id, .. } if !ue.is_current(amf_id) => Ok(None),
        Event::Uplink { message, amf_id } => match message {
            Uplink::ReleaseRequest { .. } => {
                Err(Stop::Preempted(Work::Event(Event::Uplink { message, amf_id })))
            }
            // The running procedure ends first, unless it waits for the handover. The gNB
            // cancels a handover that takes too long.
            Uplink::HandoverRequired(_) => {
                ue.defer(Work::Event(Event::Uplink { message, amf_id }));
                waiting_handover(ue)
            }
            Uplink::NotDelivered { .. } => {
                ngap(ue, message)?;
                waiting_handover(ue)
            }
            Uplink::HandoverCancel(_) => {
                Ok(Some(Box::pin(handover_cancel::before_preparation(ue).map(Ok))))
            }
            other => ngap(ue, other).map(|()| None),
        },
        // Only a verified message preempts the procedure.
        Event::Initial(message) => match initial_ue_message::verify(ue, message) {
            Some(message) => Err(Stop::Preempted(Work::Event(Event::Initial(message)))),
            None => Ok(None),
        },
        // The target AMF is registered at the UDM, and its own notification did not arrive.
        Event::Deregister(DeregistrationReason::UeRegistrationAreaChange, _)
            if ue.handover_phase() == HandoverPhase::ExecutionToOtherAmf =>
        {
            // It is answered when the handover has ended.
            ue.defer(Work::Event(event));
            Err(Stop::HandedOver)
        }
        Event::Replaced(_) | Event::Evicted | Event::Deregister(..) => {
            Err(Stop::Preempted(Work::Event(event)))
        }
        Event::HandoverCompleted if ue.handover_phase() == HandoverPhase::ExecutionToOtherAmf => {
            Err(Stop::HandedOver)
        }
        Event::HandoverReleased if ue.target.is_some() => Err(Stop::Abandoned("handover_released")),
        Event::HandoverCompleted
        | Event::HandoverReleased
        | Event::SubscriptionsChanged
        | Event::Taken => Ok(None),
        Event::Transfer(transfer) if ran_status_transfer::content(&transfer.request).is_some() => {
            Ok(Some(Box::pin(ran_status_transfer::downlink(ue, *transfer).map(Ok))))
        }
        Event::Transfer(mut transfer) if ue.is_registering() && transfer.answer.is_some() => {
            transfer.answer(Err(n1_n2_message_transfer::registering()));
            Ok(None)
        }
        // The UE may have answered the paging at the AMF that takes it.
        Event::ContextTransfer(..)
            if ue.is_being_paged() && ue.amf.rebalancing.is_offered(ue.handle.number) =>
        {
            Err(Stop::Preempted(Work::Event(event)))
        }
        Event::Transfer(transfer) if ue.is_being_paged() => {
            n1_n2_message_transfer::queue(ue, *transfer);
            Ok(None)
        }
        event => {
            ue.defer(Work::Event(event));
            Ok(None)
        }
    }
}

/// The waiting handover, which runs inside the current procedure: the moving UE did not get its NAS
/// message. The message is repeated at the target (TS 24.501, 5.4.4.6). A handover to another AMF
/// ends the procedure.
fn waiting_handover(ue: &mut Ue) -> Result<Option<Interleaved<'_>>, Stop> {
    if ue.nas_queues.undelivered.is_empty() || ue.is_registering() {
        return Ok(None);
    }
    let Some(work) = ue
        .task
        .deferred
        .iter()
        .position(handover_cancel::is_handover_required)
        .and_then(|at| ue.task.deferred.remove(at))
    else {
        return Ok(None);
    };
    match work {
        Work::Event(Event::Uplink { message: Uplink::HandoverRequired(required), .. })
            if n2_handover::stays_at_this_amf(ue, &required) =>
        {
            Ok(Some(Box::pin(n2_handover::run(ue, *required))))
        }
        work => Err(Stop::Preempted(work)),
    }
}

/// A message that a gNB may send at any time. What a procedure of its own handles is queued.
pub(super) fn ngap(ue: &mut Ue, message: Uplink) -> Result<(), Stop> {
    match message {
        Uplink::Nas { nas, location } => {
            ue.update_location(location);
            ue.queue_nas(nas);
        }
        message @ (Uplink::SessionNotify { .. } | Uplink::SessionModifyIndication(_)) => {
            ue.defer(ue.later(message));
        }
        Uplink::RadioCapability { capability, for_paging } => {
            ue_radio_capability_info::run(ue, capability, for_paging)
        }
        Uplink::NotDelivered { cause, nas } => nas_non_delivery::run(ue, &cause, nas),
        Uplink::Location(location) => ue.update_location(location),
        Uplink::Nrppa { routing, message } => nrppa_transport::uplink(ue, &routing, message),
        Uplink::Error(Some(Cause::radioNetwork(
            CauseRadioNetwork::unknown_local_UE_NGAP_ID
            | CauseRadioNetwork::inconsistent_remote_UE_NGAP_ID,
        ))) => return Err(Stop::ConnectionLost),
        Uplink::Error(_) => {}
        other => {
            metrics::ngap_error("state");
            if let Some(suppressed) = martlet_log_limit::line("ngap_state", ue.gnb_address()) {
                tracing::warn!(
                    supi = ue.label(),
                    gnb = ue.gnb(),
                    suppressed,
                    "unexpected NGAP message: {}",
                    other.name()
                );
            }
        }
    }
    Ok(())
}
