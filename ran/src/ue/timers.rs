//! The running NAS timers of a UE, as deadlines of the caller's clock.
use std::time::Instant;

/// A NAS timer of the UE (TS 24.501, 10.2 and 10.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// Registration answer.
    T3510,
    /// Pause before the next registration attempt.
    T3511,
    /// Periodic registration.
    T3512,
    /// Storage of RAND and RES*.
    T3516,
    /// Service request answer.
    T3517,
    /// Answer to AUTHENTICATION FAILURE.
    T3520,
    /// De-registration answer.
    T3521,
    /// Release of the N1 signalling connection by the network.
    T3540,
    /// PDU session establishment answer, by PDU session identity.
    T3580(u8),
    /// PDU session modification answer, by PDU session identity.
    T3581(u8),
    /// PDU session release answer, by PDU session identity.
    T3582(u8),
}

/// The running timers. A UE has few at a time, so a list is the fastest table.
#[derive(Debug, Default)]
pub struct Timers(Vec<(Timer, Instant)>);

impl Timers {
    /// Starts or restarts `timer`.
    pub fn start(&mut self, timer: Timer, at: Instant) {
        self.stop(timer);
        self.0.push((timer, at));
    }

    /// Stops `timer`. Returns whether it ran.
    pub fn stop(&mut self, timer: Timer) -> bool {
        let before = self.0.len();
        self.0.retain(|(t, _)| *t != timer);
        self.0.len() != before
    }

    /// Whether `timer` runs.
    pub fn is_running(&self, timer: Timer) -> bool {
        self.0.iter().any(|(t, _)| *t == timer)
    }

    /// When the next one expires.
    pub fn next(&self) -> Option<Instant> {
        self.0.iter().map(|(_, at)| *at).min()
    }

    /// Removes and returns a timer that has expired at `now`, the earliest first.
    pub fn expired(&mut self, now: Instant) -> Option<Timer> {
        let (index, _) = self
            .0
            .iter()
            .enumerate()
            .filter(|(_, (_, at))| *at <= now)
            .min_by_key(|(_, (_, at))| *at)?;
        Some(self.0.swap_remove(index).0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn timers_expire_in_order_and_once() {
        let start = Instant::now();
        let mut timers = Timers::default();
        timers.start(Timer::T3580(5), start + Duration::from_secs(2));
        timers.start(Timer::T3510, start + Duration::from_secs(1));
        assert_eq!(timers.next(), Some(start + Duration::from_secs(1)));
        assert_eq!(timers.expired(start), None);
        let later = start + Duration::from_secs(3);
        assert_eq!(timers.expired(later), Some(Timer::T3510));
        assert_eq!(timers.expired(later), Some(Timer::T3580(5)));
        assert_eq!(timers.expired(later), None);
    }

    #[test]
    fn starting_again_moves_the_deadline() {
        let start = Instant::now();
        let mut timers = Timers::default();
        timers.start(Timer::T3517, start);
        timers.start(Timer::T3517, start + Duration::from_secs(5));
        assert_eq!(timers.expired(start + Duration::from_secs(1)), None);
        assert!(timers.stop(Timer::T3517));
        assert!(!timers.is_running(Timer::T3517));
    }
}
