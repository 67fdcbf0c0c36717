//! General registration: initial, mobility and periodic (TS 23.502, 4.2.2.2.2; TS 24.501, 5.5.1).
//!
//! ```text
//! UE -> AMF       REGISTRATION REQUEST
//! AMF <-> old AMF UEContextTransfer                          steps 4, 5 and 10
//! AMF <-> UE      identification, authentication, security   steps 6 to 9
//! AMF -> UDM      subscription data, beside security         step 14b
//! AMF -> UDM      registration, beside the next two          step 14a
//! AMF -> NSSF     slice selection, unless its last answer holds
//! AMF -> PCF      AM policy association                      step 16
//! AMF -> UDM      subscription to changes                    step 14c
//! AMF -> UE       REGISTRATION ACCEPT                        step 21
//! UE -> AMF       REGISTRATION COMPLETE                      step 22
//! ```
use super::back_off::t3346;
use super::slice_selection::Selected;
use super::subscription_retrieval::{Reading, Registering};
use super::{
    am_policy_association, amf_reallocation, authentication, configuration_update, identification,
    implicit_deregistration, registration_accept, security_mode_control, slice_selection,
    subscription_retrieval, ue_context_transfer,
};
use crate::concurrency::Kind;
use crate::metrics::Procedure;
use crate::procedures::connection::ue_context_release;
use crate::procedures::session::{pdu_session_resource_release, serving_amf_change};
use crate::ue::{Reallocation, Reject, Session, Stop, Ue, count};
use martlet_nas::identifiers::Slice;
use martlet_nas::inbound::{Assurance, Inbound};
use martlet_nas::{
    GmmCause, IntegrityAlgorithm, KAmf, KeySetIdentifier, Nas5gmmMessage, Nas5gsMessage, NasCount,
    NasFGmmCause, NasRegistrationReject, NasRegistrationRequest, RegistrationType, identifiers,
};
use martlet_ngap::ngap::{Cause, CauseNas};
use martlet_sbi_api::nsmf_pdusession;

/// Registers or rejects the UE.
pub(crate) async fn run(ue: &mut Ue, inbound: Inbound) {
    let procedure = Procedure::start("registration");
    ue.start_registration(inbound.message.clone());
    ue.publish();
    let outcome = registration(ue, inbound).await;
    ue.release_slot();
    ue.end_registration();
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
            if let Some(suppressed) =
                martlet_log_limit::line("registration", (ue.gnb_address(), &why))
            {
                tracing::warn!(
                    supi = ue.label(),
                    gnb = ue.gnb(),
                    why,
                    suppressed,
                    "registration failed"
                );
            }
            failed(ue, stop).await;
        }
    }
}

async fn registration(ue: &mut Ue, inbound: Inbound) -> Result<(), Stop> {
    if ue.admission.over_share {
        return Err(ue.gnb_congested());
    }
    // Wait for a concurrency slot. The context limit applies once the UE is authenticated.
    ue.acquire_slot(Kind::Registration).await?;
    let Verified {
        request,
        initial,
        access,
        by_context,
        via_ran_possible,
        previous_sessions,
        reading,
    } = verify_request(ue, inbound).await?;
    // Only the complete request has it, sent after security mode control (TS 24.501, 4.4.6).
    if let Some(capability) = &request.fgmm_capability {
        (ue.positioning.lpp, ue.positioning.lcs_upp) = (capability.lpp(), capability.lcs_upp());
    }
    // A UE that registers periodically need not repeat it (TS 23.501, 5.4.5).
    if request.requested_drx_parameters.is_some() || !is_periodic(&request) {
        ue.registration.drx =
            request.requested_drx_parameters.as_ref().and_then(|requested| requested.drx_value());
    }
    keep_or_release(ue, initial, by_context, previous_sessions).await?;
    if has_new_radio_capability(&request, initial) {
        // The gNB asks the UE for it, and gives it to the AMF again.
        (ue.capabilities.radio, ue.capabilities.radio_for_paging) = (None, None);
    }

    // Subscription, slices and policy (steps 14 to 16), beside the registration at the UDM. The UE
    // gets no answer before that has ended.
    let retrieve = !by_context || ue.registration.subscription.is_none();
    let before = Before::of(ue);
    let mut registering = match retrieve {
        true => Some(subscription_retrieval::register(ue, initial)?),
        false => None,
    };
    let requested = request.requested_nssai.as_ref().map(identifiers::slices);
    // A rerouted registration is not rerouted again.
    let may_reroute =
        !matches!(ue.reallocation, Reallocation::ReceivedFromAmf | Reallocation::ReroutedByRan);
    let reading = retrieve.then_some(reading);
    let mut selected = select(ue, reading, &request, requested.clone(), may_reroute).await;
    if let Err(Stop::Reroute(set)) = &selected {
        let set = set.clone();
        // The other AMF registers at the UDM after this one.
        registered(ue, registering.take(), &before).await?;
        selected = match amf_reallocation::run(ue, &request, access, &set, via_ran_possible).await {
            Ok(()) => return Err(Stop::Abandoned("rerouted")),
            Err(_) => slice_selection::run(ue, requested, false).await,
        };
    }
    if selected.is_ok() && ue.registration.policy.is_none() {
        am_policy_association::create(ue).await;
    }
    registered(ue, registering, &before).await?;
    let mut slices = selected?;
    // Soon after the registration at the UDM, so that the UDR commits both at once.
    let subscribing = retrieve.then(|| subscription_retrieval::subscribe(ue)).flatten();

    // Accept, with pending subscription changes (steps 21 and 22).
    if ue.registration.due.slices && slices.configured.is_empty() {
        slices.configured = slice_selection::configured(ue);
    }
    let accepted = registration_accept::run(ue, &request, access, slices).await;
    // Also without the UE's answer: the deregistration ends the subscription.
    subscription_retrieval::subscribed(ue, subscribing).await;
    accepted?;
    ue.registration.due = Default::default();
    configuration_update::run(ue).await
}

