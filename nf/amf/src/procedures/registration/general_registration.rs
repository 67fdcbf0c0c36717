//! Registration (TS 23.502, 4.2.2.2.2; TS 24.501, 5.5.1): initial, by mobility, and periodic.
use super::back_off::back_off;
use super::{
    am_policy_association, amf_reallocation, authentication, configuration_update, identification,
    implicit_deregistration, registration_accept, security_mode_control, slice_selection,
    subscription_retrieval, ue_context_transfer,
};
use crate::concurrency::Kind;
use crate::metrics::Procedure;
use crate::procedures::connection::ue_context_release;
use crate::procedures::session::pdu_session_resource_release;
use crate::ue::{Reallocation, Reject, Stop, Ue, count};
use martlet_nas::inbound::{Assurance, Inbound};
use martlet_nas::{
    GmmCause, KAmf, KeySetIdentifier, Nas5gmmMessage, Nas5gsMessage, NasAuthenticationReject,
    NasEapMessage, NasFGmmCause, NasGprsTimer2, NasRegistrationReject, NasRegistrationRequest,
    RegistrationType, identifiers,
};
use martlet_ngap::ngap::{Cause, CauseNas};
use martlet_sbi_api::nsmf_pdusession;

/// Registers the UE, or tells it why not.
pub(crate) async fn run(ue: &mut Ue, inbound: Inbound) {
    let procedure = Procedure::start("registration");
    ue.request = Some(inbound.message.clone());
    ue.publish();
    let outcome = registration(ue, inbound).await;
    ue.done();
    ue.request = None;
    ue.publish();
    match outcome {
        Ok(()) => {
            procedure.succeeded();
            tracing::info!(supi = ue.label(), gnb = ue.gnb(), "registered");
        }
        Err(Stop::Abandoned("rerouted")) => procedure.failed("rerouted"),
        Err(stop) => {
            let why = stop.label();
            procedure.failed(&why);
            tracing::warn!(supi = ue.label(), gnb = ue.gnb(), why, "the registration has failed");
            failed(ue, stop).await;
        }
    }
}

