//! Contexts of another member of the set, for this member to take over.
use crate::config::ContextStoreConfig;
use crate::database::{Claim, ContextDatabase};
use crate::group_commit::row_name;
use crate::write_behind::{StoredContexts, read_all};
use martlet_store::{Seal, StoreError};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// How long a takeover waits beyond the end of the owner's lease.
const LEASE_MARGIN: Duration = Duration::from_millis(5);

/// The stored contexts of one member of the set. Each call blocks until the database answers.
pub struct PeerContexts {
    database: Mutex<ContextDatabase>,
    seal: Seal,
    owner: String,
}

impl PeerContexts {
    /// Opens the database that the set shares. `owner` is the name under which the peer stores its
    /// contexts.
    ///
    /// # Errors
    /// The database cannot be opened.
    pub fn open(config: &ContextStoreConfig, owner: &str) -> Result<PeerContexts, StoreError> {
        let url = config.url();
        let seal = Seal::for_database(&url, config.key_path())?;
        let database = Mutex::new(ContextDatabase::open(&url)?);
        Ok(PeerContexts { database, seal, owner: owner.to_string() })
    }

    fn database(&self) -> MutexGuard<'_, ContextDatabase> {
        self.database.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The peer's contexts.
    ///
    /// # Errors
    /// The database fails, or its values were encrypted with another operator's key.
    pub fn contexts(&self) -> Result<StoredContexts, StoreError> {
        read_all(&mut self.database(), &self.seal, &self.owner)
    }

    /// The names of all members that store contexts in this database and begin with `prefix`.
    ///
    /// # Errors
    /// The database fails.
    pub fn owners(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        self.database().owners(prefix)
    }

    /// One context.
    ///
    /// # Errors
    /// The database fails, or the value was encrypted with another operator's key.
    pub fn context(&self, id: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let sealed = self.database().get(&self.owner, id)?;
        sealed.map(|value| self.seal.open(&row_name(&self.owner, id), &value)).transpose()
    }

    /// Removes a context from its owner and returns it. Of several members that try, one succeeds.
    /// Waits for the end of the owner's lease. `None` when the context is gone, or when its owner
    /// renewed the lease.
    ///
    /// # Errors
    /// The database fails, or the value was encrypted with another operator's key.
    pub fn take_over(&self, id: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let open = |value: Vec<u8>| self.seal.open(&row_name(&self.owner, id), &value).map(Some);
        let claim = self.database().claim(&self.owner, id)?;
        let remaining = match claim {
            Claim::Taken(value) => return open(value),
            Claim::Gone => return Ok(None),
            Claim::Leased(remaining) => remaining,
        };
        std::thread::sleep(remaining + LEASE_MARGIN);
        let claim = self.database().claim(&self.owner, id)?;
        match claim {
            Claim::Taken(value) => open(value),
            Claim::Gone | Claim::Leased(_) => Ok(None),
        }
    }
}
