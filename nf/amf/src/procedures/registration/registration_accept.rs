//! Acceptance of a registration (TS 23.502, 4.2.2.2.2, steps 21 and 22; TS 24.501, 5.5.1.2.4 and
//! 5.5.1.3.4).
//!
//! ```text
//! AMF -> gNB  INITIAL CONTEXT SETUP REQUEST (REGISTRATION ACCEPT, sessions)
//! UE -> AMF   REGISTRATION COMPLETE
//! ```
use super::back_off::back_off;
use super::slice_selection::{Selected, rejected_nssai};
use super::{guti_allocation, mobility_restrictions};
use crate::n2::downlink::SessionToSetUp;
use crate::procedures::connection::{initial_context_setup, n1_n2_message_transfer};
use crate::procedures::session::pdu_session_resource_release;
use crate::procedures::session::user_plane_activation::{self, Activation};
use crate::ue::{NasTimer, Protection, Stop, Ue};
use martlet_nas::{
    GmmCause, Nas5gmmMessage, Nas5gsMessage, NasCount, NasFGsDrxParameters, NasFGsMobileIdentity,
    NasFGsNetworkFeatureSupport, NasFGsRegistrationResult, NasFGsTrackingAreaIdentityList,
    NasGprsTimer2, NasPduSessionReactivationResult, NasPduSessionReactivationResultErrorCause,
    NasPduSessionStatus, NasRegistrationAccept, NasRegistrationRequest, RegistrationResult,
    identifiers, timers,
};

/// Accepts the registration. K_gNB derives from `access`, the uplink NAS COUNT of the request.
pub(crate) async fn run(
    ue: &mut Ue,
    request: &NasRegistrationRequest,
    access: NasCount,
    slices: Selected,
) -> Result<(), Stop> {
    let Some(connection) = &ue.connection else { return Err(Stop::ConnectionLost) };
    let tai = connection.location.tai;
    let is_limited = match slices.is_unchanged {
        // No slice is rejected again, but one was if the area is limited.
        true => ue.registration.area == [tai],
        false => slices.is_limited_by_area(),
    };
    ue.registration.area = match is_limited {
        // Another tracking area may have the rejected slice: the UE registers again there.
        true => vec![tai],
        false => ue.amf.served.registration_area(tai),
    };
    if let Some(status) = &request.pdu_session_status {
        let at_gnb = ue.release_mismatched(|psi| status.is_active(psi)).await;
        pdu_session_resource_release::at_gnb_only(ue, &at_gnb).await?;
    }
    // A paged UE may register instead of sending a service request.
    let (paged, rest) = n1_n2_message_transfer::take_pending(ue);
    let connected = set_up(ue, request, access, slices, paged).await;
    n1_n2_message_transfer::deliver_pending(ue, connected, rest).await
}

/// Sets up the paged sessions, and those that the UE requests, with REGISTRATION ACCEPT. Waits for
/// the UE's answer.
async fn set_up(
    ue: &mut Ue,
    request: &NasRegistrationRequest,
    access: NasCount,
    slices: Selected,
    paged: Vec<SessionToSetUp>,
) -> Result<(), Stop> {
    let wanted = request.uplink_data_status.as_ref().map(|status| status.sessions_with_data());
    let mut activation = match &wanted {
        // In a non-allowed area no user plane is activated (5.5.1.3.4).
        Some(wanted) if mobility_restrictions::is_restricted(ue) => Activation {
            failed: wanted.iter().map(|psi| (*psi, GmmCause::RestrictedServiceArea)).collect(),
            ..Default::default()
        },
        Some(wanted) => {
            let others = wanted
                .iter()
                .copied()
                .filter(|psi| paged.iter().all(|session| session.psi != *psi));
            user_plane_activation::request(ue, &others.collect::<Vec<_>>()).await
        }
        None => Default::default(),
    };
    activation.sessions.extend(paged);
    guti_allocation::run(ue)?;
    let accept = message(ue, request, &slices, wanted.is_some().then_some(&activation));
    let accept = accept.map_err(|error| {
        tracing::error!(supi = ue.label(), %error, "REGISTRATION ACCEPT not encodable");
        Stop::Abandoned("not_encodable")
    })?;
    let accept = Nas5gsMessage::new_5gmm(accept);

    initial_context_setup::run(ue, access, activation.sessions, &accept).await?;
    // The UE is registered even if its connection is lost before it completes (5.5.1.2.8).
    ue.register();
    complete(ue, &accept).await
}

