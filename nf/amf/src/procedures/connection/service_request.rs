//! Service request (TS 23.502, 4.2.3.2; TS 24.501, 5.6.1).
//!
//! ```text
//! UE -> AMF    SERVICE REQUEST
//! AMF -> SMFs  Nsmf_PDUSession_UpdateSMContext (ACTIVATING)
//! AMF -> gNB   INITIAL CONTEXT SETUP REQUEST (SERVICE ACCEPT, sessions)
//! ```
use super::{initial_context_setup, n1_n2_message_transfer, ue_context_release};
use crate::concurrency::Kind;
use crate::metrics::{self, Procedure};
use crate::n2::downlink::SessionToSetUp;
use crate::procedures::registration::back_off::t3346;
use crate::procedures::registration::deregistration;
use crate::procedures::registration::{
    configuration_update, implicit_deregistration, mobility_restrictions,
};
use crate::procedures::session::pdu_session_resource_release;
use crate::procedures::session::user_plane_activation::{self, Activation};
use crate::ue::{Reject, Stop, Ue, count};
use martlet_nas::inbound::Inbound;
use martlet_nas::{
    GmmCause, Nas5gmmMessage, Nas5gsMessage, NasCount, NasFGmmCause,
    NasPduSessionReactivationResult, NasPduSessionReactivationResultErrorCause,
    NasPduSessionStatus, NasServiceAccept, NasServiceReject, NasServiceRequest, ServiceType,
};
use martlet_ngap::ngap::{Cause, CauseNas};

/// Accepts or rejects the service request.
pub(crate) async fn run(ue: &mut Ue, inbound: Inbound) {
    let Nas5gsMessage::Gmm(_, Nas5gmmMessage::ServiceRequest(request)) = &inbound.message else {
        return;
    };
    let procedure = Procedure::start("service_request");
    let outcome = match count(&inbound) {
        Some(access) => service_request(ue, request, access).await,
        None => {
            // The AMF has no security context that verifies the request (5.6.1.5).
            metrics::nas_error("unprotected");
            Err(Stop::reject(GmmCause::UeIdentityCannotBeDerivedByTheNetwork))
        }
    };
    ue.release_slot();
    match outcome {
        Ok(()) => {
            procedure.succeeded();
            tracing::debug!(supi = ue.label(), gnb = ue.gnb(), "service accepted");
        }
        Err(stop) => {
            let why = stop.label();
            procedure.failed(&why);
            if let Some(suppressed) =
                martlet_log_limit::line("service_request", (ue.gnb_address(), &why))
            {
                tracing::warn!(
                    supi = ue.label(),
                    gnb = ue.gnb(),
                    why,
                    suppressed,
                    "service request failed"
                );
            }
            failed(ue, stop).await;
        }
    }
}

async fn service_request(
    ue: &mut Ue,
    request: &NasServiceRequest,
    access: NasCount,
) -> Result<(), Stop> {
    if !ue.is_registered() {
        return Err(Stop::reject(GmmCause::ImplicitlyDeregistered));
    }
    let paged = !ue.pending.is_empty()
        || request.service_type.service_type() == Some(ServiceType::MobileTerminatedServices);
    if mobility_restrictions::is_restricted(ue) && !paged && !has_priority(request) {
        // The UE stays registered (5.6.1.5).
        return Err(Stop::reject(GmmCause::RestrictedServiceArea));
    }
    ue.acquire_slot(Kind::ServiceRequest).await?;
    if let Some(status) = &request.pdu_session_status {
        let at_gnb = ue.release_mismatched(|psi| status.is_active(psi)).await;
        pdu_session_resource_release::at_gnb_only(ue, &at_gnb).await?;
    }
    let (paged, rest) = n1_n2_message_transfer::take_pending(ue);
    let connected = set_up(ue, request, access, paged).await;
    n1_n2_message_transfer::deliver_pending(ue, connected, rest).await?;
    // Frees the slot before the UE confirms its new 5G-GUTI.
    ue.release_slot();
    // A 5G-GUTI of another AMF is replaced (TS 23.501, 5.21.2.2.2), and one that was in a PAGING,
    // also if no transfer waits for the UE (TS 24.501, 5.4.4.1).
    let of_another = ue.identity.guti.is_some_and(|guti| !ue.amf.served.allocated(&guti));
    if ue.identity.was_paged || of_another {
        configuration_update::new_guti(ue).await?;
    }
    configuration_update::of_subscription(ue).await
}

