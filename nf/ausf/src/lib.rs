//! The AUSF: authenticates UEs with vectors from the UDM (TS 23.501, 6.2.8; TS 33.501, 6.1.3).
#![forbid(unsafe_code)]

mod authenticate;
mod config;
mod eap_session;
mod five_g_aka_confirmation;
mod link_lists;
mod metrics;
mod pending;
mod result_confirmation;

pub use config::AusfConfig;

use martlet_nf::{Criteria, NetworkFunction, NfContext, Shutdown, StartError};
use martlet_sbi::{Created, Problem, Route};
use martlet_sbi_api::common::NfInstanceId;
use martlet_sbi_api::nausf_ueauthentication::{
    AusfUeAuthentication, AuthenticationInfo, ConfirmationData, ConfirmationDataResponse,
    EapSession, NAUSF_AUTH, UeAuthenticationCtx,
};
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_sbi_api::nudm_ueau::UdmUeAuthenticationClient;
use pending::{Method, Pending};
use result_confirmation::ResultConfirmation;
use std::sync::Arc;
use std::time::Instant;

/// The AUSF.
pub struct Ausf {
    context: Arc<NfContext>,
    instance_id: NfInstanceId,
    pending: Pending,
    results: Arc<ResultConfirmation>,
    /// Refuse deviations of UEs.
    strict: bool,
}

impl Ausf {
    /// A client of Nudm_UEAuthentication.
    async fn udm(&self) -> Result<UdmUeAuthenticationClient, Problem> {
        let peer = self.context.discover(NfType::Udm, "nudm-ueau", &Criteria::default()).await?;
        Ok(UdmUeAuthenticationClient::new(peer))
    }

    /// Ends an authentication in progress by a method.
    fn remove(&self, id: &str, is_right: fn(&Method) -> bool) -> Result<(), Problem> {
        let removed = self.pending.take(id, is_right, Instant::now());
        removed.map(drop).ok_or_else(|| five_g_aka_confirmation::unknown(id))
    }
}

impl NetworkFunction for Ausf {
    const TYPE: NfType = NfType::Ausf;
    type Config = AusfConfig;

    async fn create(config: AusfConfig, context: Arc<NfContext>) -> Result<Arc<Self>, StartError> {
        let instance_id = context.instance_id().parse::<NfInstanceId>()?;
        let results = ResultConfirmation::new(
            context.clone(),
            instance_id.clone(),
            config.await_result,
            config.max_pending,
        );
        Ok(Arc::new(Ausf {
            context,
            instance_id,
            results: Arc::new(results),
            strict: config.strict,
            pending: Pending::new(&config),
        }))
    }

    fn routes(self: &Arc<Self>) -> Vec<Route> {
        let routes = NAUSF_AUTH.routes(self.clone());
        routes.into_iter().map(link_lists::for_generated_clients).collect()
    }

    async fn run(self: Arc<Self>, shutdown: Shutdown) -> Result<(), StartError> {
        shutdown.wait().await;
        self.results.flush().await;
        Ok(())
    }

    fn status(&self) -> serde_json::Value {
        serde_json::json!({"authentications in progress": self.pending.len()})
    }
}

impl AusfUeAuthentication for Ausf {
    async fn ue_authentications_post(
        &self,
        body: AuthenticationInfo,
    ) -> Result<Created<UeAuthenticationCtx>, Problem> {
        let outcome = self.authenticate(body).await;
        metrics::count("authenticate", outcome.as_ref().err());
        outcome
    }

    async fn confirm_5g_aka(
        &self,
        auth_ctx_id: &str,
        body: ConfirmationData,
    ) -> Result<ConfirmationDataResponse, Problem> {
        let outcome = self.confirm(auth_ctx_id, body).await;
        metrics::count("confirm", outcome.as_ref().err());
        outcome
    }

    async fn eap_auth_method(
        &self,
        auth_ctx_id: &str,
        body: EapSession,
    ) -> Result<EapSession, Problem> {
        let outcome = self.eap_session(auth_ctx_id, body).await;
        metrics::count("eap_session", outcome.as_ref().err());
        outcome
    }

    async fn delete_eap_authentication_result(&self, auth_ctx_id: &str) -> Result<(), Problem> {
        self.remove(auth_ctx_id, Method::is_eap)
    }

    async fn delete_5g_aka_authentication_result(&self, auth_ctx_id: &str) -> Result<(), Problem> {
        self.remove(auth_ctx_id, Method::is_5g_aka)
    }
}
