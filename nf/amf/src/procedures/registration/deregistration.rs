//! Deregistration by the UE (TS 23.502, 4.2.2.3.2; TS 24.501, 5.5.2.2) and by the network at the
//! request of the UDM (TS 23.502, 4.2.2.3.3; TS 24.501, 5.5.2.3).
//!
//! ```text
//! UE -> AMF          DEREGISTRATION REQUEST (or UDM -> AMF: Nudm_UECM_DeregistrationNotification)
//! AMF -> SMFs, PCF   release of sessions and policy association, concurrently
//! AMF -> UE          DEREGISTRATION ACCEPT, unless switched off
//! AMF -> gNB         UE CONTEXT RELEASE COMMAND
//! ```
use super::implicit_deregistration;
use crate::metrics::{self, Procedure};
use crate::procedures::connection::{paging, ue_context_release};
use crate::ue::{ContextTransfer, Event, NasTimer, Protection, Stop, Ue, Work};
use martlet_nas::inbound::Inbound;
use martlet_nas::{
    AccessTypeValue, Nas5gmmMessage, Nas5gsMessage, NasDeRegistrationType,
    NasDeregistrationAcceptUeOriginating, NasDeregistrationRequestUeTerminated,
};
use martlet_ngap::ngap::{Cause, CauseNas};
use martlet_sbi_api::nsmf_pdusession;
use martlet_sbi_api::nudm_uecm::DeregistrationReason;
use std::sync::Arc;

/// Deregistration by the UE: releases its sessions and policy, and accepts unless the UE is
/// switched off.
pub(crate) async fn by_ue(ue: &mut Ue, inbound: Inbound) {
    let Nas5gsMessage::Gmm(_, Nas5gmmMessage::DeregistrationRequestUeOriginating(request)) =
        &inbound.message
    else {
        return;
    };
    let procedure = Procedure::start("deregistration");
    if ue.is_registered() && !inbound.is_verified() {
        // Not authenticated: another UE may have sent it (TS 24.501, 4.4.4.3).
        metrics::nas_error("unprotected");
        if let Some(suppressed) = martlet_log_limit::line("deregistration", ue.gnb_address()) {
            tracing::warn!(
                supi = ue.label(),
                gnb = ue.gnb(),
                suppressed,
                "unprotected deregistration request discarded"
            );
        }
        return procedure.failed("not_verified");
    }
    let switch_off = request.de_registration_type.switch_off();
    let was_registered = ue.is_registered();
    implicit_deregistration::locally(ue).await;
    // An unknown UE is accepted, too (5.5.2.2.2).
    if !switch_off {
        let _ = ue
            .send_nas(&Nas5gsMessage::new_5gmm(NasDeregistrationAcceptUeOriginating::new()))
            .await;
    }
    if was_registered {
        tracing::info!(supi = ue.label(), gnb = ue.gnb(), switch_off, "deregistered");
    }
    ue_context_release::run(ue, Cause::nas(CauseNas::deregister));
    procedure.succeeded();
}

/// Deregistration by the UDM (TS 23.502, 4.2.2.2.2, step 14d, and 4.2.2.3.3).
pub(crate) async fn by_udm(ue: &mut Ue, reason: DeregistrationReason) {
    tracing::info!(supi = ue.label(), gnb = ue.gnb(), %reason, "deregistration by the UDM");
    // The UDM has already removed this AMF's registration and subscription.
    if let Some(subscription) = &mut ue.registration.subscription {
        Arc::make_mut(subscription).sdm_subscription = None;
    }
    if ue.context_transfer == ContextTransfer::AwaitingStatusUpdate {
        // Another AMF has the context and will report the end of the transfer (TS 23.502,
        // 4.2.2.2.2, step 14d).
        return;
    }
    let notify_ue = matches!(
        reason,
        DeregistrationReason::SubscriptionWithdrawn | DeregistrationReason::ReregistrationRequired
    );
    if notify_ue && paging::before_deregistration(ue).await {
        return ue.task.deferred.push_back(Work::Event(Event::Deregister(reason, None)));
    }
    if notify_ue && ue.is_registered() && ue.connection.is_some() {
        let re_registration = reason == DeregistrationReason::ReregistrationRequired;
        if let Err(stop) = by_network(ue, re_registration).await {
            tracing::info!(
                supi = ue.label(),
                why = stop.label(),
                "UE not notified of its deregistration"
            );
            ue.handle_stop(stop).await;
        }
    }
    implicit_deregistration::locally(ue).await;
    ue.registration.subscription = None;
    ue.security = None;
    ue_context_release::run(ue, Cause::nas(CauseNas::deregister));
}

/// Notifies a UE that the operator deregisters, if it is connected. Returns whether it answered.
pub(crate) async fn by_operator(ue: &mut Ue) -> bool {
    if ue.connection.is_none() {
        return false;
    }
    match by_network(ue, false).await {
        Ok(()) => true,
        Err(stop) => {
            tracing::info!(
                supi = ue.label(),
                why = stop.label(),
                "UE not notified of its deregistration"
            );
            ue.handle_stop(stop).await;
            false
        }
    }
}

/// DEREGISTRATION REQUEST to the UE, and its answer (TS 24.501, 5.5.2.3).
async fn by_network(ue: &mut Ue, re_registration: bool) -> Result<(), Stop> {
    let procedure = Procedure::start("network_deregistration");
    ue.start_deregistration();
    let kind = NasDeRegistrationType::default()
        .with_access_type(AccessTypeValue::ThreeGppAccess)
        .with_re_registration_required(re_registration);
    let request = Nas5gsMessage::new_5gmm(NasDeregistrationRequestUeTerminated::new(kind));
    let timer = NasTimer { name: "T3522", duration: ue.amf.config.timers.t3522() };
    let answer =
        ue.exchange(&request, Protection::AsSecured, timer, |_, inbound| match &inbound.message {
            Nas5gsMessage::Gmm(_, Nas5gmmMessage::DeregistrationAcceptUeTerminated(_)) => Some(()),
            _ => None,
        });
    let outcome = answer.await;
    ue.end_deregistration();
    match outcome {
        Ok(()) => procedure.succeeded(),
        Err(stop) => {
            procedure.failed(&stop.label());
            return Err(stop);
        }
    }
    ue.release_all_sessions(Some(nsmf_pdusession::Cause::RelDueToSubscriptionChange)).await;
    Ok(())
}
