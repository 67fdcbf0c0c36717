//! 5G AKA confirmation: verifies the UE's RES* (TS 29.509, 5.2.2.2.2; TS 33.501, 6.1.3.2.0, steps
//! 10 to 12).
use crate::pending::{Authentication, Method};
use crate::{Ausf, metrics};
use martlet_sbi::Problem;
use martlet_sbi_api::common::{DateTime, SecretHex};
use martlet_sbi_api::nausf_ueauthentication::{
    AuthResult, ConfirmationData, ConfirmationDataResponse,
};
use martlet_sbi_api::nudm_ueau::{AuthEvent, AuthType};
use martlet_security::nas_5gs::ResStar;

impl Ausf {
    /// Compares RES* in constant time, reports the result to the UDM and returns K_SEAF on success.
    pub(crate) async fn confirm(
        &self,
        id: &str,
        data: ConfirmationData,
    ) -> Result<ConfirmationDataResponse, Problem> {
        let authentication = self.pending.take(id).ok_or_else(|| unknown(id))?;
        let Method::FiveGAka { xres_star, k_seaf } = &authentication.method else {
            return Err(unknown(id));
        };
        let success =
            data.res_star.is_some_and(|res_star| xres_star.accepts(&ResStar::new(&res_star.0)));
        let reported = self.report_result(&authentication, success, AuthType::FiveGAka).await;
        if !success {
            metrics::authentication_failed();
            tracing::warn!(supi = %authentication.supi, "authentication failed: wrong RES*");
            return Ok(ConfirmationDataResponse::new(AuthResult::AuthenticationFailure));
        }
        // The UDM has to store the result before the serving network may use K_SEAF (TS 33.501,
        // 6.1.4).
        reported?;
        let mut response = ConfirmationDataResponse::new(AuthResult::AuthenticationSuccess);
        response.kseaf = Some(SecretHex(*k_seaf.as_octets()));
        response.supi = Some(authentication.supi);
        Ok(response)
    }

    /// Reports the result of an authentication to the UDM (TS 33.501, 6.1.4.1a).
    pub(crate) async fn report_result(
        &self,
        authentication: &Authentication,
        success: bool,
        method: AuthType,
    ) -> Result<(), Problem> {
        let network = authentication.serving_network_name.clone();
        let event =
            AuthEvent::new(self.instance_id.clone(), success, DateTime::now(), method, network);
        let supi = &authentication.supi;
        self.udm().await?.about(supi).confirm_auth(supi, event).await.map(|_| ())
    }
}

/// 404: no such authentication, or it has ended.
pub(crate) fn unknown(id: &str) -> Problem {
    Problem::new(404, "CONTEXT_NOT_FOUND").detail(format!("no authentication {id} in progress"))
}
