//! N2 handover (TS 23.502, 4.9.1.3; TS 38.413, 8.4.1 to 8.4.7) to a gNB of this AMF. A target of
//! another AMF is passed to [`inter_amf_source`].
//!
//! ```text
//! source gNB -> AMF  HANDOVER REQUIRED
//! AMF <-> target gNB HANDOVER REQUEST, ACKNOWLEDGE               see handover_preparation
//! AMF -> source gNB  HANDOVER COMMAND or HANDOVER PREPARATION FAILURE
//! target gNB -> AMF  HANDOVER NOTIFY                             see handover_execution
//! AMF -> SMFs        Nsmf_PDUSession_UpdateSMContext (COMPLETED)
//! AMF -> source gNB  UE CONTEXT RELEASE COMMAND
//! ```
use super::handover_execution::{self, Ended, FAILED_AT_TARGET};
use super::handover_preparation::{self, Parameters, Prepared};
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
use std::sync::Arc;

/// The target of a handover.
enum Target {
    /// A gNB of this AMF.
    Here(Arc<Gnb>, Tai),
    /// A gNB that this AMF does not know.
    OtherAmf(GlobalRANNodeID, Tai),
}

/// Runs the handover that the source gNB requires, also inside another procedure that waits for the
/// UE.
///
/// # Errors
///
/// The `Stop` that ended the handover; it ends the other procedure, too.
pub(crate) async fn run(ue: &mut Ue, required: HandoverRequired) -> Result<(), Stop> {
    let procedure = Procedure::start("handover");
    let source = ue.gnb();
    let outcome = handover(ue, &required).await;
    ue.end_handover();
    let ended = match outcome {
        Ok(sessions) => {
            procedure.succeeded();
            tracing::info!(
                supi = ue.label(),
                from = source,
                gnb = ue.gnb(),
                sessions,
                "handover completed"
            );
            return Ok(());
        }
        Err(ended) => ended,
    };
    // Release the prepared target and the prepared sessions.
    let left = match &ended {
        Ended::NotPrepared(_) | Ended::NotArrived => FAILED_AT_TARGET,
        Ended::Cancelled | Ended::Stopped(_) => CauseRadioNetwork::handover_cancelled,
    };
    if let Some(target) = ue.target.take() {
        ue_context_release::run_on(ue, *target, Cause::radioNetwork(left));
    }
    sessions::cancel(ue).await;
    match ended {
        Ended::NotPrepared(why) => {
            let cause = cause::text(&why);
            procedure.failed("not_prepared");
            if let Some(suppressed) =
                martlet_log_limit::line("handover_preparation", ue.gnb_address())
            {
                tracing::warn!(
                    supi = ue.label(),
                    gnb = ue.gnb(),
                    cause,
                    suppressed,
                    "handover preparation failed"
                );
            }
            if let Some(connection) = &ue.connection {
                connection
                    .send(handover_downlink::handover_preparation_failure(connection, why))
                    .await;
            }
        }
        Ended::Cancelled => {
            procedure.failed("cancelled");
            if let Some(suppressed) = martlet_log_limit::line("handover_cancel", ue.gnb_address()) {
                tracing::info!(
                    supi = ue.label(),
                    gnb = ue.gnb(),
                    suppressed,
                    "handover cancelled by the gNB"
                );
            }
            handover_cancel::acknowledge(ue).await;
        }
        Ended::NotArrived => {
            procedure.failed("no_notification");
            if let Some(suppressed) = martlet_log_limit::line("handover_notify", ue.gnb_address()) {
                tracing::warn!(
                    supi = ue.label(),
                    gnb = ue.gnb(),
                    suppressed,
                    "handover failed: no HANDOVER NOTIFY"
                );
            }
        }
        Ended::Stopped(stop) => {
            procedure.failed(&stop.label());
            return Err(stop);
        }
    }
    // The UE stays at the source and gets the undelivered messages there (TS 23.502, 4.9.1.3.1).
    nas_non_delivery::send_again(ue).await;
    Ok(())
}

