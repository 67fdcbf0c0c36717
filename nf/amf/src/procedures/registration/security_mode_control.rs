//! NAS security mode control (TS 24.501, 5.4.2; TS 33.501, 6.7.2): selects the algorithms and takes
//! new keys into use.
//!
//! ```text
//! AMF -> UE  SECURITY MODE COMMAND
//! UE -> AMF  SECURITY MODE COMPLETE or SECURITY MODE REJECT
//! ```
use super::authentication::Keys;
use crate::metrics;
use crate::ue::{NasTimer, Protection, Security, Stop, Ue, count};
use martlet_nas::{
    CipheringAlgorithm, GmmCause, IntegrityAlgorithm, KeySetIdentifier, Nas5gmmMessage,
    Nas5gsMessage, NasAbba, NasAdditional5gSecurityInformation, NasCount, NasEapMessage,
    NasImeisvRequest, NasKeySetIdentifier, NasRegistrationRequest, NasSecurityAlgorithms,
    NasSecurityModeCommand, NasSecurityModeComplete, NasUeSecurityCapability, algorithms,
};
use martlet_sbi_api::common::Pei;
use martlet_security::aka;

/// Content of SECURITY MODE COMPLETE.
pub(crate) struct Complete {
    /// Its uplink NAS COUNT, from which K_gNB derives (TS 33.501, 6.8.1.2.2).
    pub count: NasCount,
    /// The complete REGISTRATION REQUEST, if the UE had sent only its cleartext IEs.
    pub request: Option<NasRegistrationRequest>,
}

/// Takes the keys into use. `repeat` asks the UE for its complete request again, now protected.
/// `emergency`: registration for emergency services only.
pub(crate) async fn run(
    ue: &mut Ue,
    keys: Keys,
    repeat: bool,
    emergency: bool,
) -> Result<Complete, Stop> {
    let Some(capability) = ue.capabilities.security.clone() else {
        return Err(Stop::reject(GmmCause::InvalidMandatoryInformation));
    };
    if ue.amf.config.security.mandatory_algorithms
        && !emergency
        && !has_mandatory_algorithms(&capability)
    {
        if let Some(suppressed) = martlet_log_limit::line("mandatory_algorithms", ue.gnb_address())
        {
            tracing::warn!(
                supi = ue.label(),
                gnb = ue.gnb(),
                suppressed,
                "UE rejected: mandatory algorithms missing"
            );
        }
        return Err(Stop::reject(GmmCause::UeSecurityCapabilitiesMismatch));
    }
    let served = &ue.amf.served;
    let Some((ciphering, integrity)) =
        select(&capability, &served.ciphering, &served.integrity, emergency)
    else {
        if let Some(suppressed) = martlet_log_limit::line("no_common_algorithm", ue.gnb_address()) {
            tracing::warn!(
                supi = ue.label(),
                gnb = ue.gnb(),
                suppressed,
                "UE rejected: no common algorithm; see amf.security"
            );
        }
        return Err(Stop::reject(GmmCause::UeSecurityCapabilitiesMismatch));
    };
    let not_encodable = || Stop::Abandoned("not_encodable");
    let ngksi = NasKeySetIdentifier::from_key_set_identifier(KeySetIdentifier::Native(keys.ngksi));
    let mut command = NasSecurityModeCommand::new(
        NasSecurityAlgorithms::from_algorithms(ciphering, integrity),
        ngksi.map_err(|_| not_encodable())?,
        capability,
    );
    if ue.amf.config.security.request_imeisv && ue.identity.pei.is_none() {
        command.set_imeisv_request(NasImeisvRequest::from_requested(true));
    }
    if repeat || keys.derived {
        let information = NasAdditional5gSecurityInformation::from_flags(repeat, keys.derived);
        command.set_additional_5g_security_information(information);
    }
    if let Some(packet) = &keys.eap_success {
        command.set_eap_message(NasEapMessage::new(packet.to_vec()));
        command.set_abba(NasAbba::new(aka::ABBA.to_vec()));
    }
    let security =
        Security::new(keys.k_amf, keys.ngksi, ciphering, integrity).map_err(|_| not_encodable())?;
    ue.previous_security = ue.security.replace(security).map(Box::new);
    let had_previous = ue.previous_security.is_some();
    let exchange_before = ue.nas_exchange();
    let outcome = ask(ue, command).await;
    let previous = ue.previous_security.take();
    // The UE has sent a message under the new one: see `Ue::leave_previous_security`.
    let is_left = had_previous && previous.is_none();
    if outcome.is_err() && !is_left {
        // The previous context stays in use (TS 24.501, 5.4.2.5).
        ue.security = previous.map(|previous| *previous);
        ue.restore_exchange(exchange_before);
    }
    let (complete, count) = outcome?;
    ue.secure_exchange();
    ue.set_verified();
    if let Some(pei) = pei(&complete) {
        ue.identity.pei = Some(pei);
    }
    Ok(Complete { count, request: request(ue, &complete) })
}

/// Whether the UE supports the mandatory algorithms NEA0 to NEA2, NIA1 and NIA2 (TS 33.501, 5.2.2
/// and 5.2.3). NIA0 is excepted: it is for emergencies, and many UEs omit it.
fn has_mandatory_algorithms(capability: &NasUeSecurityCapability) -> bool {
    let ciphering = [CipheringAlgorithm::NEA0, CipheringAlgorithm::NEA1, CipheringAlgorithm::NEA2];
    let integrity = [IntegrityAlgorithm::NIA1, IntegrityAlgorithm::NIA2];
    ciphering.iter().all(|algorithm| capability.supports_ea(*algorithm as u8))
        && integrity.iter().all(|algorithm| capability.supports_ia(*algorithm as u8))
}