async fn registration(ue: &mut Ue, inbound: Inbound) -> Result<(), Stop> {
    // A registration needs room: of procedures at work, and of contexts once it is known who the UE
    // is.
    ue.enter(Kind::Registration).await?;
    let mut request = read(&inbound)?;
    check_area(ue)?;
    if let Some(capability) = &request.ue_security_capability {
        ue.capability = Some(capability.clone());
    }
    let kind = request.fgs_registration_type.registration_type();
    let initial = !matches!(
        kind,
        Some(
            RegistrationType::MobilityRegistrationUpdating
                | RegistrationType::PeriodicRegistrationUpdating
        )
    );
    let mut inherited = Vec::new();

    // Another AMF may know the UE (steps 4 and 5).
    let mut inbound = inbound;
    // A request without protection proves nothing to it.
    let mut taken = match ue.is_new() && inbound.assurance != Assurance::Plain {
        true => ue_context_transfer::fetch(ue, &request, initial).await,
        false => None,
    };
    let mut wanted = true;
    if let Some(verified) = taken.as_mut().and_then(|taken| taken.inbound.take()) {
        ue.secured = true;
        request = read(&verified)?;
        inbound = verified;
        // Algorithms are this AMF's choice: others need other keys (TS 33.501, 6.7.1.2).
        wanted = security_mode_control::has_the_best(ue);
    }

    // Who the UE is: proved by its security context, or by an authentication (steps 4 to 9).
    let mut access = count(&inbound).filter(|_| {
        ue.reallocation == Reallocation::ReceivedFromAmf
            || wanted && is_proved(ue, &request, initial)
    });
    let derived = taken.as_mut().and_then(|taken| taken.derived.take());
    let derived = derived.filter(|_| !(initial && ue.amf.config.security.always_authenticate));
    let proved = access.is_some() || derived.is_some();
    if access.is_none() {
        let complete = prove(ue, &request, derived, &inbound).await;
        if let (Err(_), Some(taken)) = (&complete, &taken) {
            taken.give_up(ue).await;
        }
        let complete = complete?;
        access = Some(complete.count);
        if let Some(whole) = complete.request {
            request = whole;
        }
    }
    if let Err(stop) = room(ue) {
        if let Some(taken) = &taken {
            taken.give_up(ue).await;
        }
        return Err(stop);
    }
    if !proved || taken.is_some() {
        inherited = ue.replace_previous_context().await;
    }
    // Another AMF gets the keys for a request that the keys of here prove, and no others.
    let by_gnb = proved && taken.is_none();
    if let Some(taken) = taken {
        taken.complete(ue).await;
    }
    let access = access.ok_or(Stop::Abandoned("no_security"))?;
    // Only the whole request has it, which the UE sends once it is ciphered (TS 24.501, 4.4.6).
    if let Some(capability) = &request.fgmm_capability {
        (ue.positioning.lpp, ue.positioning.lcs_upp) = (capability.lpp(), capability.lcs_upp());
    }

    // An initial registration starts without sessions; another one goes on with those that there
    // are.
    if initial {
        let at_gnb = ue.active_sessions();
        ue.release_all_sessions(Some(nsmf_pdusession::Cause::RelDueToUnspecifiedReason)).await;
        ue.release_sessions(inherited, Some(nsmf_pdusession::Cause::RelDueToUnspecifiedReason))
            .await;
        pdu_session_resource_release::alone(ue, &at_gnb).await?;
        ue.set_registered(false);
    } else {
        ue.sessions.extend(inherited);
        // Their user planes ended with the connection that the other context had.
        if !proved {
            ue.deactivate_all(None).await;
        }
    }

    // What the UE may do (steps 14 to 16).
    if !proved || ue.subscription.is_none() {
        subscription_retrieval::run(ue, initial).await?;
    }
    subscription_retrieval::check_area(ue)?;
    let requested = request.requested_nssai.as_ref().map(identifiers::slices);
    // One that comes from another AMF stays here.
    let elsewhere =
        !matches!(ue.reallocation, Reallocation::ReceivedFromAmf | Reallocation::ReroutedByRan);
    let slices = match slice_selection::run(ue, requested.clone(), elsewhere).await {
        Err(Stop::Reroute(set)) => {
            match amf_reallocation::run(ue, &request, access, &set, by_gnb).await {
                Ok(()) => return Err(Stop::Abandoned("rerouted")),
                Err(_) => slice_selection::run(ue, requested, false).await?,
            }
        }
        selected => selected?,
    };
    if ue.policy.is_none() {
        am_policy_association::create(ue).await;
    }

    // The UE learns it (steps 21 and 22), and what it has not been told yet.
    let mut slices = slices;
    if ue.due.slices && slices.configured.is_empty() {
        slices.configured = slice_selection::configured(ue);
    }
    registration_accept::run(ue, &request, access, slices).await?;
    ue.due = Default::default();
    configuration_update::run(ue).await
}

/// Whether there is room for the UE's context: always, if it takes the place of one that the UE had
/// before.
fn room(ue: &mut Ue) -> Result<(), Stop> {
    let known = ue.supi.as_ref().is_some_and(|supi| ue.amf.tables.by_supi(supi).is_some());
    if ue.over_limit && !known {
        let most = ue.amf.config.limits.max_ues;
        tracing::warn!(
            supi = ue.label(),
            most,
            "there are as many UEs as amf.limits.max_ues allows; this one is told to wait"
        );
        return Err(ue.congested());
    }
    ue.over_limit = false;
    Ok(())
}

/// Has the UE prove who it is: with a K_AMF that was derived for this AMF, else with an
/// authentication.
async fn prove(
    ue: &mut Ue,
    request: &NasRegistrationRequest,
    derived: Option<(KAmf, u8)>,
    inbound: &Inbound,
) -> Result<security_mode_control::Complete, Stop> {
    let emergency = request.fgs_registration_type.registration_type()
        == Some(RegistrationType::EmergencyRegistration);
    let repeat = !inbound.is_verified();
    if let Some((k_amf, ngksi)) = derived {
        let keys = authentication::Keys { k_amf, ngksi, eap_success: None, derived: true };
        return security_mode_control::run(ue, keys, repeat, emergency).await;
    }
    identification::identify(ue, request).await?;
    let keys = authentication::run(ue, request.ngksi.key_set_identifier()).await?;
    security_mode_control::run(ue, keys, repeat, emergency).await
}

