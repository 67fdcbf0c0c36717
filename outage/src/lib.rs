//! What a network function depends on: its database, the NRF, its peers on N4.
//!
//! Each [`Dependency`] writes one log event when an outage begins and one when it ends, with its
//! duration. The metric `martlet_dependency_up` shows the state, and
//! [`Dependency::missing`] is the text for `/readyz`.
//!
//! ```
//! let database = martlet_outage::Dependency::new("udr", "database", "postgresql://db/martlet");
//! database.unavailable(&"connection refused");
//! let missing = database.missing().unwrap().to_string();
//! assert!(missing.starts_with("database postgresql://db/martlet"));
//! database.available();
//! assert_eq!(database.missing(), None);
//! ```
#![forbid(unsafe_code)]
mod not_ready;

pub use not_ready::NotReady;

use prometheus::{
    IntCounter, IntCounterVec, IntGauge, IntGaugeVec, register_int_counter_vec,
    register_int_gauge_vec,
};
use std::fmt::Display;
use std::sync::{LazyLock, Mutex, MutexGuard};
use std::time::Instant;

const LABELS: &[&str] = &["nf", "dependency", "peer"];

static UP: LazyLock<IntGaugeVec> = LazyLock::new(|| {
    let help = "Whether what a network function depends on is available";
    register_int_gauge_vec!("martlet_dependency_up", help, LABELS).expect("registered once")
});

static OUTAGES: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Outages of what a network function depends on";
    register_int_counter_vec!("martlet_dependency_outages_total", help, LABELS)
        .expect("registered once")
});

/// The state of a dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not used yet.
    Unknown,
    Available,
    /// Since this moment.
    Unavailable(Instant),
}

/// One thing that a network function depends on.
pub struct Dependency {
    nf: String,
    kind: &'static str,
    peer: String,
    up: IntGauge,
    outages: IntCounter,
    state: Mutex<State>,
}

impl Dependency {
    /// The dependency of a function on a peer: `kind` is `database`, `set` (the contexts of other
    /// members), `nrf` or `n4`, and `peer` is its address, without secrets.
    pub fn new(nf: &str, kind: &'static str, peer: impl Display) -> Dependency {
        let peer = peer.to_string();
        let labels = &[nf, kind, &peer];
        let (up, outages) = (UP.with_label_values(labels), OUTAGES.with_label_values(labels));
        let state = Mutex::new(State::Unknown);
        Dependency { nf: nf.to_string(), kind, peer, up, outages, state }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// It answers. Ends an outage.
    pub fn available(&self) {
        let before = std::mem::replace(&mut *self.state(), State::Available);
        if before == State::Available {
            return;
        }
        self.up.set(1);
        if let State::Unavailable(since) = before {
            let (nf, dependency, peer) = (&self.nf, self.kind, &self.peer);
            let ms = since.elapsed().as_millis() as u64;
            tracing::warn!(nf, dependency, peer, ms, "dependency available again");
        }
    }

    /// It does not answer. Begins an outage, if there is none.
    pub fn unavailable(&self, error: &dyn Display) {
        {
            let mut state = self.state();
            if matches!(*state, State::Unavailable(_)) {
                return;
            }
            *state = State::Unavailable(Instant::now());
        }
        self.up.set(0);
        self.outages.inc();
        let (nf, dependency, peer) = (&self.nf, self.kind, &self.peer);
        tracing::error!(nf, dependency, peer, %error, "dependency not available");
    }

    /// Whether an outage is in progress.
    pub fn is_unavailable(&self) -> bool {
        matches!(*self.state(), State::Unavailable(_))
    }

    /// The outage in progress; `None` if there is none.
    pub fn missing(&self) -> Option<NotReady> {
        let State::Unavailable(since) = *self.state() else { return None };
        let (kind, peer) = (self.kind, self.peer.clone());
        Some(NotReady::Unavailable { kind, peer, duration: since.elapsed() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_outage_is_counted_once() {
        let nrf = Dependency::new("amf", "nrf", "http://127.0.0.10:7777");
        assert_eq!(nrf.missing(), None);
        for outage in 1..=2 {
            for _ in 0..3 {
                nrf.unavailable(&"refused");
            }
            assert!(nrf.is_unavailable() && nrf.missing().is_some());
            assert_eq!((nrf.up.get(), nrf.outages.get()), (0, outage));
            nrf.available();
            assert_eq!((nrf.up.get(), nrf.missing()), (1, None));
        }
    }
}