/// The request of a UE that is verified.
struct Verified {
    request: NasRegistrationRequest,
    /// The UE registers without the sessions that it had.
    initial: bool,
    /// The uplink NAS COUNT from which K_gNB derives.
    access: NasCount,
    /// Verified by a security context of this or the old AMF, not by authentication.
    by_context: bool,
    /// Rerouting via the RAN needs a request that this AMF's own keys verify.
    via_ran_possible: bool,
    /// Sessions of the UE's previous context at this AMF, which was replaced.
    previous_sessions: Vec<(u8, Session)>,
    /// The subscription that is being read.
    reading: Option<Reading>,
}

/// Verifies a request, with the context of the old AMF if that has it (steps 4 to 9).
async fn verify_request(ue: &mut Ue, mut inbound: Inbound) -> Result<Verified, Stop> {
    let mut request = read(&inbound)?;
    check_area(ue)?;
    check_emergency(ue, &request)?;
    if let Some(capability) = &request.ue_security_capability {
        ue.capabilities.security = Some(capability.clone());
    }
    let mut initial = is_initial(&request);

    // Fetch the context from the old AMF (steps 4 and 5). An unprotected request cannot be verified
    // there.
    let mut taken = match ue.is_new() && inbound.assurance != Assurance::Plain {
        true => ue_context_transfer::fetch(ue, &request, initial).await,
        false => None,
    };
    let mut algorithms_match = true;
    if let Some(verified) = taken.as_mut().and_then(|taken| taken.inbound.take()) {
        ue.secure_exchange();
        ue.set_verified();
        request = read(&verified)?;
        initial = is_initial(&request);
        inbound = verified;
        // This AMF selects the algorithms; other ones need new NAS keys (TS 33.501, 6.7.1.2).
        algorithms_match = security_mode_control::has_selected_algorithms(ue);
    }

    // Verify the UE by its security context or by authentication (steps 4 to 9).
    let mut access = count(&inbound).filter(|_| {
        ue.reallocation == Reallocation::ReceivedFromAmf
            || algorithms_match && is_verified(ue, &request, initial)
    });
    let derived = taken.as_mut().and_then(|taken| taken.derived.take());
    let derived = derived.filter(|_| !(initial && ue.amf.config.security.always_authenticate));
    let verified = access.is_some() || derived.is_some();
    let mut reading = None;
    if access.is_none() {
        let complete = verify(ue, &request, derived, &inbound, &mut reading).await;
        if let (Err(_), Some(taken)) = (&complete, &taken) {
            taken.reject(ue).await;
        }
        let complete = complete?;
        access = Some(complete.count);
        if let Some(whole) = complete.request {
            // Anyone may have changed the type in the request before (TS 24.501, 4.4.6).
            initial = is_initial(&whole);
            request = whole;
        }
    }
    // The type in the complete request is what the UE wants.
    if let Err(stop) = check_emergency(ue, &request).and_then(|()| check_limit(ue)) {
        if let Some(taken) = &taken {
            taken.reject(ue).await;
        }
        return Err(stop);
    }
    let previous_sessions = match !verified || taken.is_some() {
        true => ue.replace_previous_context().await,
        false => Vec::new(),
    };
    let via_ran_possible = verified && taken.is_none();
    if let Some(taken) = taken {
        taken.complete(ue).await;
    }
    let access = access.ok_or(Stop::Abandoned("no_security"))?;
    Ok(Verified {
        request,
        initial,
        access,
        by_context: verified,
        via_ran_possible,
        previous_sessions,
        reading,
    })
}