/// Whether this AMF serves the UE after the handover.
pub(crate) fn stays_at_this_amf(ue: &Ue, required: &HandoverRequired) -> bool {
    !matches!(target(ue, required), Ok(Target::OtherAmf(..)))
}

/// Preparation (4.9.1.3.2) and execution (4.9.1.3.3). Returns the number of sessions at the target.
async fn handover(ue: &mut Ue, required: &HandoverRequired) -> Result<usize, Ended> {
    let (gnb, tai) = match target(ue, required)? {
        Target::Here(gnb, tai) => (gnb, tai),
        Target::OtherAmf(node, tai) => {
            return inter_amf_source::run(ue, required, &node, tai).await;
        }
    };
    let parameters =
        Parameters { ambr: ue.ambr(), rfsp: ue.rfsp(), reporting: event_exposure::of_handover(ue) };
    let keys = |ue: &mut Ue| {
        let chain = ue.connection.as_mut()?.next_hop.as_mut()?;
        let nh = chain.advance();
        Some(Keys::with_current_k_amf(chain.clone(), nh))
    };
    let prepared = handover_preparation::run(ue, required, (gnb, tai), parameters, keys).await?;
    command(ue, &prepared).await?;
    ue.start_execution();
    let location = handover_execution::handover_notify(ue).await?;
    // The UE is at the target: steps 5 to 12 of 4.9.1.3.3.
    let Some(mut target) = ue.target.take() else { return Err(Ended::NotArrived) };
    if let Some(location) = location {
        target.set_location(location);
    }
    target.context_is_set_up = true;
    let source = ue.switch_connection(*target);
    ue.publish();
    let done = prepared.sessions();
    sessions::complete(ue, &done).await;
    // Forwarding ends with the end marker that the path switch has caused.
    if let Some(source) = source {
        ue_context_release::run_on(
            ue,
            source,
            Cause::radioNetwork(CauseRadioNetwork::successful_handover),
        );
    }
    nas_non_delivery::send_again(ue).await;
    Ok(done.len())
}

/// The target gNB and tracking area.
fn target(ue: &Ue, required: &HandoverRequired) -> Result<Target, Ended> {
    let ready = ue.connection.as_ref().is_some_and(|c| c.context_is_set_up && c.next_hop.is_some());
    if !ready || !ue.is_registered() {
        return Err(CauseRadioNetwork::ho_target_not_allowed.into());
    }
    let Some((node, tai)) = required.target.as_ref().filter(|_| required.within_5gs) else {
        return Err(CauseRadioNetwork::ho_target_not_allowed.into());
    };
    let barred = subscription_retrieval::is_forbidden(ue, *tai);
    let (id, global) = ng_setup::identity(node);
    let Some(gnb) = ue.amf.gnbs.of_node(&id, &global) else {
        return match barred {
            true => Err(CauseRadioNetwork::ho_target_not_allowed.into()),
            false => Ok(Target::OtherAmf(node.clone(), *tai)),
        };
    };
    let Some(gnb) =
        Some(gnb).filter(|gnb| ue.connection.as_ref().is_none_or(|c| c.gnb.number != gnb.number))
    else {
        return Err(CauseRadioNetwork::unknown_targetID.into());
    };
    // A UE is not handed over to where it could not register.
    if !gnb.covers(&[*tai]) {
        return Err(CauseRadioNetwork::unknown_targetID.into());
    }
    if barred || !ue.amf.served.tais.contains(tai) || ue.amf.served.plmn(tai.plmn).is_none() {
        return Err(CauseRadioNetwork::ho_target_not_allowed.into());
    }
    Ok(Target::Here(gnb, *tai))
}

/// Sends HANDOVER COMMAND to the source.
async fn command(ue: &mut Ue, prepared: &Prepared) -> Result<(), Ended> {
    let Some(connection) = &ue.connection else { return Err(Ended::Stopped(Stop::ConnectionLost)) };
    let Prepared { done, failed, container } = prepared;
    let command = handover_downlink::handover_command(connection, done, failed, container);
    match connection.send(command).await {
        true => Ok(()),
        false => Err(Ended::Stopped(Stop::ConnectionLost)),
    }
}
