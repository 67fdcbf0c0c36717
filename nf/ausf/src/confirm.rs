//! Confirmation: the UE's answer to a challenge (TS 29.509, 5.2.2.2.2; TS 33.501, 6.1.3.2.0 steps 10 to 12).
use crate::{Ausf, metrics};
use martlet_sbi::Problem;
use martlet_sbi_api::common::{DateTime, SecretHex};
use martlet_sbi_api::nausf_ueauthentication::{AuthResult, ConfirmationData, ConfirmationDataResponse};
use martlet_sbi_api::nudm_ueau::{AuthEvent, AuthType};
use martlet_security::nas_5gs::ResStar;

impl Ausf {
    /// Compares the answer in constant time, tells the UDM of the outcome, and hands the anchor key over if it is right.
    pub(crate) async fn confirm(&self, id: &str, data: ConfirmationData) -> Result<ConfirmationDataResponse, Problem> {
        let awaited = self.pending.take(id).ok_or_else(|| unknown(id))?;
        let success = data.res_star.is_some_and(|res_star| awaited.xres_star.accepts(&ResStar::new(&res_star.0)));
        let network = awaited.serving_network_name;
        let event = AuthEvent::new(self.instance_id.clone(), success, DateTime::now(), AuthType::FiveGAka, network);
        let told = self.udm().await?.about(&awaited.supi).confirm_auth(&awaited.supi, event).await;
        if !success {
            metrics::refused();
            tracing::warn!(supi = %awaited.supi, "the UE's answer to the challenge is wrong");
            return Ok(ConfirmationDataResponse::new(AuthResult::AuthenticationFailure));
        }
        // The home network has to know of the authentication before the serving network may act on it.
        told?;
        let mut response = ConfirmationDataResponse::new(AuthResult::AuthenticationSuccess);
        response.supi = Some(awaited.supi);
        response.kseaf = Some(SecretHex(*awaited.k_seaf.as_octets()));
        Ok(response)
    }
}

/// The failure for an authentication that is not (or no more) under way.
pub(crate) fn unknown(id: &str) -> Problem {
    Problem::new(404, "CONTEXT_NOT_FOUND").detail(format!("no authentication {id} is under way"))
}
