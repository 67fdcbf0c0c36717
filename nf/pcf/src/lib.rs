//! The PCF: policies for UEs and for their sessions (TS 23.501, 6.2.4; TS 29.507; TS 29.512).
#![forbid(unsafe_code)]

mod am_policy;
mod associations;
mod config;
mod frames;
mod sm_policy;
mod ue_request;

pub use config::{FlowConfig, PcfConfig, UeRequestConfig};

use am_policy::AmAssociation;
use associations::Associations;
use martlet_nf::{Criteria, NetworkFunction, NfContext, StartError};
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
    /// Replaced as a whole when the configuration is read anew.
    config: RwLock<Arc<PcfConfig>>,
    am: Associations<AmAssociation>,
    /// What each SMF said last, and what UEs have asked for: what is decided follows from it.
    sm: Associations<SmAssociation>,
}

impl Pcf {
    fn config(&self) -> Arc<PcfConfig> {
        self.config.read().unwrap_or_else(|e| e.into_inner()).clone()
    }

    fn set_config(&self, config: PcfConfig) {
        *self.config.write().unwrap_or_else(|e| e.into_inner()) = Arc::new(config);
    }

    /// The UDR, for requests about one subscriber.
    async fn udr(&self, supi: &str) -> Result<UdrDataRepositoryClient, Problem> {
        let peer = self.context.discover(NfType::Udr, "nudr-dr", &Criteria::default()).await?;
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
        let changed = self.decide_anew(config);
        Some(format!("policies; {changed} sessions change"))
    }

    fn status(&self) -> serde_json::Value {
        serde_json::json!({"UE policies": self.am.len(), "session policies": self.sm.len()})
    }
}

/// Policy data, where the UDR has some: a subscriber without any gets what is configured. A
/// subscriber that is not known stays an error.
fn if_there<T>(outcome: Result<T, Problem>) -> Result<Option<T>, Problem> {
    match outcome {
        Ok(data) => Ok(Some(data)),
        Err(problem) if problem.status() == 404 && problem.cause() != "USER_NOT_FOUND" => Ok(None),
        Err(problem) => Err(problem),
    }
}

/// The failure of a subscriber that the UDR does not know, in the terms of the policy services.
fn user_unknown(problem: Problem) -> Problem {
    match problem.status() {
        404 => Problem::new(400, "USER_UNKNOWN").detail("the subscriber has no policy data"),
        _ => problem,
    }
}
