//! What is due when. Each alarm is set once at most.
use std::collections::{BTreeSet, HashMap};
use std::time::Instant;

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Alarm {
    /// A heartbeat to an SMF.
    Heartbeat { association: u64 },
    /// An SMF has been out of reach for too long.
    Retention { association: u64 },
    /// A notification of downlink data that a BAR delays.
    Notification { seid: u64 },
    /// A periodic usage report.
    Period { seid: u64, urr: u32 },
    /// A time threshold.
    TimeThreshold { seid: u64, urr: u32 },
    /// A time quota.
    TimeQuota { seid: u64, urr: u32 },
    /// Addresses of applications that are known by names change.
    Names,
    /// A session may have been idle for too long.
    Inactivity { seid: u64 },
}

#[derive(Default)]
pub(super) struct Alarms {
    at: HashMap<Alarm, Instant>,
    order: BTreeSet<(Instant, Alarm)>,
}

impl Alarms {
    pub fn set(&mut self, alarm: Alarm, at: Instant) {
        self.cancel(alarm);
        self.at.insert(alarm, at);
        self.order.insert((at, alarm));
    }

    pub fn cancel(&mut self, alarm: Alarm) {
        if let Some(at) = self.at.remove(&alarm) {
            self.order.remove(&(at, alarm));
        }
    }

    pub fn next(&self) -> Option<Instant> {
        self.order.first().map(|(at, _)| *at)
    }

    pub fn due(&mut self, now: Instant) -> Option<Alarm> {
        let (at, alarm) = *self.order.first()?;
        if at > now {
            return None;
        }
        self.cancel(alarm);
        Some(alarm)
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
    fn an_alarm_that_is_set_again_goes_off_once() {
        let mut alarms = Alarms::default();
        let start = Instant::now();
        let alarm = Alarm::Inactivity { seid: 1 };
        alarms.set(alarm, start + Duration::from_secs(1));
        alarms.set(alarm, start + Duration::from_secs(2));
        assert_eq!(alarms.due(start + Duration::from_secs(1)), None);
        assert_eq!(alarms.due(start + Duration::from_secs(2)), Some(alarm));
        assert_eq!(alarms.due(start + Duration::from_secs(3)), None);
        assert_eq!(alarms.next(), None);
    }
}
