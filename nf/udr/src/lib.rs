//! The UDR: serves subscriber data from the database to UDM and PCF (TS 23.501, 6.2.11; TS 29.504).
#![forbid(unsafe_code)]

mod config;
mod contexts;
mod cut_off;
mod data_change_notification;
mod influence_data;
mod problem;
mod provisioned;
mod repository;
mod version_1;

pub use config::UdrConfig;

use cut_off::CutOff;
use martlet_nf::{NetworkFunction, NfContext, NotReady, Shutdown, StartError, refuse_while};
use martlet_outage::Dependency;
use martlet_sbi::{Problem, Route};
use martlet_sbi_api::nnrf_nfmanagement::{DataSetId, NfProfile, NfType, UdrInfo};
use martlet_sbi_api::nudr_dr::NUDR_DR;
use martlet_store::{DatabaseUrl, Store, StoreError, Subscriber, SubscriberData};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The UDR.
pub struct Udr {
    context: Arc<NfContext>,
    config: UdrConfig,
    store: Arc<Store>,
    /// Access to the same store for requests of other functions.
    data: SubscriberData,
    /// The database, as readiness and log show it.
    database: Dependency,
    /// Whether it is cut off from the database, and another UDR is not.
    cut_off: CutOff,
    /// Subscribers, as last counted.
    subscribers: AtomicU64,
    last_subscription: AtomicU64,
}

/// Time limit of the last writes at the end.
const FLUSH_LIMIT: Duration = Duration::from_secs(2);

/// Interval at which the UDR checks whether writes fail, and probes them if so.
const PROBE_INTERVAL: Duration = Duration::from_millis(500);

impl Udr {
    /// Probes a database whose last write failed until one succeeds.
    async fn probe_writes(&self) {
        let mut failed: Option<Instant> = None;
        problem::set_writable(true);
        loop {
            tokio::time::sleep(PROBE_INTERVAL).await;
            let writable =
                self.store.failure().is_none() || self.stored(Store::probe).await.is_ok();
            match failed {
                None if !writable => {
                    failed = Some(Instant::now());
                    let remedy = self.store.failure().unwrap_or_default();
                    tracing::error!(remedy, "subscriber database cannot be written");
                }
                Some(since) if writable => {
                    failed = None;
                    let ms = since.elapsed().as_millis() as u64;
                    tracing::warn!(ms, "subscriber database can be written again");
                }
                _ => {}
            }
            problem::set_writable(writable);
        }
    }

    /// Calls the store: on a thread of its own if it waits for a server, so that this one answers
    /// other requests meanwhile.
    pub(crate) async fn stored<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        if !self.store.is_remote() {
            return call(&self.store);
        }
        let store = self.store.clone();
        let called = tokio::task::spawn_blocking(move || call(&store)).await;
        called.unwrap_or(Err(StoreError::Ended))
    }

    /// The same for a request of another function.
    pub(crate) async fn serve<T: Send + 'static>(
        &self,
        call: impl FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Problem> {
        self.stored(call).await.map_err(problem::of_store)
    }

    /// Counts the subscribers for the status.
    pub(crate) async fn count(&self) {
        if let Ok(count) = self.stored(Store::count).await {
            self.subscribers.store(count, Ordering::Relaxed);
        }
    }

    /// Returns a subscriber, or 404.
    async fn subscriber(&self, supi: &str) -> Result<Arc<Subscriber>, Problem> {
        let found = self.cut_off.or_refuse(self.data.subscriber(supi)).await?;
        found.ok_or_else(|| unknown(supi))
    }
}

/// 404 for a subscriber that does not exist.
pub(crate) fn unknown(supi: &str) -> Problem {
    Problem::new(404, "USER_NOT_FOUND").detail(format!("no subscriber {supi}"))
}

impl NetworkFunction for Udr {
    const TYPE: NfType = NfType::Udr;
    type Config = UdrConfig;

    async fn create(config: UdrConfig, context: Arc<NfContext>) -> Result<Arc<Self>, StartError> {
        let key_file =
            Some(Path::new(&config.key_file)).filter(|file| !file.as_os_str().is_empty());
        let url = DatabaseUrl::parse(&config.path);
        let opened = Store::open_at(&url, key_file);
        let store = opened.map_err(|error| StartError::database("udr.path", error))?;
        // Otherwise each authentication at this UDR would fail.
        store.check_key().map_err(|error| StartError::database("udr.path", error))?;
        let epoch =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        // Identities differ from those of earlier starts.
        let last_subscription = AtomicU64::new(epoch.as_millis() as u64);
        let subscribers = AtomicU64::new(store.count().unwrap_or_default());
        let database = Dependency::new("udr", "database", &url);
        let store = Arc::new(store);
        let interval = Duration::from_millis(config.flush_interval_ms.into());
        let data = SubscriberData::new(store.clone(), &url, config.connections, interval);
        let data = data.map_err(|error| StartError::database("udr.path", error))?;
        let cut_off = CutOff::new();
        Ok(Arc::new(Udr {
            context,
            config,
            store,
            data,
            database,
            cut_off,
            subscribers,
            last_subscription,
        }))
    }

    fn routes(self: &Arc<Self>) -> Vec<Route> {
        let udr = self.clone();
        let mut routes = refuse_while(NUDR_DR.routes(self.clone()), move || udr.cut_off.is_set());
        if !self.context.is_strict() {
            let older: Vec<_> = routes.iter().filter_map(|it| version_1::route(self, it)).collect();
            // After v2, which the profile names.
            routes.extend(older);
        }
        routes
    }

    fn profile(&self, profile: &mut NfProfile) {
        let sets = vec![DataSetId::Subscription, DataSetId::Policy, DataSetId::AAfti];
        profile.udr_info = Some(UdrInfo { supported_data_sets: Some(sets), ..Default::default() });
    }

    async fn run(self: Arc<Self>, shutdown: Shutdown) -> Result<(), StartError> {
        let interval = Duration::from_millis(self.config.flush_interval_ms.into());
        let failed = |error| problem::failed(&error);
        tokio::select! {
            () = self.probe_writes() => {}
            () = data_change_notification::run(&self) => {}
            () = self.store.group_commits(interval, failed) => {}
            () = self.data.listen() => {}
            () = self.data.lease_ahead() => {}
            () = shutdown.wait() => {}
        }
        if !matches!(tokio::time::timeout(FLUSH_LIMIT, self.data.flush()).await, Ok(Ok(()))) {
            tracing::error!("contexts of the last requests not written: database not available");
        }
        Ok(())
    }

    fn ready(&self) -> Result<(), NotReady> {
        if let Some(missing) = self.database.missing() {
            return Err(missing);
        }
        match self.store.failure() {
            None => Ok(()),
            Some(error) => Err(NotReady::Unwritable(error)),
        }
    }

    fn status(&self) -> serde_json::Value {
        // A database file answers at once; a server may not.
        if !self.store.is_remote() {
            match self.store.count() {
                Ok(count) => self.subscribers.store(count, Ordering::Relaxed),
                Err(error) => return serde_json::json!({"failure": error.to_string()}),
            }
        }
        if let Some(missing) = self.database.missing() {
            return serde_json::json!({"failure": missing.to_string()});
        }
        serde_json::json!({"subscribers": self.subscribers.load(Ordering::Relaxed),
            "database": DatabaseUrl::parse(&self.config.path).to_string()})
    }
}
