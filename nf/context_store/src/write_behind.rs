//! The NF's handle to its stored contexts. Storing one returns at once; the writer thread writes it
//! a moment later.
use crate::config::ContextStoreConfig;
use crate::database::{ContextDatabase, Member};
use crate::group_commit::{Writer, row_name};
use crate::lease::{Lease, LeaseState};
use crate::persisted::{PersistedContext, encode};
use crate::queue::{Encode, Queue};
use martlet_outage::{Dependency, NotReady};
use martlet_store::{Seal, StoreError};
use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc;

/// Stored contexts by their identity.
pub type StoredContexts = Vec<(String, Vec<u8>)>;

/// Another process with the same owner name has opened the database: it owns all contexts now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "context store: another process opened the contexts of {owner}, and this one ends: give each \
     member of the set an identity of its own"
)]
pub struct Superseded {
    /// The name under which both processes store contexts.
    pub owner: String,
}

/// The contexts that one network function stores. Writes what is pending when it is dropped.
///
/// A disabled store accepts every call and stores nothing.
pub struct ContextStore(Option<WriteBehind>);

struct WriteBehind {
    queue: Arc<Queue>,
    owner: String,
    thread: Option<JoinHandle<()>>,
}

impl ContextStore {
    /// A store without a database.
    pub fn disabled() -> Self {
        ContextStore(None)
    }

    /// Opens the database and returns the contexts that are stored there under this owner's name.
    /// Blocks until they are read.
    ///
    /// # Errors
    /// The database cannot be opened, or its values were encrypted with another operator's key.
    pub fn open(
        config: &ContextStoreConfig,
        owner: &str,
    ) -> Result<(ContextStore, StoredContexts), StoreError> {
        if !config.is_enabled() {
            return Ok((ContextStore::disabled(), Vec::new()));
        }
        let url = config.url();
        let seal = Seal::for_database(&url, config.key_path())?;
        let function = owner.split('-').next().unwrap_or(owner);
        let database = Dependency::new(function, "database", &url);
        let lease = Lease::new(config.lease());
        let queue = Arc::new(Queue::new(config.flush_interval(), lease, database));
        let owner_name = owner.to_string();
        let member =
            Member { owner: owner_name, epoch: None, lease: config.lease(), read: Vec::new() };
        let (sender, opened) = std::sync::mpsc::channel();
        let writer_queue = queue.clone();
        // The PostgreSQL client blocks, so that its connection belongs to a thread of its own.
        let run = move || match ContextDatabase::open(&url)
            .and_then(|mut database| Ok((read_all(&mut database, &seal, &member.owner)?, database)))
        {
            Ok((stored, mut database)) => {
                let _ = sender.send(Ok(stored));
                let queue = writer_queue;
                let is_only_member = database.is_only_member(&member.owner);
                Writer { database, member, seal, is_only_member, queue }.run();
            }
            Err(error) => {
                let _ = sender.send(Err(error));
            }
        };
        let thread = std::thread::Builder::new().name("context-store".into());
        let thread = thread.spawn(run).map_err(|_| StoreError::Ended)?;
        let stored = opened.recv().map_err(|_| StoreError::Ended)??;
        let store = WriteBehind { queue, owner: owner.to_string(), thread: Some(thread) };
        Ok((ContextStore(Some(store)), stored))
    }

    /// Whether contexts are stored.
    pub fn is_enabled(&self) -> bool {
        self.0.is_some()
    }

    /// Stores a context in place of its earlier value.
    pub fn put(&self, id: impl Into<String>, value: Vec<u8>) {
        self.push(id, Some(Box::new(move || Some(value))));
    }

    /// Stores a context whose persisted form is made when it is written, in the writer thread. Of
    /// several changes within a flush interval only the last one is made and written.
    pub fn persist<C: PersistedContext>(
        &self,
        id: impl Into<String>,
        context: impl FnOnce() -> C + Send + 'static,
    ) {
        self.push(id, Some(Box::new(move || encode(&context()))));
    }

    /// Removes a context.
    pub fn remove(&self, id: impl Into<String>) {
        self.push(id, None);
    }

    fn push(&self, id: impl Into<String>, change: Option<Encode>) {
        if let Some(store) = &self.0 {
            store.queue.push(id.into(), change);
        }
    }

