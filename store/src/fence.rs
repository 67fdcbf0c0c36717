//! Whether a function still has its contexts: what its last look at the database said, and for how
//! long that is good.
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::watch;

type Told = Box<dyn Fn(&str) + Send + Sync>;

/// A moment by two clocks: one that nobody sets, and one that goes on while a machine sleeps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment(Instant, SystemTime);

impl Moment {
    pub fn now() -> Moment {
        Moment(Instant::now(), SystemTime::now())
    }

    fn elapsed(self) -> Duration {
        // A clock that was set back says nothing.
        self.0.elapsed().max(self.1.elapsed().unwrap_or_default())
    }
}

/// What is known without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Says {
    /// The lease is good.
    Ours,
    /// It is, and is to be renewed.
    OursStill,
    /// Somebody else has the context.
    Others,
    /// The lease is over: ask.
    Ask,
}

pub(crate) struct Fence {
    lease: Duration,
    seen: Mutex<Option<Moment>>,
    taken: Mutex<HashSet<String>>,
    any_taken: AtomicBool,
    deposed: watch::Sender<bool>,
    /// Counts looks, and attempts that failed.
    looks: watch::Sender<u64>,
    told: OnceLock<Told>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

impl Fence {
    pub fn new(lease: Duration) -> Self {
        Fence {
            lease,
            seen: Mutex::default(),
            taken: Mutex::default(),
            any_taken: AtomicBool::new(false),
            deposed: watch::Sender::new(false),
            looks: watch::Sender::new(0),
            told: OnceLock::new(),
        }
    }

    pub fn says(&self, id: &dyn std::fmt::Display) -> Says {
        if *self.deposed.borrow() {
            return Says::Others;
        }
        if self.any_taken.load(Ordering::Acquire) && self.has_lost(&id.to_string()) {
            return Says::Others;
        }
        match lock(&self.seen).map(Moment::elapsed) {
            Some(age) if age < self.lease / 2 => Says::Ours,
            Some(age) if age < self.lease => Says::OursStill,
            _ => Says::Ask,
        }
    }

    /// Whether somebody else has taken a context.
    pub fn has_lost(&self, id: &str) -> bool {
        lock(&self.taken).contains(id)
    }

    /// A context has come back.
    pub fn has_again(&self, id: &str) {
        lock(&self.taken).remove(id);
    }

    /// A look that began then has found these contexts to be others' now.
    pub fn looked(&self, began: Moment, taken: &[String]) {
        if !taken.is_empty() {
            lock(&self.taken).extend(taken.iter().cloned());
            self.any_taken.store(true, Ordering::Release);
        }
        *lock(&self.seen) = Some(began);
        self.looks.send_modify(|looks| *looks += 1);
        if let Some(told) = self.told.get() {
            taken.iter().for_each(|id| told(id));
        }
    }

    /// The database did not answer; who is alone in its set goes on.
    pub fn failed(&self, alone: bool) {
        if alone {
            *lock(&self.seen) = Some(Moment::now());
        }
        self.looks.send_modify(|looks| *looks += 1);
    }

    pub fn depose(&self) {
        self.deposed.send_replace(true);
        self.looks.send_modify(|looks| *looks += 1);
    }

    pub async fn deposed(&self) {
        let mut deposed = self.deposed.subscribe();
        if deposed.wait_for(|deposed| *deposed).await.is_err() {
            std::future::pending().await
        }
    }

    pub fn looks(&self) -> watch::Receiver<u64> {
        self.looks.subscribe()
    }

    pub fn on_taken(&self, told: Told) {
        let _ = self.told.set(told);
    }
}
