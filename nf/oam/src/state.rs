//! The state of the function.
use crate::accounts::{self, Sessions};
use crate::audit::{Audit, Change};
use crate::caller::Caller;
use crate::config::ApiConfig;
use crate::core_access::CoreAccess;
use crate::events::Events;
use crate::jobs::Jobs;
use crate::location_requests::LocationRequests;
use crate::monitor::Monitor;
use crate::oidc::{Provider, ProviderError};
use crate::polled::Polled;
use crate::problem::Failure;
use crate::reader_limits::Readers;
use crate::replays::Replays;
use crate::subscriber_groups::GroupCache;
use crate::throttle::Throttle;
use aws_lc_rs::hmac;
use martlet_store::Store;
use serde_json::Value;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};

/// Password hashes that are computed at the same time: each takes 19 MiB while it is computed.
const HASHES: usize = 1;
/// Changes that run at the same time; others wait.
const CHANGES: usize = 256;
/// Live traces at the same time, each of which asks the UPF five times a second.
const MAX_TRACES: usize = 16;
/// Those of a user.
const MAX_TRACES_OF_USER: usize = 4;

/// Why the function does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A value of the configuration cannot be used.
    #[error("oam.api.{0}")]
    Config(#[from] crate::config_error::ConfigError),
    /// The store does not answer.
    #[error("the accounts cannot be read: {0}")]
    Accounts(String),
    /// The identity provider cannot be used.
    #[error("oam.api.oidc.{0}")]
    Provider(#[from] ProviderError),
    /// No random numbers.
    #[error("no random numbers")]
    Random,
}

/// The function's state, shared by all requests.
pub struct Oam {
    /// The configuration.
    pub config: ApiConfig,
    /// Host names of this machine.
    pub hosts: Vec<String>,
    /// The core.
    pub core: Arc<dyn CoreAccess>,
    /// Sessions of the console.
    pub sessions: Sessions,
    /// Rate limits and lockouts.
    pub throttle: Throttle,
    /// Events for readers.
    pub events: Events,
    /// Figures and alarms.
    pub monitor: Monitor,
    /// The results of the last poll of the core.
    pub polled: tokio::sync::Mutex<Polled>,
    /// Jobs.
    pub jobs: Jobs,
    /// Responses to requests with idempotency keys.
    pub replays: Replays,
    /// The identity provider.
    pub provider: Option<Arc<Provider>>,
    /// Held while the configuration file is compared and changed.
    pub configuration: tokio::sync::Mutex<()>,
    /// Groups of subscribers with their numbers.
    pub groups: GroupCache,
    /// Periodic location requests.
    pub locations: LocationRequests,
    /// Held while users, or the plan, are compared with an entity tag and changed.
    pub compared: tokio::sync::Mutex<()>,
    /// Held while the staged restore is compared and changed.
    pub restores: tokio::sync::Mutex<()>,
    /// Readers of live traces.
    pub(crate) traces: Arc<Readers>,
    /// Held while static addresses are compared with those of others and written.
    pub(crate) addresses: Mutex<()>,
    /// A permit for each change that runs.
    pub changes: Arc<Semaphore>,
    audit: Audit,
    store: Arc<Store>,
    tags: hmac::Key,
    hashes: Semaphore,
}

impl Oam {
    /// Makes the state, and the first administrator if there is no user yet: the second value is
    /// its one-time password. Blocks.
    ///
    /// # Errors
    /// The configuration is wrong, or the store does not answer.
    pub fn new(
        config: ApiConfig,
        hosts: Vec<String>,
        core: Arc<dyn CoreAccess>,
        store: Arc<Store>,
    ) -> Result<(Arc<Oam>, Option<String>), StartError> {
        if let Some(error) = config.check().into_iter().next() {
            return Err(error.into());
        }
        let provider = Provider::new(&config.oidc)?.map(Arc::new);
        let mut key = [0; 32];
        accounts::fill(&mut key).map_err(|_| StartError::Random)?;
        let first = match config.listen.is_some() && config.local_users {
            true => accounts::make_first_administrator(&store)
                .map_err(|failure| StartError::Accounts(failure.problem().detail.clone()))?,
            false => None,
        };
        let oam = Oam {
            throttle: Throttle::new(
                config.requests_per_minute,
                config.lockout_failures,
                Duration::from_secs(config.lockout_min * 60),
            ),
            events: Events::new(config.events),
            config,
            hosts,
            core,
            sessions: Sessions::default(),
            monitor: Monitor::default(),
            polled: Default::default(),
            jobs: Jobs::default(),
            replays: Replays::default(),
            provider,
            configuration: tokio::sync::Mutex::default(),
            groups: GroupCache::default(),
            locations: LocationRequests::default(),
            compared: tokio::sync::Mutex::default(),
            restores: tokio::sync::Mutex::default(),
            traces: Readers::new("live traces", MAX_TRACES, MAX_TRACES_OF_USER),
            addresses: Mutex::default(),
            changes: Arc::new(Semaphore::new(CHANGES)),
            audit: Audit::default(),
            store,
            tags: hmac::Key::new(hmac::HMAC_SHA256, &key),
            hashes: Semaphore::new(HASHES),
        };
        Ok((Arc::new(oam), first))
    }

    /// Runs a call of the store on a thread that may block.
    pub async fn store<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Store) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let store = self.store.clone();
        blocking(move || call(&store)).await
    }

    /// Waits for the turn to hash passwords. It lasts as long as what is returned.
    pub async fn turn_to_hash(&self) -> Option<SemaphorePermit<'_>> {
        self.hashes.acquire().await.ok()
    }

    /// The same as [`Oam::store`] for a call that hashes a password.
    pub async fn store_with_hash<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Store) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let _turn = self.turn_to_hash().await;
        self.store(call).await
    }

    /// Runs a call of the core on a thread that may block.
    pub async fn core_blocking<T: Send + 'static>(
        &self,
        call: impl FnOnce(&dyn CoreAccess) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let core = self.core.clone();
        blocking(move || Ok(call(&*core))).await
    }

    /// Records a change in the audit log.
    pub async fn record(
        self: &Arc<Self>,
        caller: &Caller,
        what: &'static str,
        target: impl Into<String>,
        before: Value,
        after: Value,
    ) -> Result<(), Failure> {
        let change = Change::by(caller, what, target, before, after);
        let oam = self.clone();
        self.store(move |store| oam.append(store, change)).await
    }

    /// The same in a call of the store, which ends although its job is cancelled. Blocks.
    pub fn append(&self, store: &Store, change: Change) -> Result<(), Failure> {
        let what = change.what;
        if what.starts_with("subscriber") || what.starts_with("sim-batch") {
            self.groups.clear();
        }
        tracing::info!(who = change.who, what, target = change.target, "changed over the API");
        self.audit.append(store, change, self.config.audit_entries)
    }

    /// Records a change in the audit log. Blocks.
    pub fn append_now(&self, change: Change) -> Result<(), Failure> {
        self.append(&self.store, change)
    }

    /// The audit log.
    pub fn audit(&self) -> &Audit {
        &self.audit
    }

    /// The entity tag of a value. Another process gives it another one.
    pub fn tag(&self, value: &Value) -> String {
        let tag = hmac::sign(&self.tags, value.to_string().as_bytes());
        format!("\"{}\"", hex::encode(&tag.as_ref()[..12]))
    }
}

async fn blocking<T: Send + 'static>(
    call: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let done = tokio::task::spawn_blocking(call).await;
    done.unwrap_or_else(|_| Err(Failure::unavailable("the request was cancelled")))
}
