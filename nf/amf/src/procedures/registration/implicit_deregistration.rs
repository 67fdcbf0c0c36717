//! Implicit deregistration (TS 24.501, 5.3.7; TS 23.502, 4.2.2.3.1) and purge (TS 23.502, 4.5.3):
//! the AMF lets go of a UE that it cannot reach, or that nobody needs any more.
use super::am_policy_association;
use crate::metrics::Procedure;
use crate::procedures::connection::{paging, ue_context_release};
use crate::ue::{Idle, Ue};
use martlet_ngap::ngap::{Cause, CauseNas};
use martlet_sbi::{MergePatch, Problem};
use martlet_sbi_api::namf_communication::N1N2MessageTransferCause;
use martlet_sbi_api::nudm_uecm::Amf3GppAccessRegistrationModification;
use std::sync::Arc;
use std::time::Instant;

/// The timer of an idle UE has expired.
pub(crate) async fn timer_expired(ue: &mut Ue) {
    match ue.idle {
        Some(Idle::Reachable(_)) => {
            tracing::info!(
                supi = ue.label(),
                "the UE has not been heard of: it is not paged any more"
            );
            ue.idle = Some(Idle::Unreachable(
                Instant::now() + ue.amf.config.timers.implicit_deregistration(),
            ));
        }
        Some(Idle::Unreachable(_)) => {
            let procedure = Procedure::start("implicit_deregistration");
            tracing::info!(supi = ue.label(), "the UE is deregistered: it has not been heard of");
            locally(ue).await;
            ue.idle = None;
            procedure.succeeded();
        }
        Some(Idle::Deregistered(_)) => {
            // Nothing is worth keeping: the task ends, and purges what is left.
            ue.security = None;
            ue.idle = None;
        }
        None => {}
    }
}

/// Deregisters the UE without a word to it.
pub(crate) async fn locally(ue: &mut Ue) {
    paging::fail_pending(ue, N1N2MessageTransferCause::UeNotReachableForSession);
    ue.release_all_sessions(None).await;
    am_policy_association::delete(ue).await;
    ue.set_registered(false);
}

/// Another context serves the subscriber; this one ends, with its connection.
pub(crate) async fn replaced(ue: &mut Ue) {
    tracing::info!(
        supi = ue.label(),
        gnb = ue.gnb(),
        "the UE has registered anew; its old context ends"
    );
    am_policy_association::delete(ue).await;
    forgotten(ue).await;
    ue_context_release::run(ue, Cause::nas(CauseNas::normal_release));
}

/// The UE is served by somebody else, and nothing of it is kept here.
pub(crate) async fn forgotten(ue: &mut Ue) {
    ue.set_registered(false);
    unsubscribe(ue).await;
    ue.subscription = None;
    ue.security = None;
    ue.idle = None;
}

/// Tells the UDM that the AMF has forgotten the UE.
pub(crate) async fn purge(ue: &mut Ue) {
    am_policy_association::delete(ue).await;
    let (Some(supi), true) = (ue.supi.clone(), ue.subscription.is_some()) else { return };
    unsubscribe(ue).await;
    let mut change = Amf3GppAccessRegistrationModification::new(ue.guami().sbi.clone());
    change.purge_flag = Some(true);
    let purged: Result<_, Problem> = async {
        ue.amf.uecm(&supi).await?.update_3gpp_registration(&supi, MergePatch(change)).await
    }
    .await;
    if let Err(problem) = purged {
        tracing::info!(%supi, %problem, "the UDM was not told that the UE was purged");
    }
}

/// Ends the subscription to changes of the subscriber's data.
async fn unsubscribe(ue: &mut Ue) {
    let (Some(supi), Some(subscription)) = (ue.supi.clone(), &mut ue.subscription) else { return };
    let Some(id) = Arc::make_mut(subscription).sdm_subscription.take() else { return };
    let ended: Result<(), Problem> =
        async { ue.amf.sdm(&supi).await?.unsubscribe(&supi, &id).await }.await;
    if let Err(problem) = ended {
        tracing::debug!(%supi, %problem, "the subscription to changes was not ended");
    }
}
