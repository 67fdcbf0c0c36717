//! 5G AKA confirmation: verifies the UE's RES* (TS 29.509, 5.2.2.2.2; TS 33.501, 6.1.3.2.0, steps
//! 10 to 12).
use crate::pending::Method;
use crate::{Ausf, metrics};
use martlet_sbi::Problem;
use martlet_sbi_api::common::SecretHex;
use martlet_sbi_api::nausf_ueauthentication::{
    AuthResult, ConfirmationData, ConfirmationDataResponse,
};
use martlet_sbi_api::nudm_ueau::AuthType;
use martlet_security::nas_5gs::ResStar;
use std::time::Instant;

impl Ausf {
    /// Compares RES* in constant time, reports the result to the UDM and returns K_SEAF on success.
    pub(crate) async fn confirm(
        &self,
        id: &str,
        data: ConfirmationData,
    ) -> Result<ConfirmationDataResponse, Problem> {
        let authentication = self.pending.take(id, Method::is_5g_aka, Instant::now());
        let authentication = authentication.ok_or_else(|| unknown(id))?;
        let Method::FiveGAka { xres_star, k_seaf } = &authentication.method else {
            return Err(unknown(id));
        };
        let success =
            data.res_star.is_some_and(|res_star| xres_star.accepts(&ResStar::new(&res_star.0)));
        let (supi, network) = (&authentication.supi, &authentication.serving_network_name);
        if !success {
            let reported = self.results.report(supi, network, false, AuthType::FiveGAka).await;
            if let Err(problem) = reported
                && let Some(suppressed) = martlet_log_limit::line("result_not_reported", 0)
            {
                tracing::warn!(
                    %supi, %problem, suppressed,
                    "authentication result was not reported to the UDM"
                );
            }
            metrics::authentication_failed();
            if let Some(suppressed) = martlet_log_limit::line("wrong_res", 0) {
                tracing::warn!(
                    supi = %authentication.supi, suppressed,
                    "authentication failed: wrong RES*"
                );
            }
            return Ok(ConfirmationDataResponse::new(AuthResult::AuthenticationFailure));
        }
        self.results.report_success(supi, network, AuthType::FiveGAka).await?;
        let mut response = ConfirmationDataResponse::new(AuthResult::AuthenticationSuccess);
        response.kseaf = Some(SecretHex(*k_seaf.as_octets()));
        response.supi = Some(authentication.supi);
        Ok(response)
    }
}

/// 404: no such authentication, or it has ended.
pub(crate) fn unknown(id: &str) -> Problem {
    Problem::new(404, "CONTEXT_NOT_FOUND").detail(format!("no authentication {id} in progress"))
}
