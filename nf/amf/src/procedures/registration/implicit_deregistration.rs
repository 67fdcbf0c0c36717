//! Implicit deregistration (TS 24.501, 5.3.7; TS 23.502, 4.2.2.3.1) and purge (TS 23.502, 4.5.3).
//!
//! ```text
//! mobile reachable timer expires         the UE is no longer paged
//! implicit deregistration timer expires  AMF -> SMFs, PCF: release, concurrently
//! context retention ends                 AMF -> UDM: Nudm_UECM_Update (purge)
//! ```
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

/// Handles the expiry of the CM-IDLE timer.
pub(crate) async fn timer_expired(ue: &mut Ue) {
    match ue.idle {
        Some(Idle::Reachable(_)) => {
            tracing::info!(supi = ue.label(), "mobile reachable timer expired");
            ue.idle = Some(Idle::Unreachable(
                Instant::now() + ue.amf.config.timers.implicit_deregistration(),
            ));
        }
        Some(Idle::Unreachable(_)) => {
            let procedure = Procedure::start("implicit_deregistration");
            tracing::info!(supi = ue.label(), "implicitly deregistered");
            locally(ue).await;
            ue.idle = None;
            procedure.succeeded();
        }
        Some(Idle::Deregistered(_)) => {
            // The task ends and purges the UE at the UDM.
            ue.security = None;
            ue.idle = None;
        }
        None => {}
    }
}

/// Deregisters the UE without signalling to it. SMFs and PCF are asked concurrently: neither needs
/// what the other one answers (TS 23.502, 4.2.2.3.2, steps 2 and 6).
pub(crate) async fn locally(ue: &mut Ue) {
    paging::fail_pending(ue, N1N2MessageTransferCause::UeNotReachableForSession);
    let policy = am_policy_association::deletion(ue);
    tokio::join!(ue.release_all_sessions(None), policy);
    ue.deregister();
}

/// Ends this context: another context serves the subscriber now.
pub(crate) async fn replaced(ue: &mut Ue) {
    tracing::info!(supi = ue.label(), gnb = ue.gnb(), "UE context replaced by a new registration");
    am_policy_association::delete(ue).await;
    remove_registration(ue).await;
    ue_context_release::run(ue, Cause::nas(CauseNas::normal_release));
}

/// Removes the registration data: another AMF or context serves the UE.
pub(crate) async fn remove_registration(ue: &mut Ue) {
    ue.deregister();
    unsubscribe(ue).await;
    ue.registration.subscription = None;
    ue.security = None;
    ue.idle = None;
}

/// Purges the UE at the UDM, unless another context of this AMF serves the subscriber: the
/// registration at the UDM is that one's.
pub(crate) async fn purge(ue: &mut Ue) {
    am_policy_association::delete(ue).await;
    let (Some(supi), true) = (ue.identity.supi.clone(), ue.registration.subscription.is_some())
    else {
        return;
    };
    unsubscribe(ue).await;
    let current = ue.amf.tables.by_supi(&supi);
    if current.is_some_and(|current| current.number != ue.handle.number) {
        return;
    }
    let mut change = Amf3GppAccessRegistrationModification::new(ue.guami().sbi.clone());
    change.purge_flag = Some(true);
    let purged: Result<_, Problem> = async {
        ue.amf.uecm(&supi).await?.update_3gpp_registration(&supi, MergePatch(change)).await
    }
    .await;
    if let Err(problem) = purged {
        tracing::info!(%supi, %problem, "purge failed at the UDM");
    }
}

/// Ends the subscription to data changes.
async fn unsubscribe(ue: &mut Ue) {
    let (Some(supi), Some(subscription)) =
        (ue.identity.supi.clone(), &mut ue.registration.subscription)
    else {
        return;
    };
    let Some(id) = Arc::make_mut(subscription).sdm_subscription.take() else { return };
    let ended: Result<(), Problem> =
        async { ue.amf.sdm(&supi).await?.unsubscribe(&supi, &id).await }.await;
    if let Err(problem) = ended {
        tracing::debug!(%supi, %problem, "SDM subscription not ended");
    }
}