/// Whether the current algorithms are those that this AMF selects.
pub(crate) fn has_selected_algorithms(ue: &Ue) -> bool {
    let (Some(security), Some(capability)) = (&ue.security, &ue.capabilities.security) else {
        return false;
    };
    let best = select(capability, &ue.amf.served.ciphering, &ue.amf.served.integrity, false);
    best == Some((security.nas.ciphering_algorithm(), security.integrity))
}

/// Selects the algorithms. NIA0, with NEA0, is only for emergency services of UEs without anything
/// better (TS 33.501, 5.5.2 and 10.2; TS 24.501, 4.4.4.1).
fn select(
    capability: &NasUeSecurityCapability,
    ciphering: &[CipheringAlgorithm],
    integrity: &[IntegrityAlgorithm],
    emergency: bool,
) -> Option<(CipheringAlgorithm, IntegrityAlgorithm)> {
    let is_null = |algorithm: &IntegrityAlgorithm| *algorithm == IntegrityAlgorithm::NIA0;
    let protecting: Vec<_> =
        integrity.iter().copied().filter(|algorithm| !is_null(algorithm)).collect();
    algorithms::select(capability, ciphering, &protecting).or_else(|| {
        let unprotected = emergency && integrity.iter().any(is_null);
        let null = (&[CipheringAlgorithm::NEA0], &[IntegrityAlgorithm::NIA0]);
        unprotected.then(|| algorithms::select(capability, null.0, null.1)).flatten()
    })
}

async fn ask(
    ue: &mut Ue,
    command: NasSecurityModeCommand,
) -> Result<(NasSecurityModeComplete, NasCount), Stop> {
    let timer = NasTimer { name: "T3560", duration: ue.amf.config.timers.t3560() };
    let command = Nas5gsMessage::new_5gmm(command);
    let answer = ue.exchange(&command, Protection::NewContext, timer, |_, inbound| {
        let Nas5gsMessage::Gmm(_, message) = &inbound.message else { return None };
        match message {
            Nas5gmmMessage::SecurityModeComplete(complete) => {
                count(inbound).map(|count| Ok(((**complete).clone(), count)))
            }
            Nas5gmmMessage::SecurityModeReject(reject) => Some(Err(reject.fgmm_cause.cause_raw())),
            _ => None,
        }
    });
    answer.await?.map_err(|cause| {
        if let Some(suppressed) =
            martlet_log_limit::line("security_mode_rejected", ue.gnb_address())
        {
            tracing::warn!(
                supi = ue.label(),
                gnb = ue.gnb(),
                cause,
                suppressed,
                "security mode rejected by the UE"
            );
        }
        Stop::Abandoned("security_mode_rejected")
    })
}

/// The IMEISV, if present.
fn pei(complete: &NasSecurityModeComplete) -> Option<Pei> {
    let imeisv = complete.imeisv.as_ref()?.as_imeisv()?;
    format!("imeisv-{}", imeisv.as_str()).parse().ok()
}

/// The request in the NAS message container (TS 24.501, 5.4.2.4). An unexpected or malformed one is
/// ignored.
fn request(ue: &Ue, complete: &NasSecurityModeComplete) -> Option<NasRegistrationRequest> {
    match complete.nas_message_container.as_ref()?.decode_as_nas_message() {
        Ok(Nas5gsMessage::Gmm(_, Nas5gmmMessage::RegistrationRequest(request))) => Some(*request),
        Ok(_) => None,
        Err(error) => {
            metrics::nas_error("malformed");
            if let Some(suppressed) = martlet_log_limit::line("repeated_request", ue.gnb_address())
            {
                tracing::warn!(
                    supi = ue.label(), gnb = ue.gnb(), %error, suppressed,
                    "repeated request is malformed"
                );
            }
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CipheringAlgorithm::*;
    use IntegrityAlgorithm::*;

    #[test]
    fn every_mandatory_algorithm_is_required() {
        let has =
            |ea, ia| has_mandatory_algorithms(&NasUeSecurityCapability::from_capabilities(ea, ia));
        assert!(has(0xf0, 0xf0) && has(0xe0, 0x60));
        assert!(
            ![(0x60, 0x60), (0xa0, 0x60), (0xc0, 0x60), (0xe0, 0x40), (0xe0, 0x20)]
                .iter()
                .any(|(ea, ia)| has(*ea, *ia))
        );
    }

    #[test]
    fn null_integrity_is_selected_only_for_emergencies() {
        let select = |ea, ia, emergency| {
            let capability = NasUeSecurityCapability::from_capabilities(ea, ia);
            super::select(&capability, &[NEA2, NEA0], &[NIA0, NIA2], emergency)
        };
        assert_eq!(select(0xf0, 0xf0, false), Some((NEA2, NIA2)));
        assert_eq!(select(0xf0, 0xf0, true), Some((NEA2, NIA2)));
        assert_eq!(select(0xf0, 0x80, false), None);
        assert_eq!(select(0xf0, 0x80, true), Some((NEA0, NIA0)));
    }
}
