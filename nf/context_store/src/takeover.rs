//! Contexts of other members of the set, for this member to take over.
use crate::config::ContextStoreConfig;
use crate::database::{Claim, ContextDatabase, NewOwner, SetMember};
use crate::group_commit::row_name;
use crate::write_behind::{StoredContexts, read_all};
use martlet_store::{Seal, StoreError};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// How long a takeover waits beyond the end of the owner's lease.
const LEASE_MARGIN: Duration = Duration::from_millis(5);

/// The database that the members of a set share: one connection for all that this process reads of
/// the others. Each call blocks until the database answers.
pub struct SetContexts {
    /// `None` only while it is dropped.
    database: Mutex<Option<ContextDatabase>>,
    seal: Seal,
    /// The name under which this process stores what it takes over; `None`: the caller stores it.
    own: Option<String>,
    /// The length of the set's leases.
    lease: Duration,
    /// Contexts by their former owner that a failed attempt may have taken over.
    uncertain: Mutex<HashMap<String, HashSet<String>>>,
}

impl SetContexts {
    /// Opens the database, on a thread of its own, so that it may be called in a runtime. With
    /// `own`, contexts that are taken over are stored under this name in the same transaction, with
    /// the same identities.
    ///
    /// # Errors
    /// The database cannot be opened.
    pub fn open(
        config: &ContextStoreConfig,
        own: Option<&str>,
    ) -> Result<Arc<SetContexts>, StoreError> {
        let url = config.url();
        let seal = Seal::for_database(&url, config.key_path())?;
        let opened = std::thread::scope(|scope| {
            scope.spawn(|| ContextDatabase::open(&url)).join().unwrap_or(Err(StoreError::Ended))
        })?;
        let (database, own) = (Mutex::new(Some(opened)), own.map(str::to_string));
        let lease = config.lease();
        Ok(Arc::new(SetContexts { database, seal, own, lease, uncertain: Mutex::default() }))
    }

    fn lock(&self) -> MutexGuard<'_, Option<ContextDatabase>> {
        self.database.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn with<T>(
        &self,
        call: impl FnOnce(&mut ContextDatabase) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        call(self.lock().as_mut().ok_or(StoreError::Ended)?)
    }

    /// The contexts of one member.
    pub fn peer(self: &Arc<Self>, owner: &str) -> PeerContexts {
        PeerContexts { set: self.clone(), owner: owner.to_string() }
    }

    /// The members whose names begin with `prefix`, each with its context `id`.
    ///
    /// # Errors
    /// The database fails, or a value was encrypted with another operator's key.
    pub fn members(&self, prefix: &str, id: &str) -> Result<Vec<SetMember>, StoreError> {
        let members = self.with(|database| database.members(prefix, id))?;
        let open = |(owner, value): SetMember| {
            let open = |value: Vec<u8>| self.seal.open(&row_name(&owner, id), &value);
            let value = value.map(open).transpose()?;
            Ok((owner, value))
        };
        members.into_iter().map(open).collect()
    }

    /// Reads the leases of the members whose names begin with `prefix`, as
    /// [`SetContexts::members`] does too. A takeover waits until the lease has not been renewed for
    /// as long as it lasts, since it was first read so: readings that are half a lease apart make
    /// that wait short.
    ///
    /// # Errors
    /// The database fails.
    pub fn observe_leases(&self, prefix: &str) -> Result<(), StoreError> {
        self.with(|database| database.observe_leases(prefix))
    }

    /// The length of the set's leases.
    pub fn lease(&self) -> Duration {
        self.lease
    }

    /// The member that has a context, of those whose names begin with `prefix`.
    ///
    /// # Errors
    /// The database fails.
    pub fn owner_of(&self, prefix: &str, id: &str) -> Result<Option<String>, StoreError> {
        self.with(|database| database.owner_of(prefix, id))
    }

    /// Those of the contexts that any member has whose name begins with `prefix`. A takeover by
    /// [`SetContexts::open`] with a name of its own does not interrupt that.
    ///
    /// # Errors
    /// The database fails.
    pub fn existing(&self, prefix: &str, ids: &[String]) -> Result<HashSet<String>, StoreError> {
        let existing = self.with(|database| database.existing(prefix, ids))?;
        Ok(existing.into_iter().collect())
    }
}

impl Drop for SetContexts {
    fn drop(&mut self) {
        // The PostgreSQL client must not be closed within a runtime.
        let database = self.lock().take();
        let thread = std::thread::Builder::new().name("context-store".into());
        let _ = thread.spawn(move || drop(database)).map(|thread| thread.join());
    }
}