/// An initial registration releases all sessions; the others keep them.
async fn keep_or_release(
    ue: &mut Ue,
    initial: bool,
    by_context: bool,
    previous_sessions: Vec<(u8, Session)>,
) -> Result<(), Stop> {
    if initial {
        let at_gnb = ue.active_sessions();
        ue.release_all_sessions(Some(nsmf_pdusession::Cause::RelDueToUnspecifiedReason)).await;
        ue.release_sessions(
            previous_sessions,
            Some(nsmf_pdusession::Cause::RelDueToUnspecifiedReason),
        )
        .await;
        pdu_session_resource_release::at_gnb_only(ue, &at_gnb).await?;
        ue.deregister();
    } else {
        ue.sessions.extend(previous_sessions);
        // Their user planes ended with the connection of the previous context.
        if !by_context {
            ue.deactivate_all(None).await;
        }
        // They came with the request of the initial AMF, which does not notify the SMFs (TS 23.502,
        // 4.2.2.2.2, step 17).
        if ue.reallocation == Reallocation::ReceivedFromAmf {
            serving_amf_change::run(ue, true).await;
        }
    }
    Ok(())
}

/// Reads the subscription, if it has to be read, and selects the slices by it. `retrieve` contains
/// the request in progress, if there is one. A UE that registers periodically requests no slices
/// (TS 24.501, 5.5.1.3.2), and keeps those that it has.
async fn select(
    ue: &mut Ue,
    retrieve: Option<Option<Reading>>,
    request: &NasRegistrationRequest,
    requested: Option<Vec<Slice>>,
    may_reroute: bool,
) -> Result<Selected, Stop> {
    if let Some(reading) = retrieve {
        subscription_retrieval::retrieve(ue, reading).await?;
    }
    subscription_retrieval::check_area(ue)?;
    let unchanged = match requested {
        None if is_periodic(request) => slice_selection::unchanged(ue),
        _ => None,
    };
    match unchanged {
        Some(selected) => Ok(selected),
        None => slice_selection::run(ue, requested, may_reroute).await,
    }
}

/// What a registration changes while it is in progress at the UDM.
struct Before {
    t3512: u32,
    allowed: Vec<Slice>,
    had_policy: bool,
}

impl Before {
    fn of(ue: &Ue) -> Self {
        let registration = &ue.registration;
        Before {
            t3512: registration.t3512,
            allowed: registration.allowed.clone(),
            had_policy: registration.policy.is_some(),
        }
    }
}

/// Waits for the registration at the UDM, if there is one. If it fails, the policy association that
/// was created beside it is deleted, and the subscription is unknown.
async fn registered(
    ue: &mut Ue,
    registering: Option<Registering>,
    before: &Before,
) -> Result<(), Stop> {
    let Some(registering) = registering else { return Ok(()) };
    let outcome = subscription_retrieval::registered(ue, registering).await;
    if outcome.is_err() {
        ue.registration.subscription = None;
        ue.registration.t3512 = before.t3512;
        ue.registration.allowed = before.allowed.clone();
        if !before.had_policy {
            am_policy_association::delete(ue).await;
        }
    }
    outcome
}

/// Checks the context limit. A context that replaces an older one of the same UE is always
/// accepted.
fn check_limit(ue: &mut Ue) -> Result<(), Stop> {
    let known = ue.identity.supi.as_ref().is_some_and(|supi| ue.amf.tables.by_supi(supi).is_some());
    if ue.admission.over_limit && !known {
        let max = ue.amf.config.limits.max_ues;
        if let Some(suppressed) = martlet_log_limit::line("max_ues", ue.gnb_address()) {
            tracing::warn!(
                supi = ue.label(),
                max,
                suppressed,
                "UE rejected: context limit reached; raise amf.limits.max_ues"
            );
        }
        return Err(ue.congested());
    }
    ue.admission.over_limit = false;
    Ok(())
}

