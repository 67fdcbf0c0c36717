//! CHF sets (TS 23.501, 5.21.3): each member serves each subscriber.
//!
//! An account and the records of its subscriber belong to one member, so that no byte is granted
//! twice. A member that gets a request about another one's account forwards it. When the other one
//! does not respond, and its lease is over, the member takes all of its accounts and records over.
//!
//! ```text
//! SMF             CHF 2            database        CHF 1
//!  |-- create ----->|-- owner? -------->|            |
//!  |                |-- create ---------------------->|   CHF 1 responds: its answer is returned
//!  |                |-- take over ----->|                 CHF 1 does not: CHF 2 serves
//!  |<-- 201 --------|
//! ```
use crate::{Accounts, Chf, Key, Record};
use martlet_context_store::{ContextStoreConfig, SetContexts, StoreError, StoredContexts};
use martlet_nf::{SetMember, nf_set};
use martlet_sbi::{ApiRoot, Problem};
use martlet_sbi_api::nchf_converged_charging::ChfConvergedChargingClient;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Contexts that one transaction takes over.
const BATCH: usize = 256;
/// Time limit of the write of a new account.
const WRITE_TIMEOUT: Duration = Duration::from_secs(3);
/// Attempts to find the owner of an account while it changes.
const ATTEMPTS: usize = 4;

/// A member's own entry; its value is the API root of its services.
const MEMBER: &str = "chf";

/// Membership in a CHF set. All members have the same database and the same section `chf`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetConfig {
    /// Identity of the set: letters and digits.
    pub id: String,
    /// Number of this CHF in the set, 0 to 127.
    pub member: u8,
    /// MCC and MNC without a separator, such as `00101`.
    #[serde(default = "nf_set::default_plmn")]
    pub plmn: String,
}

impl SetConfig {
    /// This CHF in its set.
    pub(crate) fn member(&self) -> SetMember<'_> {
        SetMember { nf: "chf", id: &self.id, member: self.member, plmn: &self.plmn }
    }
}
/// The name under which a CHF stores its accounts and records.
pub fn owner(set: Option<&SetConfig>) -> String {
    set.map_or_else(|| MEMBER.into(), |set| set.member().owner())
}

/// The number before that of the first session of this process. SMFs may hold numbers of a former
/// process that it did not store before it was killed.
pub fn last_number(set: Option<&SetConfig>) -> u64 {
    set.map_or_else(nf_set::last_number_without_set, |set| nf_set::last_number(set.member))
}

/// The set of a CHF.
pub struct Set {
    prefix: String,
    own: String,
    contexts: Arc<SetContexts>,
    /// One takeover at a time.
    taking_over: tokio::sync::Mutex<()>,
}

impl Set {
    /// The set; `None` for a CHF without one, or without a database.
    ///
    /// # Errors
    /// The database cannot be opened.
    pub fn open(
        config: Option<&SetConfig>,
        store: &ContextStoreConfig,
    ) -> Result<Option<Set>, StoreError> {
        let Some(config) = config.filter(|_| store.is_enabled()) else { return Ok(None) };
        let own = owner(Some(config));
        let contexts = SetContexts::open(store, Some(&own))?;
        let prefix = config.member().owner_prefix();
        Ok(Some(Set { prefix, own, contexts, taking_over: tokio::sync::Mutex::default() }))
    }
}

impl Set {
    /// The member that gave a session its number.
    fn member_of(&self, id: u64) -> String {
        format!("{}{}", self.prefix, nf_set::member_of(id))
    }
}

/// Where an account is.
pub enum Server {
    /// Here.
    Here,
    /// At another member with this name.
    Other(String, Box<ChfConvergedChargingClient>),
}

fn unavailable(why: impl fmt::Display) -> Problem {
    Problem::new(503, "SYSTEM_FAILURE").detail(format!("accounts of the CHF set: {why}"))
}

/// Runs a call that blocks until the database answers.
async fn blocking<T: Send + 'static>(
    call: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, Problem> {
    match tokio::task::spawn_blocking(call).await {
        Ok(outcome) => outcome.map_err(unavailable),
        Err(_) => Err(unavailable("the request to the database ended")),
    }
}

/// Restores stored accounts and records, records in the order of their numbers.
pub fn restore(accounts: &mut Accounts, stored: StoredContexts) {
    let mut records = Vec::new();
    for (id, value) in stored {
        match Key::parse(&id) {
            Some(Key::Account(supi)) => {
                if let Ok(account) = martlet_erased::from_json(&value) {
                    accounts.restore_account(supi, account);
                }
            }
            Some(Key::Record(id)) => records
                .extend(martlet_erased::from_json::<Record>(&value).map(|record| (id, record))),
            None => {}
        }
    }
    records.sort_unstable_by_key(|(id, _)| *id);
    records.into_iter().for_each(|(id, record)| accounts.restore_record(id, record));
}

impl Chf {
    /// Stores the API root for the other members.
    pub(crate) fn announce(&self) {
        if self.set.is_some() {
            let root = serde_json::to_vec(self.context.api_root()).unwrap_or_default();
            self.store.put(MEMBER, root);
        }
    }

