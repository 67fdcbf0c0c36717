//! The UEs whose state, gNB or sessions changed last. The northbound API asks for them, and makes
//! events of them.
use martlet_sbi_api::common::Supi;
use std::collections::{BTreeSet, VecDeque};
use std::time::{SystemTime, UNIX_EPOCH};

/// Number of changes that are stored.
const MAX: usize = 256;

/// The last changes.
pub(crate) struct Changes {
    /// Number of the last change. The first number is the time in microseconds, so that a position
    /// of a process before this one is never after it.
    last: u64,
    /// The UEs of the last changes, the latest one at the end.
    ues: VecDeque<Supi>,
}

/// The changes after a position.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ChangedUes {
    /// The position after them.
    pub position: u64,
    /// The UEs, each once.
    pub supis: BTreeSet<Supi>,
    /// Whether these are all. Otherwise any UE may have changed.
    pub complete: bool,
}

impl Default for Changes {
    fn default() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Changes { last: now.as_micros() as u64, ues: VecDeque::new() }
    }
}

impl Changes {
    /// Adds a change.
    pub fn add(&mut self, supi: &Supi) {
        if self.ues.len() >= MAX {
            self.ues.pop_front();
        }
        self.ues.push_back(supi.clone());
        self.last += 1;
    }

    /// The changes after a position.
    pub fn after(&self, position: u64) -> ChangedUes {
        let new = self.last.checked_sub(position).and_then(|new| usize::try_from(new).ok());
        let count = new.filter(|new| *new <= self.ues.len());
        let supis = self.ues.iter().rev().take(count.unwrap_or(0)).cloned().collect();
        ChangedUes { position: self.last, supis, complete: count.is_some() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn supi(n: usize) -> Supi {
        format!("imsi-{n:015}").parse().unwrap()
    }

    #[test]
    fn changes_after_a_position_are_returned_once() {
        let mut changes = Changes::default();
        let start = changes.after(0).position;
        [1, 2, 1].iter().for_each(|n| changes.add(&supi(*n)));
        let found = changes.after(start);
        assert_eq!((found.supis.len(), found.complete), (2, true));
        let nothing = changes.after(found.position);
        assert!(nothing.supis.is_empty() && nothing.complete);
    }

    #[test]
    fn lost_changes_are_reported() {
        let mut changes = Changes::default();
        let start = changes.after(0).position;
        (0..=MAX).for_each(|n| changes.add(&supi(n)));
        assert!(!changes.after(start).complete, "the first one is gone");
        assert_eq!(changes.after(start + 1).supis.len(), MAX);
        // Positions of an earlier process, and of no process.
        assert!(!changes.after(start - 1000).complete);
        assert!(!changes.after(u64::MAX).complete);
    }
}