/// Sets up the paged sessions, and those that the UE requests, with SERVICE ACCEPT.
async fn set_up(
    ue: &mut Ue,
    request: &NasServiceRequest,
    access: NasCount,
    paged: Vec<SessionToSetUp>,
) -> Result<(), Stop> {
    let wanted = request.uplink_data_status.as_ref().map(|status| status.sessions_with_data());
    let of_ue: Vec<u8> = wanted.iter().flatten().copied().collect();
    let without_paged: Vec<u8> = of_ue
        .iter()
        .copied()
        .filter(|psi| paged.iter().all(|session| session.psi != *psi))
        .collect();
    let mut activation = match without_paged.is_empty() {
        true => Activation::default(),
        false => user_plane_activation::request(ue, &without_paged).await,
    };
    activation.sessions.extend(paged);
    let accept = accept(ue, request, wanted.is_some(), &activation).map_err(|error| {
        tracing::error!(supi = ue.label(), %error, "SERVICE ACCEPT not encodable");
        Stop::Abandoned("not_encodable")
    })?;
    let accept = Nas5gsMessage::new_5gmm(accept);
    initial_context_setup::run(ue, access, activation.sessions, &accept).await
}

/// Requests that are served in non-allowed areas (TS 24.501, 5.3.5.2).
fn has_priority(request: &NasServiceRequest) -> bool {
    use ServiceType::*;
    let kind = request.service_type.service_type();
    matches!(
        kind,
        Some(
            EmergencyServices | EmergencyServicesFallback | HighPriorityAccess | ElevatedSignalling
        )
    )
}

/// SERVICE ACCEPT (TS 24.501, 8.2.17).
fn accept(
    ue: &Ue,
    request: &NasServiceRequest,
    reactivation: bool,
    Activation { failed, has_ended, .. }: &Activation,
) -> Result<NasServiceAccept, martlet_nas::ValueError> {
    let mut accept = NasServiceAccept::new();
    if request.pdu_session_status.is_some() || *has_ended {
        let sessions: Vec<u8> = ue.sessions.keys().copied().collect();
        accept.set_pdu_session_status(NasPduSessionStatus::from_sessions(&sessions)?);
    }
    if reactivation {
        let sessions: Vec<u8> = failed.iter().map(|(psi, _)| *psi).collect();
        accept.set_pdu_session_reactivation_result(
            NasPduSessionReactivationResult::from_failed_sessions(&sessions)?,
        );
        if !failed.is_empty() {
            let causes = NasPduSessionReactivationResultErrorCause::from_entries(failed)?;
            accept.set_pdu_session_reactivation_result_error_cause(causes);
        }
    }
    Ok(accept)
}

async fn failed(ue: &mut Ue, stop: Stop) {
    match stop {
        Stop::Reject(reject) => {
            let _ = ue.send_nas(&reject_message(&reject)).await;
            let stays =
                matches!(reject.cause, GmmCause::Congestion | GmmCause::RestrictedServiceArea);
            if ue.is_registered() && !stays {
                implicit_deregistration::locally(ue).await;
            }
            // A connected UE has sessions that it keeps.
            ue.deactivate_all(None).await;
            ue_context_release::run(ue, Cause::nas(CauseNas::unspecified));
        }
        Stop::NoAnswer(_) | Stop::Abandoned(_) | Stop::NotAuthentic(_) => {
            // A queued deregistration request is handled whatever the result (5.6.1.8).
            if let Some(inbound) = ue.take_deregistration_request().await {
                return deregistration::by_ue(ue, inbound).await;
            }
            ue.deactivate_all(None).await;
            ue_context_release::run(ue, Cause::nas(CauseNas::unspecified));
        }
        stop => ue.handle_stop(stop).await,
    }
}

/// SERVICE REJECT (TS 24.501, 8.2.18).
fn reject_message(reject: &Reject) -> Nas5gsMessage {
    let mut message = NasServiceReject::new(NasFGmmCause::from_cause(reject.cause));
    if let Some(timer) = t3346(reject.back_off) {
        message.set_t3346_value(timer);
    }
    Nas5gsMessage::new_5gmm(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_reject_has_the_back_off_time_that_is_configured() {
        for (seconds, octet) in [(30, 0x0f_u8), (31, 0x10), (300, 0x25)] {
            let reject = Reject { back_off: Some(seconds), ..GmmCause::Congestion.into() };
            let encoded = reject_message(&reject).encode().unwrap();
            assert_eq!(encoded, [0x7e, 0, 0x4d, 22, 0x5f, 1, octet], "{seconds}");
        }
    }
}
