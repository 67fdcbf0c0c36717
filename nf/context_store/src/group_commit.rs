//! The writer thread: pending changes of one flush interval, in one transaction that also renews
//! the lease.
use crate::database::{ContextDatabase, Member, Renewal, set_prefix};
use crate::lease::Moment;
use crate::queue::{Encode, Pending, Queue};
use martlet_store::{Seal, StoreError};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Rows of one transaction.
const MAX_BATCH: usize = 2000;
/// First and longest pause between attempts to write to a database that fails.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const RETRY_INTERVAL: Duration = Duration::from_millis(500);
/// Attempts to write while the store is being closed.
const CLOSING_ATTEMPTS: u32 = 3;
/// Leases between the renewals of a set member without changes.
const IDLE_RENEWAL_LEASES: u32 = 3;

/// The associated data of an encrypted context: it cannot be moved to another row.
pub(crate) fn row_name(owner: &str, id: &str) -> String {
    format!("{owner}/{id}")
}

pub(crate) struct Writer {
    pub database: ContextDatabase,
    pub member: Member,
    pub seal: Seal,
    /// Whether the set had no other member when the database last answered.
    pub is_only_member: Option<bool>,
    pub queue: Arc<Queue>,
}

impl Writer {
    /// Writes until the queue is closed and empty.
    pub fn run(mut self) {
        while let Some(closing) = self.wait_for_work() {
            self.write_pending(closing);
        }
        // Another member may take the contexts over at once.
        let _ = self.database.release_lease(&self.member);
    }

    /// Waits for changes and for the end of their flush interval, or for a request to renew the
    /// lease. Returns whether the queue is being closed; `None` when nothing is left to write.
    fn wait_for_work(&self) -> Option<bool> {
        let pending = self.queue.pending();
        let is_idle = |pending: &mut Pending| {
            pending.changes.is_empty() && !pending.closing && !pending.renew
        };
        // A set member without changes renews its lease now and then, and so learns of takeovers,
        // and of a server that does not answer.
        let idle_time = match self.is_only_member {
            Some(true) | None if !self.database.is_remote() => Duration::MAX,
            _ => self.member.lease * IDLE_RENEWAL_LEASES,
        };
        let woken = self.queue.wake.wait_timeout_while(pending, idle_time, is_idle);
        let (pending, _) = woken.unwrap_or_else(|e| e.into_inner());
        let interval = match pending.changes.is_empty() {
            true => Duration::ZERO,
            false => self.queue.flush_interval,
        };
        let is_gathering = |pending: &mut Pending| !pending.closing && !pending.renew;
        let woken = self.queue.wake.wait_timeout_while(pending, interval, is_gathering);
        let (mut pending, _) = woken.unwrap_or_else(|e| e.into_inner());
        if pending.closing && pending.changes.is_empty() {
            return None;
        }
        pending.renew = false;
        Some(pending.closing)
    }

    fn write_pending(&mut self, closing: bool) {
        let (changes, queued) = {
            let mut pending = self.queue.pending();
            (std::mem::take(&mut pending.changes), pending.queued)
        };
        let owner = &self.member.owner;
        let seal = |(id, encode): (String, Option<Encode>)| match encode {
            None => Some((id, None)),
            // Encryption fails only when the system has no random numbers.
            Some(encode) => {
                let value = self.seal.seal(&row_name(owner, &id), &encode()?).ok()?;
                Some((id, Some(value)))
            }
        };
        let sealed: Vec<_> = changes.into_iter().filter_map(seal).collect();
        // An empty batch renews the lease.
        let batches = sealed.chunks(MAX_BATCH).chain(sealed.is_empty().then_some(&[][..]));
        for batch in batches {
            self.write_until_done(batch, closing);
        }
        self.queue.pending().written = queued;
        self.queue.written.notify_all();
    }

    /// Retries until the batch is written, or has to be given up.
    fn write_until_done(&mut self, batch: &[(String, Option<Vec<u8>>)], closing: bool) {
        let mut attempts = 0;
        while let Err(error) = self.write(batch) {
            attempts += 1;
            self.queue.failures.fetch_add(1, Ordering::Relaxed);
            self.queue.database.unavailable(&error);
            // No process reaches a file whose disk fails, so that an only member keeps its
            // lease. A server that this process does not reach may serve another member.
            let keeps_lease = match self.database.is_remote() {
                false => self.is_only_member == Some(true),
                true => set_prefix(&self.member.owner).is_none(),
            };
            self.queue.lease.renewal_failed(keeps_lease);
            let closing = closing || self.queue.pending().closing;
            let is_useless = batch.is_empty() && keeps_lease && !self.database.is_remote();
            if closing && attempts >= CLOSING_ATTEMPTS || is_useless {
                break;
            }
            // A transaction that was rolled back for another one's sake is repeated soon, as is one
            // whose server was replaced.
            let pause = match error.is_transient() {
                true => FIRST_PAUSE * 2u32.pow(attempts.min(10)),
                false => RETRY_INTERVAL,
            };
            std::thread::sleep(pause.min(RETRY_INTERVAL));
        }
    }

    fn write(&mut self, batch: &[(String, Option<Vec<u8>>)]) -> Result<(), StoreError> {
        let lease = &self.queue.lease;
        let (began, regaining) = (Moment::now(), lease.regaining());
        let without_lost: Vec<_>;
        let batch = match lease.has_revoked() {
            false => batch,
            true => {
                let may_be_own = |(id, _): &&(String, _)| !lease.is_revoked(id);
                without_lost = batch.iter().filter(may_be_own).cloned().collect();
                &without_lost
            }
        };
        let written = self.database.write(&mut self.member, batch, &regaining)?;
        self.queue.database.available();
        match written {
            Renewal::Renewed { taken_over, regained, is_only_member } => {
                self.is_only_member = Some(is_only_member);
                self.queue.has_other_members.store(!is_only_member, Ordering::Relaxed);
                self.queue.lease.renew(began, &taken_over, (&regaining, &regained));
            }
            Renewal::Superseded => {
                let owner = &self.member.owner;
                tracing::error!(owner, "context store opened by a later process of the same name");
                self.queue.lease.supersede();
            }
        }
        Ok(())
    }
}