/// The stored contexts of one member of the set. Each call blocks until the database answers.
#[derive(Clone)]
pub struct PeerContexts {
    set: Arc<SetContexts>,
    owner: String,
}

impl PeerContexts {
    /// Opens the database that the set shares, with a connection of its own. `owner` is the name
    /// under which the peer stores its contexts.
    ///
    /// # Errors
    /// The database cannot be opened.
    pub fn open(config: &ContextStoreConfig, owner: &str) -> Result<PeerContexts, StoreError> {
        Ok(SetContexts::open(config, None)?.peer(owner))
    }

    /// The peer's contexts.
    ///
    /// # Errors
    /// The database fails, or its values were encrypted with another operator's key.
    pub fn contexts(&self) -> Result<StoredContexts, StoreError> {
        self.set.with(|database| read_all(database, &self.set.seal, &self.owner))
    }

    /// The names of all members that store contexts in this database and begin with `prefix`.
    ///
    /// # Errors
    /// The database fails.
    pub fn owners(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        self.set.with(|database| database.owners(prefix))
    }

    /// One context.
    ///
    /// # Errors
    /// The database fails, or the value was encrypted with another operator's key.
    pub fn context(&self, id: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let sealed = self.set.with(|database| database.get(&self.owner, id))?;
        sealed.map(|value| self.opened(id, &value)).transpose()
    }

    fn opened(&self, id: &str, value: &[u8]) -> Result<Vec<u8>, StoreError> {
        self.set.seal.open(&row_name(&self.owner, id), value)
    }

    /// Removes a context from its owner and returns it. Of several members that try, one succeeds.
    /// Waits for the end of the owner's lease. `None` when the context does not exist, or when its
    /// owner renewed the lease.
    ///
    /// # Errors
    /// The database fails, or the value was encrypted with another operator's key.
    pub fn take_over(&self, id: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let ids = [id.to_string()];
        let mut taken = self.claim(&ids).inspect_err(|_| self.add_uncertain(&ids))?;
        Ok(taken.pop().map(|(_, value)| value))
    }

    /// As [`PeerContexts::take_over`], for several contexts in one transaction. Returns those that
    /// were taken over, also by an earlier call whose outcome was not known.
    ///
    /// # Errors
    /// The database fails, or a value was encrypted with another operator's key.
    pub fn take_over_all(&self, ids: &[String]) -> Result<StoredContexts, StoreError> {
        let mut all = self.recovered()?;
        all.extend(self.claim(ids).inspect_err(|_| self.add_uncertain(ids))?);
        Ok(all)
    }

    /// A transaction may have been committed, and its answer lost.
    fn add_uncertain(&self, ids: &[String]) {
        if self.set.own.is_some() {
            self.uncertain().entry(self.owner.clone()).or_default().extend(ids.iter().cloned());
        }
    }

    fn uncertain(&self) -> MutexGuard<'_, HashMap<String, HashSet<String>>> {
        self.set.uncertain.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// What earlier calls have taken over without knowing it.
    fn recovered(&self) -> Result<StoredContexts, StoreError> {
        let Some(own) = &self.set.own else { return Ok(Vec::new()) };
        let ids: Vec<String> =
            self.uncertain().get(&self.owner).into_iter().flatten().cloned().collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let found = self.set.with(|database| database.get_all(own, &ids))?;
        self.uncertain().remove(&self.owner);
        let open = |(id, value): (String, Vec<u8>)| {
            let value = self.set.seal.open(&row_name(own, &id), &value)?;
            Ok((id, value))
        };
        found.into_iter().map(open).collect()
    }

    fn claim(&self, ids: &[String]) -> Result<StoredContexts, StoreError> {
        let own = self.set.own.as_deref();
        let reseal = |id: &str, value: &[u8]| {
            let value = self.opened(id, value)?;
            self.set.seal.seal(&row_name(own.unwrap_or_default(), id), &value)
        };
        let claimant = own.map(|name| NewOwner { name, reseal: &reseal });
        let claim = || {
            let lease = self.set.lease;
            self.set.with(|database| database.claim(&self.owner, ids, claimant.as_ref(), lease))
        };
        let mut outcome = claim()?;
        if let Claim::Leased(remaining) = outcome {
            std::thread::sleep(remaining + LEASE_MARGIN);
            outcome = claim()?;
        }
        let Claim::Taken(taken) = outcome else { return Ok(Vec::new()) };
        let open = |(id, value): (String, Vec<u8>)| {
            let value = self.opened(&id, &value)?;
            Ok((id, value))
        };
        taken.into_iter().map(open).collect()
    }
}
