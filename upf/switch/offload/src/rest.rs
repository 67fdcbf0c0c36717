//! How often counters of sessions on the switch are asked for: at each look while anything passes
//! there, and seldom where nothing has for a while. Each question costs both processes some
//! wake-ups.
use std::time::{Duration, Instant};

/// Looks without a packet after which counters rest.
const QUIET_LOOKS: u32 = 20;
/// So many times the time between two looks they rest at a time: whoever wakes them is seen that
/// much later, once.
const TIMES: u32 = 10;

/// What decides it.
#[derive(Debug)]
pub(super) struct Rest {
    quiet: u32,
    asked: Instant,
    /// Looks since then.
    looks: u32,
}

impl Rest {
    pub fn new(now: Instant) -> Rest {
        Rest { quiet: 0, asked: now, looks: 0 }
    }

    /// One more look, every `sample`: whether counters are to be asked for. With limits that usage
    /// must not run over unseen, always.
    pub fn is_over(&mut self, now: Instant, sample: Duration, limits: bool) -> bool {
        self.looks += 1;
        limits
            || self.quiet < QUIET_LOOKS
            || now.saturating_duration_since(self.asked) >= sample * TIMES
    }

    /// They were asked for, and something had passed or not. Gives over how many looks what they
    /// have more came.
    pub fn asked(&mut self, now: Instant, passed: bool) -> u32 {
        self.quiet = if passed { 0 } else { self.quiet.saturating_add(1) };
        self.asked = now;
        std::mem::take(&mut self.looks).max(1)
    }

    /// Something moved: there may be more to see.
    pub fn disturb(&mut self) {
        self.quiet = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: Duration = Duration::from_millis(50);

    /// Looks for some time; gives how often it asked.
    fn looks(rest: &mut Rest, now: &mut Instant, n: u32, passed: bool, limits: bool) -> u32 {
        let mut asked = 0;
        for _ in 0..n {
            *now += SAMPLE;
            if rest.is_over(*now, SAMPLE, limits) {
                rest.asked(*now, passed);
                asked += 1;
            }
        }
        asked
    }

    #[test]
    fn it_asks_seldom_while_nothing_passes() {
        let mut now = Instant::now();
        let mut rest = Rest::new(now);
        assert_eq!(looks(&mut rest, &mut now, 100, true, false), 100);
        assert_eq!(looks(&mut rest, &mut now, 20, false, false), 20);
        assert_eq!(looks(&mut rest, &mut now, 100, false, false), 10);
        // Where there are limits it is always awake.
        assert_eq!(looks(&mut rest, &mut now, 100, false, true), 100);
        // The first packet wakes it, half a second later at the most.
        assert!(looks(&mut rest, &mut now, 11, true, false) >= 1);
        assert_eq!(looks(&mut rest, &mut now, 15, false, false), 15);
        looks(&mut rest, &mut now, 100, false, false);
        rest.disturb();
        assert_eq!(looks(&mut rest, &mut now, 10, false, false), 10);
    }

    #[test]
    fn what_came_in_a_rest_is_of_all_its_looks() {
        let mut now = Instant::now();
        let mut rest = Rest::new(now);
        looks(&mut rest, &mut now, QUIET_LOOKS, false, false);
        for _ in 1..TIMES {
            now += SAMPLE;
            assert!(!rest.is_over(now, SAMPLE, false));
        }
        now += SAMPLE;
        assert!(rest.is_over(now, SAMPLE, false));
        assert_eq!(rest.asked(now, true), TIMES);
    }
}
