//! NAS security mode control (TS 24.501, 5.4.2; TS 33.501, 6.7.2): the algorithms, and the keys of
//! an authentication in use.
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

/// What SECURITY MODE COMPLETE gives.
pub(crate) struct Complete {
    /// Its uplink COUNT, with which K_gNB is derived (TS 33.501, 6.8.1.2.2).
    pub count: NasCount,
    /// The whole REGISTRATION REQUEST, where the UE had sent its cleartext elements alone.
    pub request: Option<NasRegistrationRequest>,
}

/// Takes the keys into use. With `repeat`, the UE sends its request once more, now that nobody can
/// read or change it. `emergency` says that the UE registers for emergency services alone.
pub(crate) async fn run(
    ue: &mut Ue,
    keys: Keys,
    repeat: bool,
    emergency: bool,
) -> Result<Complete, Stop> {
    let Some(capability) = ue.capability.clone() else {
        return Err(Stop::reject(GmmCause::InvalidMandatoryInformation));
    };
    if ue.amf.config.security.mandatory_algorithms && !emergency && !has_the_mandatory(&capability)
    {
        tracing::warn!(
            supi = ue.label(),
            gnb = ue.gnb(),
            "the UE lacks algorithms that each UE has"
        );
        return Err(Stop::reject(GmmCause::UeSecurityCapabilitiesMismatch));
    }
    let served = &ue.amf.served;
    let Some((ciphering, integrity)) =
        select(&capability, &served.ciphering, &served.integrity, emergency)
    else {
        tracing::warn!(
            supi = ue.label(),
            gnb = ue.gnb(),
            "the UE has none of the algorithms of amf.security"
        );
        return Err(Stop::reject(GmmCause::UeSecurityCapabilitiesMismatch));
    };
    let not_encodable = || Stop::Abandoned("not_encodable");
    let ngksi = NasKeySetIdentifier::from_key_set_identifier(KeySetIdentifier::Native(keys.ngksi));
    let mut command = NasSecurityModeCommand::new(
        NasSecurityAlgorithms::from_algorithms(ciphering, integrity),
        ngksi.map_err(|_| not_encodable())?,
        capability,
    );
    if ue.amf.config.security.request_imeisv && ue.pei.is_none() {
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
    let before = (ue.security.replace(security), ue.secured);
    let outcome = ask(ue, command).await;
    if outcome.is_err() {
        // What was in use before stays in use (TS 24.501, 5.4.2.5).
        (ue.security, ue.secured) = before;
    }
    let (complete, count) = outcome?;
    ue.secured = true;
    if let Some(pei) = pei(&complete) {
        ue.pei = Some(pei);
    }
    Ok(Complete { count, request: request(ue, &complete) })
}

/// Whether the UE has what each UE has (TS 33.501, 5.2.2 and 5.2.3): NEA0 to NEA2, NIA1 and NIA2.
/// NIA0 is for emergencies, and many leave it out.
fn has_the_mandatory(capability: &NasUeSecurityCapability) -> bool {
    let ciphering = [CipheringAlgorithm::NEA0, CipheringAlgorithm::NEA1, CipheringAlgorithm::NEA2];
    let integrity = [IntegrityAlgorithm::NIA1, IntegrityAlgorithm::NIA2];
    ciphering.iter().all(|algorithm| capability.supports_ea(*algorithm as u8))
        && integrity.iter().all(|algorithm| capability.supports_ia(*algorithm as u8))
}

/// Whether the security context has the algorithms that this AMF would choose.
pub(crate) fn has_the_best(ue: &Ue) -> bool {
    let (Some(security), Some(capability)) = (&ue.security, &ue.capability) else { return false };
    let best = select(capability, &ue.amf.served.ciphering, &ue.amf.served.integrity, false);
    best == Some((security.nas.ciphering_algorithm(), security.integrity))
}

/// The algorithms. NIA0 is for emergency services alone, for UEs that have nothing better, and NEA0
/// goes with it (TS 33.501, 5.5.2 and 10.2; TS 24.501, 4.4.4.1).
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
        tracing::warn!(
            supi = ue.label(),
            gnb = ue.gnb(),
            cause,
            "the UE refuses the security mode"
        );
        Stop::Abandoned("security_mode_rejected")
    })
}

/// The equipment's identity, where the UE told it.
fn pei(complete: &NasSecurityModeComplete) -> Option<Pei> {
    let imeisv = complete.imeisv.as_ref()?.as_imeisv()?;
    format!("imeisv-{}", imeisv.as_str()).parse().ok()
}

/// The request of the NAS message container (TS 24.501, 5.4.2.4). Another message, or one that does
/// not decode, is passed over: the AMF goes on with what it has.
fn request(ue: &Ue, complete: &NasSecurityModeComplete) -> Option<NasRegistrationRequest> {
    match complete.nas_message_container.as_ref()?.decode_as_nas_message() {
        Ok(Nas5gsMessage::Gmm(_, Nas5gmmMessage::RegistrationRequest(request))) => Some(*request),
        Ok(_) => None,
        Err(error) => {
            metrics::nas_error("malformed");
            tracing::warn!(supi = ue.label(), gnb = ue.gnb(), %error, "the repeated request does not decode");
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
    fn each_mandatory_algorithm_counts() {
        let has = |ea, ia| has_the_mandatory(&NasUeSecurityCapability::from_capabilities(ea, ia));
        assert!(has(0xf0, 0xf0) && has(0xe0, 0x60));
        assert!(
            ![(0x60, 0x60), (0xa0, 0x60), (0xc0, 0x60), (0xe0, 0x40), (0xe0, 0x20)]
                .iter()
                .any(|(ea, ia)| has(*ea, *ia))
        );
    }

    #[test]
    fn null_integrity_is_for_emergencies_of_ues_that_have_nothing_better() {
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
