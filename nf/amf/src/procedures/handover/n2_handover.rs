//! N2 handover between two gNBs, of this AMF or of two (TS 23.502, 4.9.1.3; TS 38.413, 8.4.1 to
//! 8.4.7): prepared at the target, carried out by the UE, or given up.
use super::handover_execution::{self, Ended, FAILED_AT_TARGET};
use super::handover_preparation::{self, Prepared, Terms};
use super::kamf_change::Keys;
use super::{handover_cancel, inter_amf_source, session_handover as sessions};
use crate::metrics::Procedure;
use crate::n2::Gnb;
use crate::n2::handover_downlink;
use crate::n2::handover_uplink::HandoverRequired;
use crate::procedures::connection::{nas_non_delivery, ue_context_release};
use crate::procedures::n2::ng_setup;
use crate::procedures::positioning::event_exposure;
use crate::procedures::registration::subscription_retrieval;
use crate::served::Tai;
use crate::ue::{Stop, Ue};
use martlet_ngap::cause;
use martlet_ngap::ngap::{Cause, CauseRadioNetwork, GlobalRANNodeID};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// Where a UE is to go.
enum Target {
    /// To a gNB of this AMF.
    Here(Arc<Gnb>, Tai),
    /// To one that this AMF does not know.
    Elsewhere(GlobalRANNodeID, Tai),
}

/// Hands the UE over as its gNB requires it.
pub(crate) async fn run(ue: &mut Ue, required: HandoverRequired) {
    let procedure = Procedure::start("handover");
    let source = ue.gnb();
    let outcome = handover(ue, &required).await;
    let ended = match outcome {
        Ok(sessions) => {
            procedure.succeeded();
            tracing::info!(
                supi = ue.label(),
                from = source,
                gnb = ue.gnb(),
                sessions,
                "the UE is handed over"
            );
            return;
        }
        Err(ended) => ended,
    };
    // A target that has been asked forgets the UE, and the SMFs what they have prepared.
    let left = match &ended {
        Ended::NotPrepared(_) | Ended::NotCome => FAILED_AT_TARGET,
        Ended::Cancelled | Ended::Stopped(_) => CauseRadioNetwork::handover_cancelled,
    };
    if let Some(target) = ue.target.take() {
        ue_context_release::alone(ue, target, Cause::radioNetwork(left));
    }
    sessions::cancel(ue).await;
    match ended {
        Ended::NotPrepared(why) => {
            let cause = cause::text(&why);
            procedure.failed("not_prepared");
            tracing::warn!(supi = ue.label(), gnb = ue.gnb(), cause, "a handover is not prepared");
            if let Some(connection) = &ue.connection {
                connection
                    .send(handover_downlink::handover_preparation_failure(connection, why))
                    .await;
            }
        }
        Ended::Cancelled => {
            procedure.failed("cancelled");
            tracing::info!(supi = ue.label(), gnb = ue.gnb(), "the gNB cancels a handover");
            handover_cancel::acknowledge(ue).await;
        }
        Ended::NotCome => {
            procedure.failed("no_notification");
            tracing::warn!(
                supi = ue.label(),
                gnb = ue.gnb(),
                "the UE did not come to the target of its handover"
            );
        }
        Ended::Stopped(stop) => {
            procedure.failed(&stop.label());
            return ue.conclude(stop).await;
        }
    }
    // It stays where it is, and gets there what waited for its handover (TS 23.502, 4.9.1.3.1).
    nas_non_delivery::send_again(ue).await;
}

/// The same while another procedure waits for the UE.
pub(crate) fn interleaved(
    ue: &mut Ue,
    required: HandoverRequired,
) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
    Box::pin(run(ue, required))
}

/// Whether this AMF goes on with the UE, whatever becomes of the handover.
pub(crate) fn stays_here(ue: &Ue, required: &HandoverRequired) -> bool {
    !matches!(target(ue, required), Ok(Target::Elsewhere(..)))
}

