//! Identification (TS 24.501, 5.4.3).
use crate::ue::nas::UeNas;
use martlet_nas::{
    MobileIdentityType, Nas5gsMessage, NasFGsMobileIdentity, NasIdentityRequest,
    NasIdentityResponse,
};

impl UeNas {
    pub(crate) fn identity_request(&mut self, request: &NasIdentityRequest) {
        let identity = match request.identity_type.identity_type() {
            Some(MobileIdentityType::Suci) => Some(self.take_suci()),
            Some(MobileIdentityType::Guti) => self.guti.map(NasFGsMobileIdentity::from_guti),
            Some(MobileIdentityType::STmsi) => {
                self.guti.map(|g| NasFGsMobileIdentity::from_s_tmsi(g.s_tmsi()))
            }
            Some(MobileIdentityType::Imeisv) => {
                NasFGsMobileIdentity::from_imeisv(&self.config.imeisv).ok()
            }
            Some(MobileIdentityType::Imei) => self
                .config
                .imeisv
                .get(..14)
                .and_then(|tac_snr| NasFGsMobileIdentity::from_imei_tac_snr(tac_snr).ok()),
            _ => None,
        };
        // An identity that the UE does not have is answered with "no identity" (5.4.3.3).
        let identity = identity.unwrap_or_else(NasFGsMobileIdentity::from_no_identity);
        self.send(&Nas5gsMessage::new_5gmm(NasIdentityResponse::new(identity)));
    }
}
