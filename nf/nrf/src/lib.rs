//! The NRF: registration, discovery, status notification and access tokens of NF instances (TS
//! 23.501, 6.2.6; TS 29.510).
#![forbid(unsafe_code)]

mod access_token;
mod authorisation;
mod config;
mod discovery;
mod management;
mod matching;
mod notification;
mod persisted;
mod registry;
mod subscriptions;

pub use config::{Interop, NrfConfig};

use martlet_context_store::ContextStore;
use martlet_nf::{NetworkFunction, NfContext, NotReady, Shutdown, StartError};
use martlet_sbi::Route;
use martlet_sbi_api::nnrf_nfdiscovery::NNRF_DISC;
use martlet_sbi_api::nnrf_nfmanagement::{NNRF_NFM, NfType};
use registry::Registry;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use subscriptions::Subscriptions;
use tokio::time::Instant;

/// Interval of the check for missing heartbeats.
const SWEEP: Duration = Duration::from_millis(500);

/// The NRF.
pub struct Nrf {
    context: Arc<NfContext>,
    config: NrfConfig,
    state: Mutex<State>,
    /// Signs access tokens. None: no tokens.
    signer: Option<access_token::Signer>,
    /// The stored registrations and subscriptions.
    store: ContextStore,
}

/// The tables, behind a lock that is never held across an await.
struct State {
    registry: Registry,
    subscriptions: Subscriptions,
}

impl Nrf {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl NetworkFunction for Nrf {
    const TYPE: NfType = NfType::Nrf;
    type Config = NrfConfig;

    async fn create(config: NrfConfig, context: Arc<NfContext>) -> Result<Arc<Self>, StartError> {
        let registry = Registry::new(config.max_instances);
        let subscriptions =
            Subscriptions::new(config.max_subscriptions, config.max_subscriptions_per_consumer);
        let signer = config
            .token_key
            .as_deref()
            .map(access_token::Signer::load)
            .transpose()
            .map_err(|error| StartError::config("nrf.token_key", error))?;
        let mut state = State { registry, subscriptions };
        let (store, stored) = persisted::open(&config)
            .map_err(|error| StartError::database("nrf.context_store", error))?;
        persisted::restore(&mut state, &store, stored);
        Ok(Arc::new(Nrf { context, config, state: Mutex::new(state), signer, store }))
    }

    fn routes(self: &Arc<Self>) -> Vec<Route> {
        let mut routes = NNRF_NFM.routes(self.clone());
        routes.extend(NNRF_DISC.routes(self.clone()));
        routes.extend(access_token::routes(self.clone()));
        routes
    }

    /// Suspends instances without heartbeats, and removes them later (TS 29.510, 5.2.2.3.2).
    async fn run(self: Arc<Self>, shutdown: Shutdown) -> Result<(), StartError> {
        loop {
            tokio::select! {
                () = shutdown.wait() => return Ok(()),
                () = tokio::time::sleep(SWEEP) => self.sweep(Instant::now()),
            }
        }
    }

    fn ready(&self) -> Result<(), NotReady> {
        self.store.ready()
    }

    fn status(&self) -> serde_json::Value {
        let state = self.state();
        let list = state.registry.iter().map(|entry| {
            serde_json::json!({
                "type": entry.profile.nf_type.as_str(),
                "id": entry.profile.nf_instance_id.as_str(),
                "status": entry.profile.nf_status.as_str(),
            })
        });
        serde_json::json!({"registered": list.collect::<Vec<_>>(),
            "subscriptions": state.subscriptions.len(), "context_store": self.store.status()})
    }
}
