//! Change of the subscription (TS 23.502, 4.5.1): the AMF reads the data again and updates the UE.
//! It does not register at the UDM again: another AMF may be registered there in the meantime.
//!
//! ```text
//! UDM -> AMF  Nudm_SDM_Notification
//! AMF -> UDM  Nudm_SDM_Get
//! AMF -> UE   CONFIGURATION UPDATE COMMAND, if the UE is connected; at its next request otherwise
//! ```
use super::{configuration_update, deregistration, subscription_retrieval};
use crate::ue::{Stop, Ue};
use martlet_nas::GmmCause;
use martlet_sbi_api::nudm_uecm::DeregistrationReason;

/// Reads the subscription again and sends what has changed to the UE. Does nothing if the AMF has
/// no subscription any more: another AMF serves the UE.
pub(crate) async fn run(ue: &mut Ue) {
    if ue.registration.subscription.is_none() {
        return;
    }
    tracing::info!(supi = ue.label(), gnb = ue.gnb(), "subscription changed");
    let slices_and_areas = |ue: &Ue| {
        let access = ue.registration.subscription.as_ref().map(|subscription| &subscription.access);
        let nssai = access.and_then(|access| access.nssai.clone());
        (nssai, access.and_then(|access| access.service_area_restriction.clone()))
    };
    let before = slices_and_areas(ue);
    let known = ue.registration.subscription.clone();
    let outcome = subscription_retrieval::retrieve(ue, None).await;
    if let Err(Stop::Reject(reject)) = &outcome
        && reject.cause == GmmCause::IllegalUe
    {
        let reason = DeregistrationReason::SubscriptionWithdrawn;
        return deregistration::by_udm(ue, reason).await;
    }
    if let Err(stop) = outcome {
        tracing::warn!(supi = ue.label(), why = stop.label(), "changed subscription not read");
        ue.registration.subscription = known;
        return;
    }
    let now = slices_and_areas(ue);
    ue.registration.due.slices |= before.0 != now.0;
    ue.registration.due.areas |= before.1 != now.1;
    let reachable = ue.is_exchange_secure()
        && ue.connection.as_ref().is_some_and(|connection| connection.context_is_set_up);
    if reachable && let Err(stop) = configuration_update::of_subscription(ue).await {
        ue.handle_stop(stop).await;
    }
}
