//! The interval of counter polls for sessions on the switch: at each sample while packets pass, and
//! rarely when none has passed for a while. Each poll costs both processes several wakeups.
use std::time::{Duration, Instant};

/// Samples without a packet after which polls back off.
const IDLE_SAMPLES: u32 = 20;
/// The backed-off interval in samples; the first packet is noticed that much later.
const BACKOFF_SAMPLES: u32 = 10;

/// The state of the back-off.
#[derive(Debug)]
pub(super) struct PollBackoff {
    quiet: u32,
    polled_at: Instant,
    /// Samples since the last poll.
    samples: u32,
}

impl PollBackoff {
    pub fn new(now: Instant) -> PollBackoff {
        PollBackoff { quiet: 0, polled_at: now, samples: 0 }
    }

    /// Called at each sample: whether to poll now. Always, if usage limits have to be enforced.
    pub fn is_due(&mut self, now: Instant, sample: Duration, limits: bool) -> bool {
        self.samples += 1;
        limits
            || self.quiet < IDLE_SAMPLES
            || now.saturating_duration_since(self.polled_at) >= sample * BACKOFF_SAMPLES
    }

    /// Counters were polled, and had changed or not. Returns the number of samples since the last
    /// poll.
    pub fn polled(&mut self, now: Instant, passed: bool) -> u32 {
        self.quiet = if passed { 0 } else { self.quiet.saturating_add(1) };
        self.polled_at = now;
        std::mem::take(&mut self.samples).max(1)
    }

    /// A session moved: poll at the normal interval again.
    pub fn reset(&mut self) {
        self.quiet = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: Duration = Duration::from_millis(50);

    /// Runs a number of samples; returns how often counters were polled.
    fn run(
        poll_backoff: &mut PollBackoff,
        now: &mut Instant,
        n: u32,
        passed: bool,
        limits: bool,
    ) -> u32 {
        let mut polls = 0;
        for _ in 0..n {
            *now += SAMPLE;
            if poll_backoff.is_due(*now, SAMPLE, limits) {
                poll_backoff.polled(*now, passed);
                polls += 1;
            }
        }
        polls
    }

    #[test]
    fn polls_back_off_without_traffic() {
        let mut now = Instant::now();
        let mut poll_backoff = PollBackoff::new(now);
        assert_eq!(run(&mut poll_backoff, &mut now, 100, true, false), 100);
        assert_eq!(run(&mut poll_backoff, &mut now, 20, false, false), 20);
        assert_eq!(run(&mut poll_backoff, &mut now, 100, false, false), 10);
        // With limits, each sample polls.
        assert_eq!(run(&mut poll_backoff, &mut now, 100, false, true), 100);
        // The first packet ends the back-off, after at most half a second.
        assert!(run(&mut poll_backoff, &mut now, 11, true, false) >= 1);
        assert_eq!(run(&mut poll_backoff, &mut now, 15, false, false), 15);
        run(&mut poll_backoff, &mut now, 100, false, false);
        poll_backoff.reset();
        assert_eq!(run(&mut poll_backoff, &mut now, 10, false, false), 10);
    }

    #[test]
    fn a_poll_after_a_back_off_covers_all_samples() {
        let mut now = Instant::now();
        let mut poll_backoff = PollBackoff::new(now);
        run(&mut poll_backoff, &mut now, IDLE_SAMPLES, false, false);
        for _ in 1..BACKOFF_SAMPLES {
            now += SAMPLE;
            assert!(!poll_backoff.is_due(now, SAMPLE, false));
        }
        now += SAMPLE;
        assert!(poll_backoff.is_due(now, SAMPLE, false));
        assert_eq!(poll_backoff.polled(now, true), BACKOFF_SAMPLES);
    }
}
