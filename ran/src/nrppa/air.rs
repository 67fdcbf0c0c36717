//! The sounding reference signals that UEs send: a gNB that is told how one looks hears it,
//! whichever gNB serves the UE.
use crate::positioning::Surroundings;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock};

/// Signals by their sequence identity.
struct Air {
    signals: HashMap<u16, Option<Surroundings>>,
    next: u16,
}

fn air() -> MutexGuard<'static, Air> {
    static AIR: OnceLock<Mutex<Air>> = OnceLock::new();
    let air = AIR.get_or_init(|| Mutex::new(Air { signals: HashMap::new(), next: 0 }));
    air.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A signal that a UE has been given. Its end ends the signal.
#[derive(Debug)]
pub(super) struct Signal {
    sequence: u16,
}

impl Signal {
    /// One that nobody sends yet; none where all are given.
    pub(super) fn new() -> Option<Self> {
        let mut air = air();
        if air.signals.len() > usize::from(u16::MAX) {
            return None;
        }
        loop {
            let sequence = air.next;
            air.next = air.next.wrapping_add(1);
            if let std::collections::hash_map::Entry::Vacant(free) = air.signals.entry(sequence) {
                free.insert(None);
                return Some(Signal { sequence });
            }
        }
    }

    /// Its sequence identity.
    pub(super) fn sequence(&self) -> u16 {
        self.sequence
    }

    /// A UE sends it from where it is, or sends it no more.
    pub(super) fn send(&self, from: Option<&Surroundings>) {
        air().signals.insert(self.sequence, from.cloned());
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        air().signals.remove(&self.sequence);
    }
}

/// Where the UE is that sends a signal.
pub(super) fn sender(sequence: u16) -> Option<Surroundings> {
    air().signals.get(&sequence).cloned().flatten()
}