/// The request of a message, which is one.
pub(crate) fn read(inbound: &Inbound) -> Result<NasRegistrationRequest, Stop> {
    match &inbound.message {
        Nas5gsMessage::Gmm(_, Nas5gmmMessage::RegistrationRequest(request)) => {
            Ok((**request).clone())
        }
        _ => Err(Stop::Abandoned("no_request")),
    }
}

/// The AMF serves the PLMN and the tracking area where the UE is.
fn check_area(ue: &Ue) -> Result<(), Stop> {
    let Some(connection) = &ue.connection else { return Err(Stop::ConnectionLost) };
    let tai = connection.location.tai;
    if ue.amf.served.plmn(tai.plmn).is_none() {
        return Err(Stop::reject(GmmCause::PlmnNotAllowed));
    }
    match ue.amf.served.tais.contains(&tai) {
        true => Ok(()),
        false => Err(Stop::reject(GmmCause::NoSuitableCellsInTrackingArea)),
    }
}

/// Whether the security context with which the request was verified is enough.
fn is_proved(ue: &Ue, request: &NasRegistrationRequest, initial: bool) -> bool {
    let Some(security) = &ue.security else { return false };
    let same_key = request.ngksi.key_set_identifier() == KeySetIdentifier::Native(security.ngksi);
    let wanted = initial && ue.amf.config.security.always_authenticate;
    ue.supi.is_some() && ue.capability.is_some() && same_key && !wanted
}

/// Tells the UE why it is not registered, and ends its connection.
async fn failed(ue: &mut Ue, stop: Stop) {
    match stop {
        Stop::Reject(reject) => {
            let _ = ue.send_nas(&reject_message(&reject)).await;
            // Congestion leaves the registration as it is (TS 24.501, 5.5.1.3.5).
            if ue.registered && reject.cause != GmmCause::Congestion {
                implicit_deregistration::locally(ue).await;
            }
            ue_context_release::run(ue, Cause::nas(CauseNas::unspecified));
        }
        Stop::NotAuthentic(eap_failure) => {
            let mut reject = NasAuthenticationReject::new();
            if let Some(packet) = eap_failure {
                reject.set_eap_message(NasEapMessage::new(packet.to_vec()));
            }
            let _ = ue.send_nas(&Nas5gsMessage::new_5gmm(reject)).await;
            if ue.registered {
                implicit_deregistration::locally(ue).await;
            }
            ue.security = None;
            ue_context_release::run(ue, Cause::nas(CauseNas::authentication_failure));
        }
        Stop::NoAnswer(_) | Stop::Abandoned(_) => {
            ue_context_release::run(ue, Cause::nas(CauseNas::unspecified))
        }
        stop => ue.conclude(stop).await,
    }
}

/// REGISTRATION REJECT (TS 24.501, 8.2.9).
fn reject_message(reject: &Reject) -> Nas5gsMessage {
    let mut message = NasRegistrationReject::new(NasFGmmCause::from_cause(reject.cause));
    if let Some(timer) =
        reject.back_off.and_then(|seconds| NasGprsTimer2::from_seconds(back_off(seconds)).ok())
    {
        message.set_t3346_value(timer);
    }
    if let Some(rejected) = slice_selection::rejected_nssai(&reject.slices) {
        message.set_rejected_nssai(rejected);
    }
    Nas5gsMessage::new_5gmm(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_back_off_is_never_shorter_than_meant() {
        for seconds in [0, 1, 2, 3, 61, 62, 63, 100, 3600, 10_000, 20_000] {
            let said = back_off(seconds);
            assert!(NasGprsTimer2::from_seconds(said).is_ok(), "{seconds}: {said}");
            assert!(said >= u64::from(seconds).min(31 * 360), "{seconds}: {said}");
        }
        let octets = reject_message(&Reject { back_off: Some(30), ..GmmCause::Congestion.into() })
            .encode()
            .unwrap();
        assert_eq!(hex::encode(octets), "7e0044165f010f");
    }
}
