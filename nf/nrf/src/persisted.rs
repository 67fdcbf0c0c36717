//! Registrations and subscriptions, stored so that a restarted NRF has them at once.
//!
//! A restored instance is selected from the start. It has to confirm its registration with a
//! heartbeat within one heartbeat interval, since it may have ended while the NRF did not run.
use crate::config::NrfConfig;
use crate::registry::Entry;
use crate::{Nrf, State};
use martlet_context_store::{ContextStore, StoreError, StoredContexts};
use martlet_sbi_api::common::DateTime;
use martlet_sbi_api::nnrf_nfmanagement::{NfProfile, SubscriptionData};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tokio::time::Instant;

/// The owner of the stored values. An NRF is in no set.
const OWNER: &str = "nrf";

/// A stored instance.
#[derive(Debug, Serialize, Deserialize)]
struct PersistedInstance {
    profile: NfProfile,
    heartbeat_s: u64,
    /// See [`Entry::owner`].
    owner: Option<String>,
}

/// A stored subscription.
#[derive(Debug, Serialize, Deserialize)]
struct PersistedSubscription {
    data: SubscriptionData,
    /// Identity of the certificate that created it.
    owner: Option<String>,
    /// Host and port of the notifications.
    consumer: String,
}

/// Opens the store.
pub fn open(config: &NrfConfig) -> Result<(ContextStore, StoredContexts), StoreError> {
    ContextStore::open(&config.context_store, OWNER)
}

/// The name of a stored instance.
fn instance_name(id: &str) -> String {
    format!("instance {id}")
}

/// The name of a stored subscription.
fn subscription_name(id: &str) -> String {
    format!("subscription {id}")
}

/// Puts what is stored into the tables.
pub fn restore(state: &mut State, store: &ContextStore, stored: StoredContexts) {
    let now = Instant::now();
    let (mut instances, mut subscriptions) = (0, 0);
    for (name, value) in stored {
        let restored = match name.split_once(' ') {
            Some(("instance", _)) => restore_instance(state, &value, now).map(|()| instances += 1),
            Some(("subscription", _)) => {
                restore_subscription(state, &value, now).map(|()| subscriptions += 1)
            }
            _ => None,
        };
        if restored.is_none() {
            store.remove(name);
        }
    }
    if instances > 0 {
        tracing::info!(instances, subscriptions, "registrations restored");
    }
}

fn restore_instance(state: &mut State, value: &[u8], now: Instant) -> Option<()> {
    let stored: PersistedInstance = martlet_erased::from_json(value).ok()?;
    let interval = Duration::from_secs(stored.heartbeat_s);
    let PersistedInstance { profile, owner, .. } = stored;
    let entry = Entry { profile, owner, interval, seen: now, is_restored: true };
    state.registry.put(entry).ok().map(drop)
}

fn restore_subscription(state: &mut State, value: &[u8], now: Instant) -> Option<()> {
    let PersistedSubscription { data, owner, consumer } = martlet_erased::from_json(value).ok()?;
    let valid = data.validity_time.as_ref().map(DateTime::remaining)?;
    (!valid.is_zero()).then(|| state.subscriptions.restore(data, owner, consumer, now + valid))?
}

impl Nrf {
    /// Stores an instance as it is in the table, or removes it.
    pub(crate) fn persist_instance(&self, id: &str) {
        let persisted = self.state().registry.get(id).map(|entry| PersistedInstance {
            profile: entry.profile.clone(),
            heartbeat_s: entry.interval.as_secs(),
            owner: entry.owner.clone(),
        });
        match persisted.and_then(|instance| serde_json::to_vec(&instance).ok()) {
            Some(value) => self.store.put(instance_name(id), value),
            None => self.store.remove(instance_name(id)),
        }
    }

    /// Stores a subscription as it is in the table, or removes it.
    pub(crate) fn persist_subscription(&self, id: &str) {
        let persisted = {
            let state = self.state();
            state.subscriptions.get(id).map(|data| PersistedSubscription {
                data: data.clone(),
                owner: state.subscriptions.owner(id).map(String::from),
                consumer: state.subscriptions.consumer(id).unwrap_or_default().into(),
            })
        };
        match persisted.and_then(|subscription| serde_json::to_vec(&subscription).ok()) {
            Some(value) => self.store.put(subscription_name(id), value),
            None => self.store.remove(subscription_name(id)),
        }
    }
}
