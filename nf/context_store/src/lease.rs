//! The lease of this process on its contexts: valid for a time after each write.
//!
//! A valid lease is checked without asking the database. An expired one must be renewed before the
//! process acts on a context, because another member may have taken the context over meanwhile.
use std::collections::HashSet;
use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::watch;

type OnRevoked = Box<dyn Fn(&str) + Send + Sync>;

/// A moment on two clocks: a monotonic one, and one that counts while the machine is suspended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment(Instant, SystemTime);

impl Moment {
    pub fn now() -> Moment {
        Moment(Instant::now(), SystemTime::now())
    }

    fn elapsed(self) -> Duration {
        // A wall clock that was set back has no elapsed time.
        self.0.elapsed().max(self.1.elapsed().unwrap_or_default())
    }
}

/// The lease on one context, as known without asking the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LeaseState {
    /// Renewed within the first half of its time.
    Valid,
    /// Valid, and due for renewal.
    RenewalDue,
    /// Too old: renew before acting on the context.
    Expired,
    /// Another process owns the context.
    Revoked,
}

/// Contexts that other members have taken over.
#[derive(Default)]
struct Revoked {
    ids: HashSet<String>,
    /// Those of them that this process has taken over again. Between that takeover and now another
    /// one may have followed: only a renewal tells.
    regaining: HashSet<String>,
}

pub(crate) struct Lease {
    duration: Duration,
    renewed: Mutex<Option<Moment>>,
    revoked: Mutex<Revoked>,
    any_revoked: AtomicBool,
    /// A later process with the same owner name has opened the database.
    superseded: watch::Sender<bool>,
    /// Counts renewals and failed attempts.
    attempts: watch::Sender<u64>,
    on_revoked: OnceLock<OnRevoked>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

impl Lease {
    pub fn new(duration: Duration) -> Self {
        Lease {
            duration,
            renewed: Mutex::default(),
            revoked: Mutex::default(),
            any_revoked: AtomicBool::new(false),
            superseded: watch::Sender::new(false),
            attempts: watch::Sender::new(0),
            on_revoked: OnceLock::new(),
        }
    }

    pub fn state(&self, id: &dyn Display) -> LeaseState {
        if *self.superseded.borrow() {
            return LeaseState::Revoked;
        }
        if self.has_revoked() {
            let (id, revoked) = (id.to_string(), lock(&self.revoked));
            match revoked.ids.contains(&id) {
                true if revoked.regaining.contains(&id) => return LeaseState::Expired,
                true => return LeaseState::Revoked,
                false => {}
            }
        }
        match lock(&self.renewed).map(Moment::elapsed) {
            Some(age) if age < self.duration / 2 => LeaseState::Valid,
            Some(age) if age < self.duration => LeaseState::RenewalDue,
            _ => LeaseState::Expired,
        }
    }

    /// How long ago the lease ended; zero if it is valid and due for renewal. `None` if it was
    /// renewed within the first half of its time, or never.
    pub fn overdue(&self) -> Option<Duration> {
        let age = lock(&self.renewed).map(Moment::elapsed)?;
        (age >= self.duration / 2).then(|| age.saturating_sub(self.duration))
    }

    /// Whether any context was taken over.
    pub fn has_revoked(&self) -> bool {
        self.any_revoked.load(Ordering::Acquire)
    }

    /// Whether another member has taken over a context, and this process not again.
    pub fn is_revoked(&self, id: &str) -> bool {
        let revoked = lock(&self.revoked);
        revoked.ids.contains(id) && !revoked.regaining.contains(id)
    }

    /// This process has taken over a context: if it was revoked, the next renewal tells whether it
    /// has it.
    pub fn regain(&self, id: &str) {
        let mut revoked = lock(&self.revoked);
        if revoked.ids.contains(id) {
            revoked.regaining.insert(id.to_string());
        }
    }

    /// The contexts of which the next renewal is to tell whether this process has them.
    pub fn regaining(&self) -> Vec<String> {
        match self.has_revoked() {
            true => lock(&self.revoked).regaining.iter().cloned().collect(),
            false => Vec::new(),
        }
    }

