//! A claim to the identity of a gNB that another association has. A [probe](super::probe) of that
//! association decides: the identity belongs to it while it answers.
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long the answer to a probe holds, so that claims cannot flood the gNB with probes.
const FRESH: Duration = Duration::from_secs(1);

/// The state of an association in claims.
#[derive(Default)]
pub(crate) struct Claim {
    /// Its NG SETUP REQUEST waits for the probe of another association.
    waits: AtomicBool,
    /// When it last answered a probe.
    answered: Mutex<Option<Instant>>,
    /// The end of the time to wait of the last NG SETUP FAILURE.
    retry_at: Mutex<Option<Instant>>,
}

impl Claim {
    /// Begins a claim; false if one is running already.
    pub fn begin(&self) -> bool {
        !self.waits.swap(true, Ordering::Relaxed)
    }

    /// Ends the claim.
    pub fn end(&self) {
        self.waits.store(false, Ordering::Relaxed);
    }

    /// Whether a claim is running.
    pub fn is_running(&self) -> bool {
        self.waits.load(Ordering::Relaxed)
    }

    /// The gNB has to wait for so long before another NG SETUP REQUEST.
    pub fn wait(&self, time: Duration) {
        *self.retry_at.lock().unwrap_or_else(|e| e.into_inner()) = Some(Instant::now() + time);
    }

    /// When the gNB may send another NG SETUP REQUEST, after a failure.
    pub fn retry_at(&self) -> Option<Instant> {
        *self.retry_at.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Stores that the association has answered a probe now.
    pub fn set_answered(&self) {
        *self.answered.lock().unwrap_or_else(|e| e.into_inner()) = Some(Instant::now());
    }

    /// Whether the last answer to a probe still holds.
    pub fn has_fresh_answer(&self) -> bool {
        let answered = *self.answered.lock().unwrap_or_else(|e| e.into_inner());
        answered.is_some_and(|at| at.elapsed() < FRESH)
    }
}
