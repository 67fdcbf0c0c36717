//! Events that the running procedure of a UE does not wait for.
use crate::metrics;
use crate::n2::uplink::Uplink;
use crate::procedures::connection::{
    initial_ue_message, n1_n2_message_transfer, nas_non_delivery, ue_radio_capability_info,
};
use crate::procedures::handover::{handover_cancel, n2_handover, ran_status_transfer, xn_handover};
use crate::procedures::positioning::nrppa_transport;
use crate::ue::{Event, HandoverPhase, Stop, Ue, Work};
use martlet_ngap::ngap::{Cause, CauseRadioNetwork};
use martlet_sbi_api::nudm_uecm::DeregistrationReason;

impl Ue {
    /// An event that the running procedure does not wait for: it ends the procedure, is queued, or
    /// is handled at once.
    pub(crate) async fn handle_unsolicited(&mut self, event: Event) -> Result<(), Stop> {
        match event {
            // The UE is at the target gNB already; the running procedure continues there.
            Event::PathSwitch(gnb, request) => {
                Box::pin(xn_handover::run(self, gnb, *request)).await;
                Ok(())
            }
            Event::Uplink { amf_id, .. } if !self.is_current(amf_id) => Ok(()),
            Event::Uplink { message, amf_id } => match message {
                Uplink::ReleaseRequest { .. } => {
                    Err(Stop::Preempted(Work::Event(Event::Uplink { message, amf_id })))
                }
                // The running procedure ends first, unless it waits for the handover. The gNB
                // cancels a handover that takes too long.
                Uplink::HandoverRequired(_) => {
                    self.defer(Work::Event(Event::Uplink { message, amf_id }));
                    self.run_waiting_handover().await
                }
                Uplink::NotDelivered { .. } => {
                    self.handle_unsolicited_ngap(message)?;
                    self.run_waiting_handover().await
                }
                Uplink::HandoverCancel(_) => {
                    handover_cancel::before_preparation(self).await;
                    Ok(())
                }
                other => self.handle_unsolicited_ngap(other),
            },
            // Only a verified message preempts the procedure.
            Event::Initial(message) => match initial_ue_message::verify(self, message) {
                Some(message) => Err(Stop::Preempted(Work::Event(Event::Initial(message)))),
                None => Ok(()),
            },
            // The target AMF is registered at the UDM, and its own notification did not arrive.
            Event::Deregister(DeregistrationReason::UeRegistrationAreaChange, _)
                if self.handover_phase() == HandoverPhase::ExecutionToOtherAmf =>
            {
                // It is answered when the handover has ended.
                self.defer(Work::Event(event));
                Err(Stop::HandedOver)
            }
            Event::Replaced(_) | Event::Evicted | Event::Deregister(..) => {
                Err(Stop::Preempted(Work::Event(event)))
            }
            Event::HandoverCompleted
                if self.handover_phase() == HandoverPhase::ExecutionToOtherAmf =>
            {
                Err(Stop::HandedOver)
            }
            Event::HandoverReleased if self.target.is_some() => {
                Err(Stop::Abandoned("handover_released"))
            }
            Event::HandoverCompleted
            | Event::HandoverReleased
            | Event::SubscriptionsChanged
            | Event::Taken => Ok(()),
            Event::Transfer(transfer)
                if ran_status_transfer::content(&transfer.request).is_some() =>
            {
                ran_status_transfer::downlink(self, *transfer).await;
                Ok(())
            }
            Event::Transfer(mut transfer) if self.is_registering() && transfer.answer.is_some() => {
                transfer.answer(Err(n1_n2_message_transfer::registering()));
                Ok(())
            }
            // The UE may have answered the paging at the AMF that takes it.
            Event::ContextTransfer(..)
                if self.is_being_paged() && self.amf.rebalancing.is_offered(self.handle.number) =>
            {
                Err(Stop::Preempted(Work::Event(event)))
            }
            Event::Transfer(transfer) if self.is_being_paged() => {
                n1_n2_message_transfer::queue(self, *transfer);
                Ok(())
            }
            event => {
                self.defer(Work::Event(event));
                Ok(())
            }
        }
    }

    /// Runs a waiting handover inside the current procedure, whose NAS message the moving UE did
    /// not get. The message is repeated at the target (TS 24.501, 5.4.4.6). A handover to another
    /// AMF ends the procedure.
    async fn run_waiting_handover(&mut self) -> Result<(), Stop> {
        if self.nas_queues.undelivered.is_empty() || self.is_registering() {
            return Ok(());
        }
        let Some(work) = self
            .task
            .deferred
            .iter()
            .position(handover_cancel::is_handover_required)
            .and_then(|at| self.task.deferred.remove(at))
        else {
            return Ok(());
        };
        match work {
            Work::Event(Event::Uplink { message: Uplink::HandoverRequired(required), .. })
                if n2_handover::stays_at_this_amf(self, &required) =>
            {
                n2_handover::interleaved(self, *required).await;
                Ok(())
            }
            work => Err(Stop::Preempted(work)),
        }
    }

    /// A message that a gNB may send at any time. What a procedure of its own handles is queued.
    pub(crate) fn handle_unsolicited_ngap(&mut self, message: Uplink) -> Result<(), Stop> {
        match message {
            Uplink::Nas { nas, location } => {
                self.update_location(location);
                self.queue_nas(nas);
            }
            message @ (Uplink::SessionNotify { .. } | Uplink::SessionModifyIndication(_)) => {
                self.defer(self.later(message));
            }
            Uplink::RadioCapability(capability) => ue_radio_capability_info::run(self, capability),
            Uplink::NotDelivered { cause, nas } => nas_non_delivery::run(self, &cause, nas),
            Uplink::Location(location) => self.update_location(location),
            Uplink::Nrppa { routing, message } => nrppa_transport::uplink(self, &routing, message),
            Uplink::Error(Some(Cause::radioNetwork(
                CauseRadioNetwork::unknown_local_UE_NGAP_ID
                | CauseRadioNetwork::inconsistent_remote_UE_NGAP_ID,
            ))) => return Err(Stop::ConnectionLost),
            Uplink::Error(_) => {}
            other => {
                metrics::ngap_error("state");
                if let Some(suppressed) = martlet_log_limit::line("ngap_state", self.gnb_address())
                {
                    tracing::warn!(
                        supi = self.label(),
                        gnb = self.gnb(),
                        suppressed,
                        "unexpected NGAP message: {}",
                        other.name()
                    );
                }
            }
        }
        Ok(())
    }
}