    /// Waits until every change so far is written: `false` when the time is over first. Blocks the
    /// thread.
    pub fn flush(&self, timeout: Duration) -> bool {
        let Some(WriteBehind { queue, .. }) = &self.0 else { return true };
        let pending = queue.pending();
        let until = pending.queued;
        let waited =
            queue.written.wait_timeout_while(pending, timeout, |pending| pending.written < until);
        let (pending, _) = waited.unwrap_or_else(|e| e.into_inner());
        pending.written >= until
    }

    /// Whether this process owns a context: no other member of the set has taken it over. Returns
    /// at once while the lease is valid, else waits until it is renewed.
    pub async fn is_owner(&self, id: impl Display) -> bool {
        let Some(WriteBehind { queue, .. }) = &self.0 else { return true };
        match queue.lease.state(&id) {
            LeaseState::Valid => return true,
            LeaseState::Revoked => return false,
            LeaseState::RenewalDue => {
                queue.request_renewal();
                return true;
            }
            LeaseState::Expired => {}
        }
        let mut attempts = queue.lease.attempts();
        loop {
            attempts.mark_unchanged();
            queue.request_renewal();
            match queue.lease.state(&id) {
                LeaseState::Revoked => return false,
                LeaseState::Valid | LeaseState::RenewalDue => return true,
                // The writer lives as long as this store.
                LeaseState::Expired if attempts.changed().await.is_err() => return true,
                LeaseState::Expired => {}
            }
        }
    }

    /// How long this process has been unable to renew its lease, in a set with other members, which
    /// may take its contexts over. Renews a lease that is due. `None` while it is valid.
    pub fn overdue(&self) -> Option<Duration> {
        let Some(WriteBehind { queue, .. }) = &self.0 else { return None };
        if !queue.has_other_members.load(Ordering::Relaxed) {
            return None;
        }
        let overdue = queue.lease.overdue()?;
        queue.request_renewal();
        Some(overdue).filter(|overdue| !overdue.is_zero())
    }

    /// Whether the set had another member when the database last answered.
    pub fn has_other_members(&self) -> bool {
        self.0.as_ref().is_some_and(|store| store.queue.has_other_members.load(Ordering::Relaxed))
    }

    /// This process has taken over a context with [`PeerContexts::take_over`], which stored it
    /// under this process's name. If it was revoked before, the next renewal of the lease tells
    /// whether it is still stored so, and [`ContextStore::is_owner`] waits for that.
    ///
    /// [`PeerContexts::take_over`]: crate::PeerContexts::take_over
    pub fn regain(&self, id: &str) {
        if let Some(store) = &self.0 {
            store.queue.lease.regain(id);
        }
    }

    /// Calls `revoked` for each context that another member takes over. Ends with an error when a
    /// later process has this owner's name. Call it once. A disabled store waits for ever.
    pub async fn watch(&self, mut revoked: impl FnMut(&str)) -> Superseded {
        let Some(WriteBehind { queue, owner, .. }) = &self.0 else {
            return std::future::pending().await;
        };
        let (sender, mut ids) = mpsc::unbounded_channel();
        queue.lease.on_revoked(Box::new(move |id| {
            let _ = sender.send(id.to_string());
        }));
        loop {
            tokio::select! {
                () = queue.lease.superseded() => return Superseded { owner: owner.clone() },
                Some(id) = ids.recv() => revoked(&id),
            }
        }
    }

    /// Whether the database answered last. The error says for how long it has not.
    ///
    /// # Errors
    /// The outage.
    pub fn ready(&self) -> Result<(), NotReady> {
        match self.0.as_ref().and_then(|store| store.queue.database.missing()) {
            None => Ok(()),
            Some(missing) => Err(missing),
        }
    }

    /// For `martlet status`: changes that are not written yet, and writes that failed.
    pub fn status(&self) -> serde_json::Value {
        let Some(WriteBehind { queue, .. }) = &self.0 else { return "disabled".into() };
        let pending = queue.pending();
        serde_json::json!({
            "unwritten": pending.queued - pending.written,
            "failures": queue.failures.load(Ordering::Relaxed),
        })
    }
}

impl Drop for WriteBehind {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Reads and decrypts the contexts of an owner.
pub(crate) fn read_all(
    database: &mut ContextDatabase,
    seal: &Seal,
    owner: &str,
) -> Result<StoredContexts, StoreError> {
    let open = |(id, value): (String, Vec<u8>)| {
        let value = seal.open(&row_name(owner, &id), &value)?;
        Ok((id, value))
    };
    database.load(owner)?.into_iter().map(open).collect()
}