/// Waits for REGISTRATION COMPLETE. Without it, both 5G-GUTIs stay valid (5.5.1.2.8 c).
async fn complete(ue: &mut Ue, accept: &Nas5gsMessage) -> Result<(), Stop> {
    let timer = NasTimer { name: "T3550", duration: ue.amf.config.timers.t3550() };
    let answer = ue.await_answer(accept, Protection::AsSecured, timer, |_, inbound| match &inbound
        .message
    {
        Nas5gsMessage::Gmm(_, Nas5gmmMessage::RegistrationComplete(_)) if inbound.is_verified() => {
            Some(())
        }
        _ => None,
    });
    match answer.await {
        Ok(()) => {
            ue.release_old_guti();
            Ok(())
        }
        Err(Stop::NoAnswer(timer)) => {
            tracing::warn!(supi = ue.label(), gnb = ue.gnb(), timer, "no REGISTRATION COMPLETE");
            Ok(())
        }
        Err(stop) => Err(stop),
    }
}

fn message(
    ue: &Ue,
    request: &NasRegistrationRequest,
    slices: &Selected,
    reactivation: Option<&Activation>,
) -> Result<NasRegistrationAccept, martlet_nas::ValueError> {
    let result = NasFGsRegistrationResult::from_result(RegistrationResult::ThreeGppAccess);
    let mut accept = NasRegistrationAccept::new(result);
    if let Some(guti) = ue.identity.guti {
        accept.set_fg_guti(NasFGsMobileIdentity::from_guti(guti));
    }
    let tacs: Vec<u32> = ue.registration.area.iter().map(|tai| tai.tac).collect();
    if let Some(current) = ue.registration.area.first() {
        accept.set_tai_list(NasFGsTrackingAreaIdentityList::from_plmn_tacs(&current.plmn, &tacs)?);
    }
    accept.set_allowed_nssai(identifiers::nssai(&slices.allowed)?);
    if let Some(rejected) = rejected_nssai(&slices.rejected) {
        accept.set_rejected_nssai(rejected);
    }
    if !slices.configured.is_empty() {
        accept.set_configured_nssai(identifiers::nssai(&slices.configured)?);
    }
    accept.set_fgs_network_feature_support(network_features(
        ue.amf.config.ims_voice,
        ue.positioning.lcs_upp,
    ));
    let has_ended = reactivation.is_some_and(|activation| activation.has_ended);
    if request.pdu_session_status.is_some() || has_ended {
        let sessions: Vec<u8> = ue.sessions.keys().copied().collect();
        accept.set_pdu_session_status(NasPduSessionStatus::from_sessions(&sessions)?);
    }
    if let Some(Activation { failed, .. }) = reactivation {
        let sessions: Vec<u8> = failed.iter().map(|(psi, _)| *psi).collect();
        accept.set_pdu_session_reactivation_result(
            NasPduSessionReactivationResult::from_failed_sessions(&sessions)?,
        );
        if !failed.is_empty() {
            let causes = NasPduSessionReactivationResultErrorCause::from_entries(failed)?;
            accept.set_pdu_session_reactivation_result_error_cause(causes);
        }
    }
    accept.set_t3512_value(timers::t3512(ue.registration.t3512.into()));
    let t3502 = ue.amf.config.timers.t3502_s;
    if t3502 > 0 {
        accept.set_t3502_value(NasGprsTimer2::from_seconds(back_off(t3502))?);
    }
    // The UE gets the DRX cycle that it requests (5.5.1.2.4 and 5.5.1.3.4).
    if let (Some(_), Some(cycle)) = (&request.requested_drx_parameters, ue.registration.drx) {
        accept.set_negotiated_drx_parameters(NasFGsDrxParameters::from_drx_value(cycle));
    }
    if let Some(areas) = mobility_restrictions::service_area_list(ue, ue.registration.due.areas) {
        accept.set_service_area_list(areas);
    }
    if let Some(plmns) = mobility_restrictions::equivalent_plmns(ue) {
        accept.set_equivalent_plmns(plmns);
    }
    Ok(accept)
}

/// No emergency services; LCS-UPP if the UE supports it (TS 24.501, 9.11.3.5).
fn network_features(ims_voice: bool, lcs_upp: bool) -> NasFGsNetworkFeatureSupport {
    let features = match lcs_upp {
        true => NasFGsNetworkFeatureSupport::new(vec![0; 4]).with_lcs_upp(true),
        false => NasFGsNetworkFeatureSupport::new(vec![0, 0]),
    };
    features.with_ims_vops_3gpp(ims_voice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ims_voice_is_indicated_with_and_without_other_features() {
        let features = |ims_voice, lcs_upp| network_features(ims_voice, lcs_upp).value.to_vec();
        assert_eq!(features(true, false), [1, 0]);
        assert_eq!(features(false, false), [0, 0]);
        assert_eq!((features(true, true).len(), features(true, true)[0]), (4, 1));
        assert!(network_features(true, true).lcs_upp() && !network_features(true, false).lcs_upp());
    }
}