/// Verifies the UE by a K_AMF derived for this AMF, or by authentication. After the latter its
/// subscription is being read.
async fn verify(
    ue: &mut Ue,
    request: &NasRegistrationRequest,
    derived: Option<(KAmf, u8)>,
    inbound: &Inbound,
    reading: &mut Option<Reading>,
) -> Result<security_mode_control::Complete, Stop> {
    let repeat = !inbound.is_verified() || has_null_integrity(ue);
    if let Some((k_amf, ngksi)) = derived {
        let keys = authentication::Keys { k_amf, ngksi, eap_success: None, derived: true };
        return secure(ue, request, keys, repeat).await;
    }
    if is_periodic(request) && ue.capabilities.security.is_none() {
        // A periodic registration has no UE security capability (8.2.6.4). After #9 the UE
        // registers initially, with it (5.5.1.3.5).
        return Err(Stop::reject(GmmCause::UeIdentityCannotBeDerivedByTheNetwork));
    }
    identification::identify(ue, request).await?;
    let keys = authentication::run(ue, request.ngksi.key_set_identifier()).await?;
    *reading = subscription_retrieval::begin_reading(ue);
    secure(ue, request, keys, repeat).await
}

/// Takes the keys into use. NIA0 needs a complete request for emergency services: anyone may have
/// changed the type in the request before (TS 24.501, 4.4.4.1 and 4.4.6).
async fn secure(
    ue: &mut Ue,
    request: &NasRegistrationRequest,
    keys: authentication::Keys,
    repeat: bool,
) -> Result<security_mode_control::Complete, Stop> {
    let complete = security_mode_control::run(ue, keys, repeat, is_emergency(request)).await?;
    if has_null_integrity(ue) && !is_emergency(complete.request.as_ref().unwrap_or(request)) {
        return Err(Stop::reject(GmmCause::UeSecurityCapabilitiesMismatch));
    }
    Ok(complete)
}

/// Whether the security context has NIA0, which verifies nothing.
fn has_null_integrity(ue: &Ue) -> bool {
    ue.security.as_ref().is_some_and(|security| security.integrity == IntegrityAlgorithm::NIA0)
}

/// The registration request of a message.
pub(crate) fn read(inbound: &Inbound) -> Result<NasRegistrationRequest, Stop> {
    match &inbound.message {
        Nas5gsMessage::Gmm(_, Nas5gmmMessage::RegistrationRequest(request)) => {
            Ok((**request).clone())
        }
        _ => Err(Stop::Abandoned("no_request")),
    }
}

/// Whether the UE registers for emergency services.
fn is_emergency(request: &NasRegistrationRequest) -> bool {
    request.fgs_registration_type.registration_type()
        == Some(RegistrationType::EmergencyRegistration)
}

/// Whether the UE registers because T3512 has expired.
fn is_periodic(request: &NasRegistrationRequest) -> bool {
    request.fgs_registration_type.registration_type()
        == Some(RegistrationType::PeriodicRegistrationUpdating)
}

/// Whether the UE registers without the sessions that it had.
fn is_initial(request: &NasRegistrationRequest) -> bool {
    !matches!(
        request.fgs_registration_type.registration_type(),
        Some(
            RegistrationType::MobilityRegistrationUpdating
                | RegistrationType::PeriodicRegistrationUpdating
        )
    )
}

/// Whether the stored radio capability is no longer the UE's: it registers initially, or reports
/// that the capability changed (NG-RAN-RCU, TS 24.501, 9.11.3.9A; TS 23.501, 5.4.4.1).
fn has_new_radio_capability(request: &NasRegistrationRequest, initial: bool) -> bool {
    initial || request.fgs_update_type.as_ref().is_some_and(|update| update.ng_ran_rcu())
}

