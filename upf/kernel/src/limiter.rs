//! So many a second, and no more.
use std::time::{Duration, Instant};

/// Counts in windows of one second.
pub struct Limiter {
    most: u32,
    used: u32,
    since: Option<Instant>,
}

impl Limiter {
    /// At most this many events per second.
    pub fn per_second(most: u32) -> Self {
        Limiter { most, used: 0, since: None }
    }

    /// Whether one more is within the limit; it is counted.
    pub fn allows(&mut self, now: Instant) -> bool {
        let fresh = self
            .since
            .is_none_or(|since| now.saturating_duration_since(since) >= Duration::from_secs(1));
        if fresh {
            (self.since, self.used) = (Some(now), 0);
        }
        let allowed = self.used < self.most;
        self.used += u32::from(allowed);
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_its_share() {
        let mut limiter = Limiter::per_second(2);
        let start = Instant::now();
        let allowed: Vec<bool> = (0..3).map(|_| limiter.allows(start)).collect();
        assert_eq!(allowed, [true, true, false]);
        assert!(limiter.allows(start + Duration::from_secs(1)));
    }
}
