//! Changes that wait to be written, shared by the NF's handle and the writer thread.
use crate::lease::Lease;
use martlet_outage::Dependency;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// Encodes the value of a context when it is written; `None` leaves the stored value as it is.
pub(crate) type Encode = Box<dyn FnOnce() -> Option<Vec<u8>> + Send>;

#[derive(Default)]
pub(crate) struct Pending {
    /// The last value of each changed context; `None` removes the context.
    pub changes: HashMap<String, Option<Encode>>,
    /// Changes that were queued since the start.
    pub queued: u64,
    /// Changes that were written since the start.
    pub written: u64,
    /// The lease has to be renewed at once.
    pub renew: bool,
    /// The store is being closed.
    pub closing: bool,
}

pub(crate) struct Queue {
    pending: Mutex<Pending>,
    /// Wakes the writer.
    pub wake: Condvar,
    /// Wakes those who wait in `flush`.
    pub written: Condvar,
    /// Writes that failed since the start.
    pub failures: AtomicU64,
    pub flush_interval: Duration,
    pub lease: Lease,
    /// The set had another member when the database last answered.
    pub has_other_members: AtomicBool,
    /// The database, as readiness and log show it.
    pub database: Dependency,
}

impl Queue {
    pub fn new(flush_interval: Duration, lease: Lease, database: Dependency) -> Self {
        Queue {
            pending: Mutex::default(),
            wake: Condvar::new(),
            written: Condvar::new(),
            failures: AtomicU64::new(0),
            flush_interval,
            lease,
            has_other_members: AtomicBool::new(false),
            database,
        }
    }

    pub fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Queues a change in place of an earlier one of the same context.
    pub fn push(&self, id: String, change: Option<Encode>) {
        let mut pending = self.pending();
        let is_first = pending.changes.is_empty();
        pending.queued += 1;
        let replaced = pending.changes.insert(id, change);
        drop(pending);
        // The writer sleeps until the first change, and finds later ones when it writes.
        if is_first {
            self.wake.notify_one();
        }
        // Outside of the lock: it may be large.
        drop(replaced);
    }

    /// Has the writer renew the lease now.
    pub fn request_renewal(&self) {
        let mut pending = self.pending();
        if !pending.renew {
            pending.renew = true;
            self.wake.notify_one();
        }
    }

    /// Has the writer write what is pending, and end.
    pub fn close(&self) {
        self.pending().closing = true;
        self.wake.notify_one();
    }
}
