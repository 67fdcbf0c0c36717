//! NAS security mode control (TS 24.501, 5.4.2; TS 33.501, 6.7.2): the algorithms, and the keys of an authentication in
//! use.
use super::authentication::Keys;
use crate::metrics;
use crate::ue::{NasTimer, Protection, Security, Stop, Ue, count};
use martlet_nas::{
    GmmCause, KeySetIdentifier, Nas5gmmMessage, Nas5gsMessage, NasAdditional5gSecurityInformation, NasCount,
    NasImeisvRequest, NasKeySetIdentifier, NasRegistrationRequest, NasSecurityAlgorithms, NasSecurityModeCommand,
    NasSecurityModeComplete, algorithms,
};
use martlet_sbi_api::common::Pei;

/// What SECURITY MODE COMPLETE gives.
pub(crate) struct Complete {
    /// Its uplink COUNT, with which K_gNB is derived (TS 33.501, 6.8.1.2.2).
    pub count: NasCount,
    /// The whole REGISTRATION REQUEST, where the UE had sent its cleartext elements alone.
    pub request: Option<NasRegistrationRequest>,
}

/// Takes the keys into use. With `repeat`, the UE sends its request once more, now that nobody can read or change it.
pub(crate) async fn run(ue: &mut Ue, keys: Keys, repeat: bool) -> Result<Complete, Stop> {
    let Some(capability) = ue.capability.clone() else {
        return Err(Stop::reject(GmmCause::InvalidMandatoryInformation));
    };
    let served = &ue.amf.served;
    let Some((ciphering, integrity)) = algorithms::select(&capability, &served.ciphering, &served.integrity) else {
        tracing::warn!(supi = ue.label(), gnb = ue.gnb(), "the UE has none of the algorithms of amf.security");
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
    if repeat {
        command.set_additional_5g_security_information(NasAdditional5gSecurityInformation::from_flags(true, false));
    }
    let security = Security::new(keys.k_amf, keys.ngksi, ciphering, integrity).map_err(|_| not_encodable())?;
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

async fn ask(ue: &mut Ue, command: NasSecurityModeCommand) -> Result<(NasSecurityModeComplete, NasCount), Stop> {
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
        tracing::warn!(supi = ue.label(), gnb = ue.gnb(), cause, "the UE refuses the security mode");
        Stop::Abandoned("security_mode_rejected")
    })
}

/// The equipment's identity, where the UE told it.
fn pei(complete: &NasSecurityModeComplete) -> Option<Pei> {
    let imeisv = complete.imeisv.as_ref()?.as_imeisv()?;
    format!("imeisv-{}", imeisv.as_str()).parse().ok()
}

/// The request of the NAS message container (TS 24.501, 5.4.2.4). Another message, or one that does not decode, is
/// passed over: the AMF goes on with what it has.
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
