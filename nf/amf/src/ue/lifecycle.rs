//! Events that any procedure may cause: an early end, a lost connection, CM-IDLE with its timer.
use super::{CmState, Idle, Stop, Ue};
use martlet_ngap::ngap::{Cause, CauseRadioNetwork};
use std::time::Instant;

impl Ue {
    /// Handles the early end of a procedure.
    pub async fn handle_stop(&mut self, stop: Stop) {
        match stop {
            Stop::ConnectionLost => self.connection_lost().await,
            Stop::Preempted(work) => self.task.deferred.push_front(work),
            _ => {}
        }
    }

    /// The connection, or its gNB, is lost: a registered UE enters CM-IDLE, any other is released.
    pub async fn connection_lost(&mut self) {
        let Some(connection) = self.enter_cm_idle() else { return };
        let (supi, gnb) = (self.label(), connection.gnb.label());
        let address = connection.gnb.address.ip();
        if let Some(suppressed) = martlet_log_limit::line("ue_connection_lost", address) {
            tracing::info!(
                supi,
                gnb,
                registered = self.is_registered(),
                suppressed,
                "UE connection lost"
            );
        }
        drop(connection);
        self.nas_queues.received.clear();
        self.publish();
        let radio_lost = Cause::radioNetwork(CauseRadioNetwork::radio_connection_with_ue_lost);
        self.deactivate_all(crate::served::cause_to_sbi(&radio_lost)).await;
    }

    /// Starts the timer of a UE in CM-IDLE.
    pub fn start_idle_timer(&mut self) {
        let timers = &self.amf.config.timers;
        self.idle = match self.idle {
            _ if self.cm_state() == CmState::Connected => None,
            // After a handover from another AMF, without a registration at the UDM. The UE may have
            // registered at another AMF since, of which the UDM does not notify this one.
            None if self.is_registered() && self.registration.subscription.is_none() => {
                Some(Idle::Unreachable(Instant::now()))
            }
            None if self.is_registered() && self.registration.t3512 == 0 => None,
            None if self.is_registered() => Some(Idle::Reachable(
                Instant::now() + timers.mobile_reachable(self.registration.t3512),
            )),
            Some(Idle::Reachable(_) | Idle::Unreachable(_)) | None if !self.is_registered() => {
                let has_reusable_context = self.security.is_some()
                    && self.identity.guti.is_some()
                    && timers.deregistered_s > 0;
                has_reusable_context
                    .then(|| Idle::Deregistered(Instant::now() + timers.deregistered()))
            }
            idle => idle,
        };
    }
}
