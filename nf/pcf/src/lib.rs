//! The PCF: policy control for UEs and PDU sessions (TS 23.501, 6.2.4; TS 29.507; TS 29.512).
#![forbid(unsafe_code)]

mod am_policy;
mod associations;
mod config;
mod ethernet_filter;
mod reload;
mod sm_policy;
mod ue_initiated_resource_request;

pub use config::{FlowConfig, PcfConfig, UeRequestConfig};

use am_policy::AmAssociation;
use associations::Associations;
use martlet_nf::{NetworkFunction, NfContext, StartError};
use martlet_sbi::{Problem, Route};
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_sbi_api::npcf_am_policy_control::NPCF_AM_POLICY_CONTROL;
use martlet_sbi_api::npcf_sm_policy_control::NPCF_SMPOLICYCONTROL;
use martlet_sbi_api::nudr_dr::UdrDataRepositoryClient;
use sm_policy::SmAssociation;
use std::sync::{Arc, RwLock};

/// The PCF.
pub struct Pcf {
    context: Arc<NfContext>,
    /// Replaced as a whole when the configuration is reloaded.
    config: RwLock<Arc<PcfConfig>>,
    am: Associations<AmAssociation>,
    /// The last requests of SMFs and UEs, from which the decisions follow.
    sm: Associations<SmAssociation>,
}

impl Pcf {
    fn config(&self) -> Arc<PcfConfig> {
        self.config.read().unwrap_or_else(|e| e.into_inner()).clone()
    }

    fn set_config(&self, config: PcfConfig) {
        *self.config.write().unwrap_or_else(|e| e.into_inner()) = Arc::new(config);
    }

    /// A client of the UDR, for requests about one subscriber.
    async fn udr(&self, supi: &str) -> Result<UdrDataRepositoryClient, Problem> {
        let peer = self.context.discover_for(supi, NfType::Udr, "nudr-dr").await?;
        Ok(UdrDataRepositoryClient::new(peer).about(supi))
    }
}

impl NetworkFunction for Pcf {
    const TYPE: NfType = NfType::Pcf;
    type Config = PcfConfig;

    async fn create(config: PcfConfig, context: Arc<NfContext>) -> Result<Arc<Self>, StartError> {
        let (am, sm) =
            (Associations::new(config.max_am_policies), Associations::new(config.max_sm_policies));
        Ok(Arc::new(Pcf { context, config: RwLock::new(Arc::new(config)), am, sm }))
    }

    fn routes(self: &Arc<Self>) -> Vec<Route> {
        let mut routes = NPCF_AM_POLICY_CONTROL.routes(self.clone());
        routes.extend(NPCF_SMPOLICYCONTROL.routes(self.clone()));
        routes
    }

    fn reload(self: &Arc<Self>, config: PcfConfig) -> Option<String> {
        let (sessions, ues) = self.apply_config(config);
        Some(format!("policies ({sessions} sessions and {ues} UEs updated)"))
    }

    fn status(&self) -> serde_json::Value {
        serde_json::json!({"UE policies": self.am.len(), "session policies": self.sm.len()})
    }
}

/// None for a subscriber without policy data, to which the configuration applies. An unknown
/// subscriber remains an error.
fn if_found<T>(outcome: Result<T, Problem>) -> Result<Option<T>, Problem> {
    match outcome {
        Ok(data) => Ok(Some(data)),
        Err(problem) if problem.status() == 404 && problem.cause() != "USER_NOT_FOUND" => Ok(None),
        Err(problem) => Err(problem),
    }
}

/// The problem of the policy services for a subscriber that the UDR does not know.
fn user_unknown(problem: Problem) -> Problem {
    match problem.status() {
        404 => Problem::new(400, "USER_UNKNOWN").detail("the subscriber has no policy data"),
        _ => problem,
    }
}
