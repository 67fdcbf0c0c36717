//! The UDM: de-conceals SUCIs, generates authentication vectors, and serves subscription data and
//! registrations, with the data of the UDR (TS 23.501, 6.2.7).
#![forbid(unsafe_code)]

mod config;
mod context_locks;
mod data_change_notification;
mod home_network_keys;
mod metrics;
mod sdm;
mod ueau;
mod uecm;

pub use config::UdmConfig;
pub use home_network_keys::{HomeNetworkKey, KeyError, KeyPair, Scheme, generate_key_pair};

use context_locks::ContextLocks;
use martlet_interop::{Quirk, SbiQuirk};
use martlet_nf::{NetworkFunction, NfContext, Shutdown, StartError};
use martlet_sbi::{Problem, Route};
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use martlet_sbi_api::nudm_sdm::NUDM_SDM;
use martlet_sbi_api::nudm_ueau::NUDM_UEAU;
use martlet_sbi_api::nudm_uecm::NUDM_UECM;
use martlet_sbi_api::nudr_callback::NUDR_DATA_CALLBACK;
use martlet_sbi_api::nudr_dr::UdrDataRepositoryClient;
use martlet_security::sidf::HomeNetworkKeys;
use std::sync::{Arc, RwLock};

/// The UDM.
pub struct Udm {
    context: Arc<NfContext>,
    config: UdmConfig,
    /// The SIDF's keys. Replaced when the configuration is reloaded.
    sidf: RwLock<Arc<Sidf>>,
    /// Locks of the registrations that requests change.
    locks: ContextLocks,
}

/// The subscription identifier de-concealing function (TS 33.501, 6.12.5).
pub(crate) struct Sidf {
    keys: HomeNetworkKeys,
    /// Whether the null scheme is accepted.
    null_scheme: bool,
}

impl Sidf {
    fn new(config: &UdmConfig) -> Result<Arc<Self>, KeyError> {
        Ok(Arc::new(Sidf {
            keys: home_network_keys::load(&config.home_network_keys)?,
            null_scheme: config.null_scheme,
        }))
    }
}

impl Udm {
    /// A client of the UDR, for requests about one subscriber.
    async fn udr(&self, supi: &str) -> Result<UdrDataRepositoryClient, Problem> {
        let peer = self.context.discover_for(supi, NfType::Udr, "nudr-dr").await?;
        Ok(UdrDataRepositoryClient::new(peer).about(supi))
    }

    /// The current SIDF.
    pub(crate) fn sidf(&self) -> Arc<Sidf> {
        self.sidf.read().unwrap_or_else(|e| e.into_inner()).clone()
    }

    /// The serving network as in the UDR's paths.
    fn serving_plmn(&self, asked: Option<&str>) -> String {
        asked.unwrap_or(&self.config.home_plmn).to_string()
    }
}

/// The same operation with version v1 in its path.
fn as_v1(route: &Route) -> Route {
    // Leaked once per operation, at start.
    let operation = Box::leak(Box::new(route.operation.at_version("v1")));
    let handler = route.handler.clone();
    Route {
        operation,
        handler: Arc::new(move |parameters, query, request| {
            SbiQuirk::SdmVersion1.met("udm", request.user_agent().unwrap_or("unknown"));
            handler(parameters, query, request)
        }),
    }
}

impl NetworkFunction for Udm {
    const TYPE: NfType = NfType::Udm;
    type Config = UdmConfig;

    async fn create(config: UdmConfig, context: Arc<NfContext>) -> Result<Arc<Self>, StartError> {
        let sidf = Sidf::new(&config)
            .map_err(|error| StartError::config("udm.home_network_keys", error))?;
        let locks = ContextLocks::default();
        Ok(Arc::new(Udm { context, config, sidf: RwLock::new(sidf), locks }))
    }

    fn routes(self: &Arc<Self>) -> Vec<Route> {
        let mut routes = NUDM_UEAU.routes(self.clone());
        routes.extend(NUDM_UECM.routes(self.clone()));
        let sdm = NUDM_SDM.routes(self.clone());
        let older = self.config.sdm_v1.then(|| sdm.iter().map(as_v1).collect::<Vec<_>>());
        routes.extend(sdm);
        // After v2, which the profile names.
        routes.extend(older.into_iter().flatten());
        routes.extend(NUDR_DATA_CALLBACK.routes(self.clone()));
        routes
    }

    async fn run(self: Arc<Self>, shutdown: Shutdown) -> Result<(), StartError> {
        tokio::select! {
            () = data_change_notification::subscribe(&self) => shutdown.wait().await,
            () = shutdown.wait() => {}
        }
        Ok(())
    }

    /// Replaces the home network keys, so that keys can be rotated while the UDM runs.
    fn reload(self: &Arc<Self>, config: UdmConfig) -> Option<String> {
        let sidf = Sidf::new(&config).ok()?;
        let applied = format!(
            "{} home network keys, null scheme {}",
            config.home_network_keys.len(),
            config.null_scheme
        );
        *self.sidf.write().unwrap_or_else(|e| e.into_inner()) = sidf;
        Some(applied)
    }

    fn status(&self) -> serde_json::Value {
        let key = |(scheme, id, octets): (u8, u8, Vec<u8>)| {
            let profile = if scheme == 1 { "A" } else { "B" };
            serde_json::json!({"profile": profile, "id": id, "public": hex::encode(octets)})
        };
        let keys: Vec<_> = self.sidf().keys.public_keys().into_iter().map(key).collect();
        serde_json::json!({"home network keys": keys})
    }
}
