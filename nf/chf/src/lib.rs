//! The CHF: converged charging of PDU sessions (TS 32.255; TS 32.290; TS 32.291).
//!
//! Each subscriber has an account of bytes, granted to its sessions in parts, and each session has
//! a record. Both are persistent. `martlet charging` shows and sets them.
#![forbid(unsafe_code)]

mod accounts;
mod config;
mod service;

pub use accounts::{Account, Accounts, Change, Grant, Record, Usage};
pub use config::ChfConfig;

use martlet_context_store::ContextStore;
use martlet_nf::{NetworkFunction, NfContext, NotReady, StartError};
use martlet_sbi::{BoxFuture, Problem, Route};
use martlet_sbi_api::nchf_converged_charging::NCHF_CONVERGEDCHARGING;
use martlet_sbi_api::nnrf_nfmanagement::NfType;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// Maximum number of records shown.
const MAX_SHOWN: usize = 1000;

/// The CHF.
pub struct Chf {
    config: ChfConfig,
    context: Arc<NfContext>,
    accounts: Mutex<Accounts>,
    /// The notification URI of each session's SMF.
    notify: Mutex<HashMap<u64, String>>,
    /// The database of accounts and records.
    store: ContextStore,
}

impl Chf {
    fn accounts(&self) -> MutexGuard<'_, Accounts> {
        self.accounts.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn notify(&self) -> MutexGuard<'_, HashMap<u64, String>> {
        self.notify.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Stores changed accounts and records.
    fn persist(&self, accounts: &Accounts, changed: &[Change]) {
        for one in changed {
            let (id, value) = match one {
                Change::Account(supi) => (
                    format!("account {supi}"),
                    accounts.account_of(supi).and_then(|account| serde_json::to_vec(account).ok()),
                ),
                Change::Record(id) => (
                    format!("record {id}"),
                    accounts.record(*id).and_then(|record| serde_json::to_vec(record).ok()),
                ),
                Change::Removed(id) => (format!("record {id}"), None),
            };
            match value {
                Some(value) => self.store.put(id, value),
                None => self.store.remove(id),
            }
        }
    }

    /// `martlet charging`: all accounts and records, or one subscriber's.
    fn show(&self, supi: Option<&str>) -> serde_json::Value {
        let accounts = self.accounts();
        let shown: serde_json::Map<_, _> = accounts
            .accounts()
            .iter()
            .filter(|(of, _)| supi.is_none_or(|supi| *of == supi))
            .map(|(of, account)| (of.clone(), serde_json::json!(account)))
            .collect();
        let records: Vec<_> = accounts
            .records(supi, MAX_SHOWN)
            .into_iter()
            .map(|(_, record)| serde_json::json!(record))
            .collect();
        serde_json::json!({"accounts": shown, "records": records})
    }

    /// `martlet charging set`: sets an account and notifies the SMFs of its sessions.
    fn set(self: &Arc<Self>, supi: &str, left: Option<u64>) -> serde_json::Value {
        let sessions = {
            let mut accounts = self.accounts();
            let sessions = accounts.set(supi, left);
            self.persist(&accounts, &[Change::Account(supi.to_string())]);
            sessions
        };
        let chf = self.clone();
        martlet_nf::spawn(async move { service::reauthorize(&chf, &sessions).await });
        self.show(Some(supi))
    }
}

impl NetworkFunction for Chf {
    const TYPE: NfType = NfType::Chf;
    type Config = ChfConfig;

    async fn create(config: ChfConfig, context: Arc<NfContext>) -> Result<Arc<Self>, StartError> {
        let failed =
            |error| StartError(format!("{error}; `chf.context_store` configures the database"));
        let (store, stored) = ContextStore::open(&config.context_store, "chf").map_err(failed)?;
        let mut accounts =
            Accounts::new(config.quota, config.grant, config.max_sessions, config.max_records);
        let mut records = Vec::new();
        for (id, value) in stored {
            match id.split_once(' ') {
                Some(("account", supi)) => {
                    if let Ok(account) = serde_json::from_slice(&value) {
                        accounts.restore_account(supi.to_string(), account);
                    }
                }
                Some(("record", number)) => {
                    records.extend(
                        number
                            .parse::<u64>()
                            .ok()
                            .zip(serde_json::from_slice::<Record>(&value).ok()),
                    );
                }
                _ => {}
            }
        }
        // In order of their end.
        records.sort_unstable_by_key(|(id, _)| *id);
        records.into_iter().for_each(|(id, record)| accounts.restore_record(id, record));
        Ok(Arc::new(Chf {
            config,
            context,
            accounts: Mutex::new(accounts),
            notify: Mutex::default(),
            store,
        }))
    }

    fn routes(self: &Arc<Self>) -> Vec<Route> {
        NCHF_CONVERGEDCHARGING.routes(self.clone())
    }

    fn ask(
        self: &Arc<Self>,
        question: &str,
    ) -> Option<BoxFuture<'static, Result<serde_json::Value, Problem>>> {
        let words: Vec<&str> = question.split('/').collect();
        let answer = match words.as_slice() {
            ["charging"] => Ok(self.show(None)),
            ["charging", supi] => Ok(self.show(Some(supi))),
            ["charging", supi, "unlimited"] => Ok(self.set(supi, None)),
            ["charging", supi, octets] => match octets.parse() {
                Ok(octets) => Ok(self.set(supi, Some(octets))),
                Err(_) => Err(Problem::new(400, "INVALID_QUERY_PARAM")
                    .detail("bytes are a number, or unlimited")),
            },
            _ => return None,
        };
        Some(Box::pin(async move { answer }))
    }

    fn ready(&self) -> Result<(), NotReady> {
        self.store.ready()
    }

    fn status(&self) -> serde_json::Value {
        let accounts = self.accounts();
        serde_json::json!({"sessions": accounts.active(), "accounts": accounts.accounts().len()})
    }
}
