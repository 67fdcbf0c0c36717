//! Identification (TS 24.501, 5.4.3).
//!
//! ```text
//! AMF -> UE  IDENTITY REQUEST (SUCI)
//! UE -> AMF  IDENTITY RESPONSE
//! ```
use crate::ue::{NasTimer, Protection, Stop, Ue};
use martlet_nas::{
    GmmCause, MobileIdentityType, Nas5gmmMessage, Nas5gsMessage, NasFGsIdentityType,
    NasFGsMobileIdentity, NasIdentityRequest, NasRegistrationRequest, Suci,
};
use martlet_sbi_api::common::SupiOrSuci;
use martlet_security::nas_5gs;

/// Takes the SUCI from the request, or asks for it. A UE with a known SUPI is not asked, and one
/// with a PEI alone is rejected.
pub(crate) async fn identify(ue: &mut Ue, request: &NasRegistrationRequest) -> Result<(), Stop> {
    if is_pei(&request.fgs_mobile_identity) {
        // A UE without USIM, for emergency services, which are not offered (5.5.1.2.6). It would
        // answer an IDENTITY REQUEST with no identity.
        return Err(Stop::reject(GmmCause::PeiNotAccepted));
    }
    // A SUCI of an earlier registration may belong to another UE.
    ue.identity.suci = suci(&request.fgs_mobile_identity);
    match ue.identity.suci.is_none() && ue.identity.supi.is_none() {
        true => ask(ue).await,
        false => Ok(()),
    }
}

/// Asks the UE for its SUCI.
pub(crate) async fn ask(ue: &mut Ue) -> Result<(), Stop> {
    let kind = NasFGsIdentityType::from_identity_type(MobileIdentityType::Suci);
    let kind = kind.map_err(|_| Stop::Abandoned("not_encodable"))?;
    let request = Nas5gsMessage::new_5gmm(NasIdentityRequest::new(kind));
    let timer = NasTimer { name: "T3570", duration: ue.amf.config.timers.t3570() };
    let identity = ue
        .exchange(&request, Protection::AsSecured, timer, |_, inbound| match &inbound.message {
            Nas5gsMessage::Gmm(_, Nas5gmmMessage::IdentityResponse(response)) => {
                Some(response.mobile_identity.clone())
            }
            _ => None,
        })
        .await?;
    ue.identity.suci = suci(&identity);
    match ue.identity.suci {
        Some(_) => Ok(()),
        None => Err(Stop::reject(GmmCause::UeIdentityCannotBeDerivedByTheNetwork)),
    }
}

/// Whether an identity is the equipment's.
pub(crate) fn is_pei(identity: &NasFGsMobileIdentity) -> bool {
    let kind = identity.identity_type();
    matches!(kind, Some(MobileIdentityType::Imei | MobileIdentityType::Imeisv))
}

/// The SUCI of a mobile identity in the form of TS 29.571, 5.3.2. In NAS, one that is not of an
/// IMSI is an NAI (TS 23.003, 28.7.3).
fn suci(identity: &NasFGsMobileIdentity) -> Option<SupiOrSuci> {
    let text = match identity.as_suci()? {
        Suci::Imsi(suci) => suci.to_string(),
        Suci::Nai(_) => nas_5gs::Suci::from_nas_octets(&identity.value).ok()?.to_string(),
    };
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suci_converts_to_its_sbi_form() {
        let encoded =
            hex::decode("7e004179000d0102f8390000000000000010022e08a020000000000000").unwrap();
        let Ok(Nas5gsMessage::Gmm(_, Nas5gmmMessage::RegistrationRequest(request))) =
            Nas5gsMessage::decode(&encoded)
        else {
            panic!("no request");
        };
        let suci = suci(&request.fgs_mobile_identity).unwrap();
        assert_eq!(suci.as_str(), "suci-0-208-93-0000-0-0-0000000120");
        let nai = "type1.rid678.schid0.useridfirst-user@example.org";
        let suci = super::suci(&NasFGsMobileIdentity::from_suci_nai(nai).unwrap()).unwrap();
        assert_eq!(suci.as_str(), "suci-1-example.org-678-0-0-first-user");
        assert!(super::suci(&NasFGsMobileIdentity::from_no_identity()).is_none());
    }
}
