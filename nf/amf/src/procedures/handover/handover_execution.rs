//! What every N2 handover goes through with its gNBs at this AMF (TS 38.413, 8.4.1 to 8.4.7): the
//! target's answer, the UE's arrival there, what both say besides, and how it ends otherwise.
use crate::metrics;
use crate::n2::Location;
use crate::n2::handover_downlink;
use crate::n2::handover_uplink::HandoverAdmitted;
use crate::n2::uplink::Uplink;
use crate::ue::{Event, HandoverInput, Stop, Ue, Work};
use martlet_ngap::ngap::{Cause, CauseRadioNetwork};
use std::time::Instant;

/// How a handover ends before the UE is at the target.
pub(crate) enum Ended {
    /// The source is told so with HANDOVER PREPARATION FAILURE.
    NotPrepared(Cause),
    /// The source has given it up.
    Cancelled,
    /// The UE did not come to the target, which has been told to forget it.
    NotCome,
    /// Something else came first.
    Stopped(Stop),
}

impl Ended {
    /// A word of a fixed set: for metrics and logs.
    pub fn label(&self) -> &'static str {
        match self {
            Ended::NotPrepared(_) => "not_prepared",
            Ended::Cancelled => "cancelled",
            Ended::NotCome => "no_notification",
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

/// HANDOVER REQUEST ACKNOWLEDGE (step 10).
pub(crate) async fn answer(ue: &mut Ue) -> Result<HandoverAdmitted, Ended> {
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
                // The gNB has forgotten the UE by itself.
                ue.target = None;
                return Err(Ended::NotPrepared(cause));
            }
            HandoverInput::TargetLost => {
                ue.target = None;
                return Err(FAILED_AT_TARGET.into());
            }
            HandoverInput::Nothing => {
                tracing::warn!(
                    supi = ue.label(),
                    gnb = ue.gnb(),
                    "the target of a handover does not answer"
                );
                return Err(FAILED_AT_TARGET.into());
            }
            heard => meanwhile(ue, heard)?,
        }
    }
}

/// HANDOVER NOTIFY of the target: where the UE is now. Before it comes, the source says from where
/// the target is to count (8.4.6 and 8.4.7).
pub(crate) async fn notified(ue: &mut Ue) -> Result<Option<Location>, Ended> {
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
                return Err(Ended::NotCome);
            }
            HandoverInput::Target(Uplink::ReleaseRequest { .. }) | HandoverInput::Nothing => {
                return Err(Ended::NotCome);
            }
            heard => meanwhile(ue, heard)?,
        }
    }
}

/// What both gNBs say besides.
fn meanwhile(ue: &mut Ue, heard: HandoverInput) -> Result<(), Ended> {
    match heard {
        HandoverInput::Source(Uplink::HandoverCancel(_)) => Err(Ended::Cancelled),
        HandoverInput::Source(Uplink::Nas { nas, location }) => {
            ue.moved(location);
            ue.set_aside_nas(nas);
            Ok(())
        }
        HandoverInput::Source(message @ Uplink::ReleaseRequest { .. }) => {
            let amf_id = ue.connection.as_ref().map_or(0, |connection| connection.amf_id);
            Err(Ended::Stopped(Stop::Preempted(Work::Event(Event::Uplink { amf_id, message }))))
        }
        HandoverInput::Source(message) => ue.note(message).map_err(Ended::Stopped),
        HandoverInput::Target(message) => {
            metrics::ngap_error("state");
            tracing::warn!(
                supi = ue.label(),
                "unexpected of the target of a handover: {}",
                message.name()
            );
            Ok(())
        }
        HandoverInput::TargetLost | HandoverInput::Nothing => Ok(()),
    }
}
