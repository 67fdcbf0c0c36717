//! A claim to the identity of a gNB that another association has. A probe of that association
//! decides: the identity belongs to it while it answers.
use super::{Gnb, downlink};
use crate::metrics;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time between two looks at the probed association.
const POLL: Duration = Duration::from_millis(10);

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

    fn answered(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.answered.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// Whether the gNB of an association answers within `limit`: it acknowledges an AMF CONFIGURATION
/// UPDATE that changes nothing (TS 38.413, 8.7.3), by SCTP or by any message. A gNB that was
/// restarted does not: its SCTP aborts the old association, or does not know it.
pub(crate) async fn answers(gnb: &Gnb, name: &str, limit: Duration) -> bool {
    if gnb.claim.answered().is_some_and(|at| at.elapsed() < FRESH) {
        return true;
    }
    metrics::probe();
    let before = gnb.received();
    let probe = async {
        let Ok(message) = downlink::amf_configuration_update(name) else { return false };
        if !gnb.send(0, &message).await {
            return false;
        }
        loop {
            tokio::time::sleep(POLL).await;
            if gnb.is_acknowledged() || gnb.received() != before {
                return true;
            }
            if gnb.setup().is_none() {
                // The association has ended.
                return false;
            }
        }
    };
    let answers = tokio::time::timeout(limit, probe).await.unwrap_or(false);
    if answers {
        *gnb.claim.answered() = Some(Instant::now());
    }
    answers
}