/// Rejects emergency registrations: there are no emergency services, and the UE is to look for them
/// in another network (5.5.1.2.6). With NIA0, which is configured for them alone, they are accepted
/// as registrations for normal services.
fn check_emergency(ue: &Ue, request: &NasRegistrationRequest) -> Result<(), Stop> {
    if !is_emergency(request) || ue.amf.served.integrity.contains(&IntegrityAlgorithm::NIA0) {
        return Ok(());
    }
    Err(Stop::reject(match identification::is_pei(&request.fgs_mobile_identity) {
        true => GmmCause::PeiNotAccepted,
        false => GmmCause::ProtocolErrorUnspecified,
    }))
}

/// Checks that the AMF serves the UE's PLMN and tracking area.
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

/// Whether the security context that verified the request can be used.
fn is_verified(ue: &Ue, request: &NasRegistrationRequest, initial: bool) -> bool {
    let Some(security) = &ue.security else { return false };
    let same_key = request.ngksi.key_set_identifier() == KeySetIdentifier::Native(security.ngksi);
    let always_authenticate = initial && ue.amf.config.security.always_authenticate;
    // A UE that has registered for emergency services updates that registration, and needs other
    // algorithms for normal services (TS 24.501, 4.4.4.1).
    let needs_integrity = initial && !is_emergency(request) && has_null_integrity(ue);
    ue.identity.supi.is_some()
        && ue.capabilities.security.is_some()
        && same_key
        && !always_authenticate
        && !needs_integrity
}

/// Rejects the UE and releases its connection.
async fn failed(ue: &mut Ue, stop: Stop) {
    match stop {
        Stop::Reject(reject) => {
            let _ = ue.send_nas(&reject_message(&reject)).await;
            // #22 does not change the registration state (TS 24.501, 5.5.1.3.5).
            if ue.is_registered() && reject.cause != GmmCause::Congestion {
                implicit_deregistration::locally(ue).await;
            }
            // A connected UE has sessions that it keeps.
            ue.deactivate_all(None).await;
            ue_context_release::run(ue, Cause::nas(CauseNas::unspecified));
        }
        Stop::NotAuthentic(eap_failure) => authentication::reject(ue, eap_failure).await,
        Stop::NoAnswer(_) | Stop::Abandoned(_) => {
            ue.deactivate_all(None).await;
            ue_context_release::run(ue, Cause::nas(CauseNas::unspecified))
        }
        stop => ue.handle_stop(stop).await,
    }
}

/// REGISTRATION REJECT (TS 24.501, 8.2.9).
fn reject_message(reject: &Reject) -> Nas5gsMessage {
    let mut message = NasRegistrationReject::new(NasFGmmCause::from_cause(reject.cause));
    if let Some(timer) = t3346(reject.back_off) {
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
    use crate::procedures::registration::back_off::back_off;
    use martlet_nas::{
        Guti, NasFGsMobileIdentity, NasFGsRegistrationType, NasFGsUpdateType, NasGprsTimer2,
        NasKeySetIdentifier, Plmn,
    };

    #[test]
    fn an_initial_registration_or_a_report_replaces_the_radio_capability() {
        let guti = Guti::new(Plmn::new("001", "01").unwrap(), 1, 1, 0, 7).unwrap();
        let update = RegistrationType::MobilityRegistrationUpdating;
        let request = NasRegistrationRequest::new(
            NasFGsRegistrationType::from_registration_type(update),
            NasKeySetIdentifier::from_key_set_identifier(KeySetIdentifier::Native(0)).unwrap(),
            NasFGsMobileIdentity::from_guti(guti),
        );
        assert!(has_new_radio_capability(&request, true));
        assert!(!has_new_radio_capability(&request, false));
        for changed in [false, true] {
            let kind = NasFGsUpdateType::new(vec![0]).with_ng_ran_rcu(changed);
            let request = request.clone().with_fgs_update_type(kind);
            assert_eq!(has_new_radio_capability(&request, false), changed);
        }
    }

    #[test]
    fn an_encoded_back_off_is_never_shorter_than_configured() {
        for seconds in [0, 1, 2, 3, 61, 62, 63, 100, 3600, 10_000, 20_000] {
            let encoded = back_off(seconds);
            assert!(NasGprsTimer2::from_seconds(encoded).is_ok(), "{seconds}: {encoded}");
            assert!(encoded >= u64::from(seconds).min(31 * 360), "{seconds}: {encoded}");
        }
        let encoded = reject_message(&Reject { back_off: Some(30), ..GmmCause::Congestion.into() })
            .encode()
            .unwrap();
        assert_eq!(hex::encode(encoded), "7e0044165f010f");
    }
}
