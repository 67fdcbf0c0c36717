//! The sounding reference signals that UEs send. Every gNB of the process can measure them,
//! whichever gNB serves the UE.
use crate::radio_environment::RadioEnvironment;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock};

/// Configured signals by sequence identity, each with its sender while it is active.
struct Signals {
    by_sequence: HashMap<u16, Option<RadioEnvironment>>,
    next: u16,
}

fn signals() -> MutexGuard<'static, Signals> {
    static SIGNALS: OnceLock<Mutex<Signals>> = OnceLock::new();
    let signals =
        SIGNALS.get_or_init(|| Mutex::new(Signals { by_sequence: HashMap::new(), next: 0 }));
    signals.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The signal configured for a UE. Dropping it ends the signal.
#[derive(Debug)]
pub(crate) struct Signal {
    sequence: u16,
}

impl Signal {
    /// A signal with an unused sequence identity; `None` if all are in use.
    pub(crate) fn new() -> Option<Self> {
        let mut all = signals();
        if all.by_sequence.len() > usize::from(u16::MAX) {
            return None;
        }
        loop {
            let sequence = all.next;
            all.next = all.next.wrapping_add(1);
            if let std::collections::hash_map::Entry::Vacant(free) = all.by_sequence.entry(sequence)
            {
                free.insert(None);
                return Some(Signal { sequence });
            }
        }
    }

    /// Sequence identity.
    pub(crate) fn sequence(&self) -> u16 {
        self.sequence
    }

    /// Starts the signal at the UE's position, or stops it.
    pub(crate) fn send(&self, from: Option<&RadioEnvironment>) {
        signals().by_sequence.insert(self.sequence, from.cloned());
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        signals().by_sequence.remove(&self.sequence);
    }
}

/// The environment of the UE that sends a signal.
pub(crate) fn sender(sequence: u16) -> Option<RadioEnvironment> {
    signals().by_sequence.get(&sequence).cloned().flatten()
}