    /// Reads the leases of the set twice in the time of one, so that a takeover does not wait for a
    /// lease that ended before. Does not return.
    pub(crate) async fn observe_leases(&self) {
        let Some(set) = &self.set else { return std::future::pending().await };
        loop {
            let (contexts, prefix) = (set.contexts.clone(), set.prefix.clone());
            // Without a reading, a takeover waits longer.
            let _ = blocking(move || contexts.observe_leases(&prefix)).await;
            tokio::time::sleep(set.contexts.lease() / 2).await;
        }
    }

    /// Forgets what another member has taken over.
    pub(crate) fn revoked(&self, id: &str) {
        match Key::parse(id) {
            Some(Key::Account(supi)) => self.accounts().forget_account(&supi),
            Some(Key::Record(id)) => self.accounts().forget_record(id),
            None => {}
        }
    }

    /// The member that serves an account or record. An account that no member has is created here.
    ///
    /// # Errors
    /// The database fails.
    pub(crate) async fn server_of(&self, key: &Key) -> Result<Server, Problem> {
        let Some(set) = &self.set else { return Ok(Server::Here) };
        for _ in 0..ATTEMPTS {
            if self.accounts().has(key) {
                if self.store.is_owner(key).await {
                    return Ok(Server::Here);
                }
                self.revoked(&key.to_string());
            }
            let owner = self.owner_of(set, key).await?;
            match (owner, key) {
                (Some(owner), _) if owner != set.own => {
                    match self.server_at(set, owner.clone()).await? {
                        Some(server) => return Ok(server),
                        None => self.take_over(&owner).await?,
                    }
                }
                // Another request is taking it over.
                (Some(_), _) => drop(set.taking_over.lock().await),
                (None, Key::Account(supi)) => {
                    if self.create_account(set, supi).await? {
                        return Ok(Server::Here);
                    }
                }
                // The member that created it may not have written it yet.
                (None, Key::Record(id)) => {
                    let creator = set.member_of(*id);
                    let is_own = creator == set.own;
                    let server = if is_own { None } else { self.server_at(set, creator).await? };
                    return Ok(server.unwrap_or(Server::Here));
                }
            }
        }
        Err(unavailable(format!("{key} changes its member")))
    }

    /// The member with a name; `None` if it has never stored where it is.
    async fn server_at(&self, set: &Set, owner: String) -> Result<Option<Server>, Problem> {
        let (contexts, name) = (set.contexts.clone(), owner.clone());
        let root = blocking(move || contexts.peer(&name).context(MEMBER)).await?;
        let root = root.and_then(|root| martlet_erased::from_json::<ApiRoot>(&root).ok());
        Ok(root.map(|root| {
            let peer = self.context.peer_at(root);
            Server::Other(owner, Box::new(ChfConvergedChargingClient::new(peer)))
        }))
    }

    async fn owner_of(&self, set: &Set, key: &Key) -> Result<Option<String>, Problem> {
        let (contexts, prefix, id) = (set.contexts.clone(), set.prefix.clone(), key.to_string());
        blocking(move || contexts.owner_of(&prefix, &id)).await
    }

    /// Creates an account that no member has. Returns `false` if another member did at the same
    /// time: that with the lowest name keeps it.
    async fn create_account(&self, set: &Set, supi: &str) -> Result<bool, Problem> {
        let key = Key::Account(supi.into());
        {
            let mut accounts = self.accounts();
            accounts.create_account(supi);
            self.persist(&accounts, std::slice::from_ref(&key));
        }
        let store = self.store.clone();
        let is_written = blocking(move || Ok(store.flush(WRITE_TIMEOUT))).await;
        let owner = match is_written {
            Ok(true) => self.owner_of(set, &key).await,
            Ok(false) => Err(unavailable("the database does not answer")),
            Err(problem) => Err(problem),
        };
        let is_own = matches!(&owner, Ok(Some(owner)) if *owner == set.own);
        if !is_own {
            self.accounts().forget_account(supi);
            self.store.remove(key.to_string());
        }
        owner.map(|_| is_own)
    }

    /// Takes over all accounts and records of a member whose lease is over.
    ///
    /// # Errors
    /// The database fails.
    pub(crate) async fn take_over(&self, owner: &str) -> Result<(), Problem> {
        let Some(set) = &self.set else { return Ok(()) };
        let _taking_over = set.taking_over.lock().await;
        let started = Instant::now();
        let peer = set.contexts.peer(owner);
        let contexts = peer.clone();
        let all = blocking(move || contexts.contexts()).await?;
        let ids: Vec<String> =
            all.into_iter().map(|(id, _)| id).filter(|id| Key::parse(id).is_some()).collect();
        let mut count = 0;
        // Without contexts, too: an earlier attempt may have taken some over without knowing it.
        for batch in ids.chunks(BATCH).chain(ids.is_empty().then_some(&[][..])) {
            let (contexts, batch) = (peer.clone(), batch.to_vec());
            let taken = blocking(move || contexts.take_over_all(&batch)).await?;
            count += taken.len();
            taken.iter().for_each(|(id, _)| self.store.regain(id));
            restore(&mut self.accounts(), taken);
        }
        let ms = started.elapsed().as_millis() as u64;
        tracing::warn!(owner, contexts = count, ms, "accounts taken over from another CHF");
        Ok(())
    }
}
