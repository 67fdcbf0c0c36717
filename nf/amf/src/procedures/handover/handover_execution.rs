//! Inputs of an N2 handover that both AMF roles share (TS 38.413, 8.4.1 to 8.4.7): the target's
//! response, HANDOVER NOTIFY, and what ends the handover early.
//!
//! ```text
//! target gNB -> AMF  HANDOVER REQUEST ACKNOWLEDGE
//! source gNB -> AMF  UPLINK RAN STATUS TRANSFER, forwarded to the target
//! target gNB -> AMF  HANDOVER NOTIFY
//! ```
use crate::metrics;
use crate::n2::Location;
use crate::n2::handover_downlink;
use crate::n2::handover_uplink::HandoverAdmitted;
use crate::n2::uplink::Uplink;
use crate::ue::{HandoverInput, ProcedureLayer, Stop, Ue};
use martlet_ngap::ngap::{Cause, CauseRadioNetwork};
use std::time::Instant;

/// How a handover ends before the UE is at the target.
pub(crate) enum Ended {
    /// Preparation failed: the source gets HANDOVER PREPARATION FAILURE.
    NotPrepared(Cause),
    /// The source gNB cancelled it.
    Cancelled,
    /// The UE did not arrive; the target releases its context.
    NotArrived,
    /// Another event takes precedence.
    Stopped(Stop),
}

impl Ended {
    /// The metrics and log label.
    pub fn label(&self) -> &'static str {
        match self {
            Ended::NotPrepared(_) => "not_prepared",
            Ended::Cancelled => "cancelled",
            Ended::NotArrived => "no_notification",
            Ended::Stopped(_) => "stopped",
        }
    }
}

impl From<CauseRadioNetwork> for Ended {
    fn from(cause: CauseRadioNetwork) -> Self {
        Ended::NotPrepared(Cause::radioNetwork(cause))
    }
}

pub(crate) const FAILED_AT_TARGET: CauseRadioNetwork =
    CauseRadioNetwork::ho_failure_in_target_5GC_ngran_node_or_target_system;

/// Waits for HANDOVER REQUEST ACKNOWLEDGE (step 10).
pub(crate) async fn target_response(ue: &mut Ue) -> Result<HandoverAdmitted, Ended> {
    let until = Instant::now() + ue.amf.config.timers.ngap();
    loop {
        match ue.next_handover_input(until).await.map_err(Ended::Stopped)? {
            HandoverInput::Target(Uplink::HandoverAdmitted { ran_id, admitted }) => {
                if let Some(target) = &mut ue.target {
                    target.ran_id = ran_id;
                }
                return Ok(*admitted);
            }
            HandoverInput::Target(Uplink::HandoverFailed(cause)) => {
                // The gNB has released the UE itself.
                ue.target = None;
                return Err(Ended::NotPrepared(cause));
            }
            HandoverInput::TargetLost => {
                ue.target = None;
                return Err(FAILED_AT_TARGET.into());
            }
            HandoverInput::Nothing => {
                if let Some(suppressed) =
                    martlet_log_limit::line("handover_request", ue.gnb_address())
                {
                    tracing::warn!(
                        supi = ue.label(),
                        gnb = ue.gnb(),
                        suppressed,
                        "handover request: no response from the target gNB"
                    );
                }
                return Err(FAILED_AT_TARGET.into());
            }
            input => handle_other(ue, input)?,
        }
    }
}

/// Waits for HANDOVER NOTIFY and returns the new location. Meanwhile, forwards the RAN status from
/// the source to the target (8.4.6 and 8.4.7).
pub(crate) async fn handover_notify(ue: &mut Ue) -> Result<Option<Location>, Ended> {
    let until = Instant::now() + ue.amf.config.timers.handover();
    loop {
        match ue.next_handover_input(until).await.map_err(Ended::Stopped)? {
            HandoverInput::Target(Uplink::HandoverNotified(location)) => return Ok(location),
            HandoverInput::Source(Uplink::StatusTransfer(status)) => {
                if let Some(target) = &ue.target {
                    target.send(handover_downlink::ran_status_transfer(target, status)).await;
                }
            }
            HandoverInput::TargetLost => {
                ue.target = None;
                return Err(Ended::NotArrived);
            }
            HandoverInput::Target(Uplink::ReleaseRequest { .. }) | HandoverInput::Nothing => {
                return Err(Ended::NotArrived);
            }
            input => handle_other(ue, input)?,
        }
    }
}

/// Other input from both gNBs.
fn handle_other(ue: &mut Ue, input: HandoverInput) -> Result<(), Ended> {
    match input {
        HandoverInput::Source(Uplink::HandoverCancel(_)) => Err(Ended::Cancelled),
        HandoverInput::Source(message @ Uplink::ReleaseRequest { .. }) => {
            Err(Ended::Stopped(Stop::Preempted(ue.later(message))))
        }
        HandoverInput::Source(message) => {
            ue.handle_unsolicited_ngap(message).map_err(Ended::Stopped)
        }
        HandoverInput::Target(message) => {
            metrics::ngap_error("state");
            if let Some(suppressed) = martlet_log_limit::line("target_state", ue.gnb_address()) {
                tracing::warn!(
                    supi = ue.label(),
                    suppressed,
                    "unexpected NGAP message from the target gNB: {}",
                    message.name()
                );
            }
            Ok(())
        }
        HandoverInput::TargetLost | HandoverInput::Nothing => Ok(()),
    }
}