/// Preparation (4.9.1.3.2) and execution (4.9.1.3.3). The number of sessions at the target.
async fn handover(ue: &mut Ue, required: &HandoverRequired) -> Result<usize, Ended> {
    let (gnb, tai) = match target(ue, required)? {
        Target::Here(gnb, tai) => (gnb, tai),
        Target::Elsewhere(node, tai) => {
            return inter_amf_source::run(ue, required, &node, tai).await;
        }
    };
    let terms =
        Terms { ambr: ue.ambr(), rfsp: ue.rfsp(), reporting: event_exposure::of_handover(ue) };
    let keys = |ue: &mut Ue| {
        let chain = ue.connection.as_mut()?.next_hop.as_mut()?;
        let nh = chain.advance();
        Some(Keys::going_on(chain.clone(), nh))
    };
    let prepared = handover_preparation::run(ue, required, (gnb, tai), terms, keys).await?;
    command(ue, &prepared).await?;
    let location = handover_execution::notified(ue).await?;
    // The UE is at the target: steps 5 to 12 of 4.9.1.3.3.
    let Some(mut target) = ue.target.take() else { return Err(Ended::NotCome) };
    if let Some(location) = location {
        target.location = location;
    }
    target.context_is_set_up = true;
    let source = ue.connection.replace(target);
    ue.publish();
    let done = prepared.sessions();
    sessions::complete(ue, &done).await;
    // What it forwards ends with the marker that the switch has brought it.
    if let Some(source) = source {
        ue_context_release::alone(
            ue,
            source,
            Cause::radioNetwork(CauseRadioNetwork::successful_handover),
        );
    }
    nas_non_delivery::send_again(ue).await;
    Ok(done.len())
}

/// The gNB where the UE is to go, and the tracking area there.
fn target(ue: &Ue, required: &HandoverRequired) -> Result<Target, Ended> {
    let ready = ue.connection.as_ref().is_some_and(|c| c.context_is_set_up && c.next_hop.is_some());
    if !ready || !ue.registered {
        return Err(CauseRadioNetwork::ho_target_not_allowed.into());
    }
    let Some((node, tai)) = required.target.as_ref().filter(|_| required.within_5gs) else {
        return Err(CauseRadioNetwork::ho_target_not_allowed.into());
    };
    let barred = subscription_retrieval::is_forbidden(ue, *tai);
    let Some(gnb) = ue.amf.gnbs.of(&ng_setup::identity(node).0) else {
        return match barred {
            true => Err(CauseRadioNetwork::ho_target_not_allowed.into()),
            false => Ok(Target::Elsewhere(node.clone(), *tai)),
        };
    };
    let Some(gnb) =
        Some(gnb).filter(|gnb| ue.connection.as_ref().is_none_or(|c| c.gnb.number != gnb.number))
    else {
        return Err(CauseRadioNetwork::unknown_targetID.into());
    };
    // Where the UE may not register, it is not brought to.
    if !gnb.covers(&[*tai]) {
        return Err(CauseRadioNetwork::unknown_targetID.into());
    }
    if barred || !ue.amf.served.tais.contains(tai) || ue.amf.served.plmn(tai.plmn).is_none() {
        return Err(CauseRadioNetwork::ho_target_not_allowed.into());
    }
    Ok(Target::Here(gnb, *tai))
}

/// HANDOVER COMMAND to the source.
async fn command(ue: &mut Ue, prepared: &Prepared) -> Result<(), Ended> {
    let Some(connection) = &ue.connection else { return Err(Ended::Stopped(Stop::ConnectionLost)) };
    let Prepared { done, failed, container } = prepared;
    let command = handover_downlink::handover_command(connection, done, failed, container);
    match connection.send(command).await {
        true => Ok(()),
        false => Err(Ended::Stopped(Stop::ConnectionLost)),
    }
}