    /// Records a renewal that began at `began`. `taken_over` are the contexts of this member that
    /// another one has taken over. Of those of [`Lease::regaining`], it has the second ones.
    pub fn renew(
        &self,
        began: Moment,
        taken_over: &[String],
        (regaining, regained): (&[String], &[String]),
    ) {
        if !(taken_over.is_empty() && regaining.is_empty()) {
            let mut revoked = lock(&self.revoked);
            for id in regaining {
                revoked.regaining.remove(id);
            }
            for id in regained {
                revoked.ids.remove(id);
            }
            revoked.ids.extend(taken_over.iter().cloned());
            self.any_revoked.store(!revoked.ids.is_empty(), Ordering::Release);
        }
        *lock(&self.renewed) = Some(began);
        self.attempts.send_modify(|attempts| *attempts += 1);
        if let Some(on_revoked) = self.on_revoked.get() {
            let lost = regaining.iter().filter(|id| !regained.contains(id));
            taken_over.iter().chain(lost).for_each(|id| on_revoked(id));
        }
    }

    /// Records that the database did not answer. Where no other member can exist the lease stays
    /// valid.
    pub fn renewal_failed(&self, keeps_lease: bool) {
        if keeps_lease {
            *lock(&self.renewed) = Some(Moment::now());
        }
        self.attempts.send_modify(|attempts| *attempts += 1);
    }

    /// Revokes all contexts: a later process has the same owner name.
    pub fn supersede(&self) {
        self.superseded.send_replace(true);
        self.attempts.send_modify(|attempts| *attempts += 1);
    }

    /// Returns when a later process has the same owner name.
    pub async fn superseded(&self) {
        let mut superseded = self.superseded.subscribe();
        if superseded.wait_for(|superseded| *superseded).await.is_err() {
            std::future::pending().await
        }
    }

    /// Changes with each renewal and each failed attempt.
    pub fn attempts(&self) -> watch::Receiver<u64> {
        self.attempts.subscribe()
    }

    /// Sets the callback for each revoked context. Only the first call has an effect.
    pub fn on_revoked(&self, callback: OnRevoked) {
        let _ = self.on_revoked.set(callback);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_expires_and_is_renewed_without_the_contexts_taken_over() {
        let lease = Lease::new(Duration::from_secs(60));
        assert_eq!(lease.state(&"1"), LeaseState::Expired);
        let ids = |ids: &[&str]| ids.iter().map(|id| id.to_string()).collect::<Vec<_>>();
        lease.renew(Moment::now(), &ids(&["2", "3"]), (&[], &[]));
        assert_eq!(lease.state(&"1"), LeaseState::Valid);
        assert_eq!(lease.state(&"2"), LeaseState::Revoked);
        // Taken over again: a renewal tells whether another takeover followed.
        lease.regain("1");
        lease.regain("2");
        lease.regain("3");
        assert_eq!(lease.state(&"2"), LeaseState::Expired);
        assert!(!lease.is_revoked("2"));
        let mut regaining = lease.regaining();
        regaining.sort();
        assert_eq!(regaining, ids(&["2", "3"]));
        lease.renew(Moment::now(), &[], (&regaining, &ids(&["2"])));
        assert_eq!(lease.state(&"2"), LeaseState::Valid);
        assert_eq!(lease.state(&"3"), LeaseState::Revoked);
        assert_eq!(lease.overdue(), None);
        lease.supersede();
        assert_eq!(lease.state(&"1"), LeaseState::Revoked);
    }

    #[test]
    fn a_failed_renewal_keeps_the_lease_of_an_only_member_valid() {
        let lease = Lease::new(Duration::from_secs(60));
        lease.renewal_failed(false);
        assert_eq!(lease.state(&"1"), LeaseState::Expired);
        lease.renewal_failed(true);
        assert_eq!(lease.state(&"1"), LeaseState::Valid);
    }
}
