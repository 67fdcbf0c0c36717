//! The UDR: serves subscriber data from the database to UDM and PCF (TS 23.501, 6.2.11; TS 29.504).
#![forbid(unsafe_code)]

mod config;
mod contexts;
mod data_change_notification;
mod problem;
mod provisioned;
mod repository;

pub use config::UdrConfig;

use martlet_nf::{NetworkFunction, NfContext, Shutdown, StartError};
use martlet_sbi::{Problem, Route};
use martlet_sbi_api::nnrf_nfmanagement::{DataSetId, NfProfile, NfType, UdrInfo};
use martlet_sbi_api::nudr_dr::NUDR_DR;
use martlet_store::{DatabaseUrl, Store, Subscriber};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// The UDR.
pub struct Udr {
    context: Arc<NfContext>,
    config: UdrConfig,
    store: Store,
    last_subscription: AtomicU64,
}

/// Interval at which the UDR looks whether writes fail, and then probes them.
const PROBE_INTERVAL: Duration = Duration::from_millis(500);

impl Udr {
    /// Probes a database whose last write failed until one succeeds.
    async fn probe_writes(&self) {
        let mut was_writable = true;
        problem::set_writable(true);
        loop {
            tokio::time::sleep(PROBE_INTERVAL).await;
            let writable = self.store.failure().is_none() || self.store.probe().is_ok();
            if writable && !was_writable {
                tracing::info!("subscriber database can be written again");
            }
            was_writable = writable;
            problem::set_writable(writable);
        }
    }

    /// Returns a subscriber, or 404.
    fn subscriber(&self, supi: &str) -> Result<Arc<Subscriber>, Problem> {
        let found = self.store.subscriber(supi).map_err(problem::of_store)?;
        found.ok_or_else(|| {
            Problem::new(404, "USER_NOT_FOUND").detail(format!("no subscriber {supi}"))
        })
    }
}

impl NetworkFunction for Udr {
    const TYPE: NfType = NfType::Udr;
    type Config = UdrConfig;

    async fn create(config: UdrConfig, context: Arc<NfContext>) -> Result<Arc<Self>, StartError> {
        let key_file =
            Some(Path::new(&config.key_file)).filter(|file| !file.as_os_str().is_empty());
        let url = DatabaseUrl::parse(&config.path);
        let opened = Store::open_at(&url, key_file);
        let store =
            opened.map_err(|e| StartError(format!("{e}; `udr.path` configures the database")))?;
        let epoch =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        // Identities differ from those of earlier starts.
        let last_subscription = AtomicU64::new(epoch.as_millis() as u64);
        Ok(Arc::new(Udr { context, config, store, last_subscription }))
    }

    fn routes(self: &Arc<Self>) -> Vec<Route> {
        NUDR_DR.routes(self.clone())
    }

    fn profile(&self, profile: &mut NfProfile) {
        let sets = vec![DataSetId::Subscription, DataSetId::Policy];
        profile.udr_info = Some(UdrInfo { supported_data_sets: Some(sets), ..Default::default() });
    }

    async fn run(self: Arc<Self>, shutdown: Shutdown) -> Result<(), StartError> {
        let interval = Duration::from_millis(self.config.flush_interval_ms.into());
        let failed = |error| problem::failed(&error);
        tokio::select! {
            () = self.probe_writes() => {}
            () = data_change_notification::run(&self) => {}
            () = self.store.group_commits(interval, failed) => {}
            () = shutdown.wait() => {}
        }
        Ok(())
    }

    fn ready(&self) -> Result<(), String> {
        match self.store.failure() {
            None => Ok(()),
            Some(error) => Err(format!(
                "the subscriber database cannot be written ({error}): make room on its disk"
            )),
        }
    }

    fn status(&self) -> serde_json::Value {
        match self.store.count() {
            Ok(count) => {
                serde_json::json!({"subscribers": count,
                    "database": DatabaseUrl::parse(&self.config.path).to_string()})
            }
            Err(error) => serde_json::json!({"failure": error.to_string()}),
        }
    }
}
