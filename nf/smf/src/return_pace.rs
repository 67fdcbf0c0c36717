//! The rate at which sessions return to a UPF that is associated again.
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Limits the rate at which sessions return.
pub struct ReturnPace {
    /// Time between two sessions; `None` if no session returns.
    interval: Option<Duration>,
    /// The next free slot.
    next: Mutex<Option<Instant>>,
}

impl ReturnPace {
    /// Sessions per second; with 0 none returns.
    pub fn new(per_s: u32) -> Self {
        let interval = (per_s > 0).then(|| Duration::from_secs(1) / per_s);
        ReturnPace { interval, next: Mutex::new(None) }
    }

    /// Reserves a slot, and returns the time until it.
    pub fn reserve(&self, now: Instant) -> Option<Duration> {
        let interval = self.interval?;
        let mut next = self.next.lock().unwrap_or_else(|e| e.into_inner());
        let slot = next.map_or(now, |next| next.max(now));
        *next = Some(slot + interval);
        Some(slot - now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_keep_the_rate_and_an_idle_time_saves_none() {
        let (pace, start) = (ReturnPace::new(100), Instant::now());
        let after = |ms| start + Duration::from_millis(ms);
        let delay = |ms| Some(Duration::from_millis(ms));
        assert_eq!([0, 0, 0].map(|ms| pace.reserve(after(ms))), [delay(0), delay(10), delay(20)]);
        assert_eq!([25, 95, 95].map(|ms| pace.reserve(after(ms))), [delay(5), delay(0), delay(10)]);
        assert_eq!(ReturnPace::new(0).reserve(start), None);
    }
}
