//! Deadlines, ordered by time. Each is set at most once.
use std::collections::{BTreeSet, HashMap};
use std::time::Instant;

/// A deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Deadline {
    /// A heartbeat to an SMF.
    Heartbeat { association: u64 },
    /// An SMF has been unreachable for too long.
    Retention { association: u64 },
    /// An SMF that has associated again has not restored all of its sessions.
    Stale { association: u64 },
    /// A notification of downlink data that a BAR delays.
    Notification { seid: u64 },
    /// A periodic usage report.
    Period { seid: u64, urr: u32 },
    /// A time threshold.
    TimeThreshold { seid: u64, urr: u32 },
    /// A time quota.
    TimeQuota { seid: u64, urr: u32 },
    /// Usage is split.
    Monitoring { seid: u64, urr: u32 },
    /// A quota may not have been used for its holding time.
    QuotaHolding { seid: u64, urr: u32 },
    /// A quota is no longer valid.
    QuotaValidity { seid: u64, urr: u32 },
    /// Traffic may have stopped.
    TrafficStop { seid: u64, urr: u32 },
    /// Addresses of applications' domain names change.
    Names,
    /// A session may have been idle for too long.
    Inactivity { seid: u64 },
    /// The IPv6 prefix of a session is advertised again.
    Advertisement { seid: u64 },
}

#[derive(Default)]
pub(super) struct Deadlines {
    at: HashMap<Deadline, Instant>,
    order: BTreeSet<(Instant, Deadline)>,
}

impl Deadlines {
    pub fn set(&mut self, deadline: Deadline, at: Instant) {
        self.cancel(deadline);
        self.at.insert(deadline, at);
        self.order.insert((at, deadline));
    }

    pub fn cancel(&mut self, deadline: Deadline) {
        if let Some(at) = self.at.remove(&deadline) {
            self.order.remove(&(at, deadline));
        }
    }

    /// When a deadline is, if it is set.
    pub fn at(&self, deadline: Deadline) -> Option<Instant> {
        self.at.get(&deadline).copied()
    }

    pub fn next(&self) -> Option<Instant> {
        self.order.first().map(|(at, _)| *at)
    }

    pub fn due(&mut self, now: Instant) -> Option<Deadline> {
        let (at, deadline) = *self.order.first()?;
        if at > now {
            return None;
        }
        self.cancel(deadline);
        Some(deadline)
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.at.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_deadline_that_is_set_again_expires_once() {
        let mut deadlines = Deadlines::default();
        let start = Instant::now();
        let deadline = Deadline::Inactivity { seid: 1 };
        deadlines.set(deadline, start + Duration::from_secs(1));
        deadlines.set(deadline, start + Duration::from_secs(2));
        assert_eq!(deadlines.due(start + Duration::from_secs(1)), None);
        assert_eq!(deadlines.due(start + Duration::from_secs(2)), Some(deadline));
        assert_eq!(deadlines.due(start + Duration::from_secs(3)), None);
        assert_eq!(deadlines.next(), None);
    }
}
