//! Confirmation: the UE's answer to a challenge (TS 29.509, 5.2.2.2.2; TS 33.501, 6.1.3.2.0 steps
//! 10 to 12).
use crate::pending::{Awaited, Method};
use crate::{Ausf, metrics};
use martlet_sbi::Problem;
use martlet_sbi_api::common::{DateTime, SecretHex};
use martlet_sbi_api::nausf_ueauthentication::{
    AuthResult, ConfirmationData, ConfirmationDataResponse,
};
use martlet_sbi_api::nudm_ueau::{AuthEvent, AuthType};
use martlet_security::nas_5gs::ResStar;

impl Ausf {
    /// Compares the answer in constant time, tells the UDM of the outcome, and hands the anchor key
    /// over if it is right.
    pub(crate) async fn confirm(
        &self,
        id: &str,
        data: ConfirmationData,
    ) -> Result<ConfirmationDataResponse, Problem> {
        let awaited = self.pending.take(id).ok_or_else(|| unknown(id))?;
        let Method::FiveGAka { xres_star, k_seaf } = &awaited.method else {
            return Err(unknown(id));
        };
        let success =
            data.res_star.is_some_and(|res_star| xres_star.accepts(&ResStar::new(&res_star.0)));
        let told = self.tell_outcome(&awaited, success, AuthType::FiveGAka).await;
        if !success {
            metrics::refused();
            tracing::warn!(supi = %awaited.supi, "the UE's answer to the challenge is wrong");
            return Ok(ConfirmationDataResponse::new(AuthResult::AuthenticationFailure));
        }
        // The home network has to know of the authentication before the serving network may act on
        // it.
        told?;
        let mut response = ConfirmationDataResponse::new(AuthResult::AuthenticationSuccess);
        response.kseaf = Some(SecretHex(*k_seaf.as_octets()));
        response.supi = Some(awaited.supi);
        Ok(response)
    }

    /// Tells the UDM how an authentication ended (TS 33.501, 6.1.4.1a).
    pub(crate) async fn tell_outcome(
        &self,
        of: &Awaited,
        success: bool,
        method: AuthType,
    ) -> Result<(), Problem> {
        let network = of.serving_network_name.clone();
        let event =
            AuthEvent::new(self.instance_id.clone(), success, DateTime::now(), method, network);
        self.udm().await?.about(&of.supi).confirm_auth(&of.supi, event).await.map(|_| ())
    }
}

/// The failure for an authentication that is not (or no more) under way.
pub(crate) fn unknown(id: &str) -> Problem {
    Problem::new(404, "CONTEXT_NOT_FOUND").detail(format!("no authentication {id} is under way"))
}
