//! The CHF: converged charging of PDU sessions (TS 32.255; TS 32.290; TS 32.291).
//!
//! Each subscriber has an account of bytes, granted to its sessions in parts, and each session has
//! a record. Both are persistent. `martlet charging` shows and sets them.
#![forbid(unsafe_code)]

mod accounts;
mod config;
mod key;
mod service;
mod set;

pub use accounts::{Account, Accounts, Grant, Record, Usage};
pub use config::ChfConfig;
pub use key::Key;
pub use set::SetConfig;

use martlet_context_store::ContextStore;
use martlet_nf::oam::Paths;
use martlet_nf::{NetworkFunction, NfContext, NotReady, Shutdown, StartError};
use martlet_sbi::{BoxFuture, Problem, Route};
use martlet_sbi_api::nchf_converged_charging::NCHF_CONVERGEDCHARGING;
use martlet_sbi_api::nnrf_nfmanagement::{NfProfile, NfType};
use set::{Server, Set};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};

/// Maximum number of records shown.
const MAX_SHOWN: usize = 1000;

/// The CHF.
pub struct Chf {
    config: ChfConfig,
    context: Arc<NfContext>,
    accounts: Mutex<Accounts>,
    /// The database of accounts and records.
    store: Arc<ContextStore>,
    /// The set that shares the database.
    set: Option<Set>,
}

impl Chf {
    fn accounts(&self) -> MutexGuard<'_, Accounts> {
        self.accounts.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Stores changed accounts and records, and deletes those that were removed.
    fn persist(&self, accounts: &Accounts, changed: &[Key]) {
        for key in changed {
            let value = match key {
                Key::Account(supi) => {
                    accounts.account_of(supi).and_then(|account| serde_json::to_vec(account).ok())
                }
                Key::Record(id) => {
                    accounts.record(*id).and_then(|record| serde_json::to_vec(record).ok())
                }
            };
            match value {
                Some(value) => self.store.put(key.to_string(), value),
                None => self.store.remove(key.to_string()),
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
            .map(|(_, record)| serde_json::json!(Record { notify_uri: None, ..record.clone() }))
            .collect();
        serde_json::json!({"accounts": shown, "records": records})
    }

    /// `martlet charging --set`: sets an account and notifies the SMFs of its sessions. With a
    /// version, an account that was set since is left as it is.
    async fn set(
        self: Arc<Self>,
        supi: String,
        left: Option<u64>,
        version: Option<u64>,
    ) -> Result<serde_json::Value, Problem> {
        let supi = supi.as_str();
        if let Server::Other(owner, _) = self.server_of(&Key::Account(supi.into())).await? {
            let detail = format!("the account is at the CHF {owner}: send the command there");
            return Err(Problem::new(409, "RESOURCE_AT_OTHER_MEMBER").detail(detail));
        }
        let sessions = {
            let mut accounts = self.accounts();
            if version.is_some_and(|version| version != accounts.version(supi)) {
                let detail = "the quota was set meanwhile: read the account again";
                return Err(Problem::new(412, "VERSION_CONFLICT").detail(detail));
            }
            let sessions = accounts.set(supi, left);
            self.persist(&accounts, &[Key::Account(supi.to_string())]);
            sessions
        };
        let chf = self.clone();
        martlet_nf::spawn(async move { service::reauthorize(&chf, &sessions).await });
        Ok(self.show(Some(supi)))
    }
}

/// What the command line and the API request of the CHF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OamRequest {
    Show,
    Set,
}

static REQUESTS: LazyLock<Paths<OamRequest>> = LazyLock::new(|| {
    Paths::new([
        ("charging", OamRequest::Show),
        ("charging/{supi}", OamRequest::Show),
        ("charging/{supi}/{bytes}", OamRequest::Set),
        ("charging/{supi}/{bytes}/{version}", OamRequest::Set),
    ])
});

impl NetworkFunction for Chf {
    const TYPE: NfType = NfType::Chf;
    type Config = ChfConfig;

    async fn create(config: ChfConfig, context: Arc<NfContext>) -> Result<Arc<Self>, StartError> {
        let failed = |error| StartError::database("chf.context_store", error);
        let set = config.set.as_ref();
        let (store, stored) =
            ContextStore::open(&config.context_store, &set::owner(set)).map_err(failed)?;
        let mut accounts = Accounts::new(
            config.quota,
            config.grant,
            config.max_sessions,
            config.max_records,
            set::last_number(set),
        );
        set::restore(&mut accounts, stored);
        let set = Set::open(set, &config.context_store).map_err(failed)?;
        let chf = Arc::new(Chf {
            config,
            context,
            accounts: Mutex::new(accounts),
            store: Arc::new(store),
            set,
        });
        chf.announce();
        Ok(chf)
    }

    fn routes(self: &Arc<Self>) -> Vec<Route> {
        NCHF_CONVERGEDCHARGING.routes(self.clone())
    }

    fn profile(&self, profile: &mut NfProfile) {
        profile.nf_set_id_list = self.config.set.as_ref().map(|set| vec![set.member().set_name()]);
    }

    async fn run(self: Arc<Self>, shutdown: Shutdown) -> Result<(), StartError> {
        tokio::select! {
            () = shutdown.wait() => Ok(()),
            () = self.observe_leases() => Ok(()),
            superseded = self.store.watch(|id| self.revoked(id)) => {
                Err(StartError::Superseded(superseded.into()))
            }
        }
    }

    fn ask(
        self: &Arc<Self>,
        question: &str,
    ) -> Option<BoxFuture<'static, Result<serde_json::Value, Problem>>> {
        let (request, segments) = REQUESTS.find(question)?;
        let mut segments = segments.into_iter();
        let supi = segments.next();
        if let OamRequest::Show = request {
            let shown = self.show(supi.as_deref());
            return Some(Box::pin(async move { Ok(shown) }));
        }
        let (supi, left) = (supi?, segments.next()?);
        let left = match left.as_str() {
            "unlimited" => Ok(None),
            bytes => bytes.parse().map(Some),
        };
        let version = segments.next().map(|version| version.parse::<u64>()).transpose();
        let chf = self.clone();
        Some(Box::pin(async move {
            let left = left.map_err(|_| {
                Problem::new(400, "INVALID_QUERY_PARAM").detail("bytes are a number, or unlimited")
            })?;
            let version = version.map_err(|_| {
                Problem::new(400, "INVALID_QUERY_PARAM").detail("the version is a number")
            })?;
            chf.set(supi, left, version).await
        }))
    }

    fn ready(&self) -> Result<(), NotReady> {
        self.store.ready()
    }

    fn status(&self) -> serde_json::Value {
        let accounts = self.accounts();
        serde_json::json!({"sessions": accounts.active(), "accounts": accounts.accounts().len()})
    }
}

#[cfg(test)]
mod tests {
    use super::{OamRequest, REQUESTS};

    #[test]
    fn requests_are_found_by_their_paths() {
        let found = |path: &str| REQUESTS.find(path).map(|(request, all)| (request, all.len()));
        assert_eq!(found("charging"), Some((OamRequest::Show, 0)));
        assert_eq!(found("charging/imsi-1"), Some((OamRequest::Show, 1)));
        assert_eq!(found("charging/imsi-1/unlimited"), Some((OamRequest::Set, 2)));
        assert_eq!(found("charging/imsi-1/5000/7"), Some((OamRequest::Set, 3)));
        assert_eq!(found("charging/imsi-1/5000/7/8"), None);
    }
}
