//! GPRS timer 3 for any number of seconds (TS 24.008, 10.5.7.4a).

use crate::{NasGprsTimer3, NasT3512Value};

/// The units in seconds: 2 s, 30 s, 1 min, 10 min, 1 h, 10 h, and, for T3512 only, 320 h.
const STEPS: [u64; 7] = [2, 30, 60, 600, 3600, 36_000, 1_152_000];

/// The smallest encodable value of at least `seconds`, so that a UE never waits for a shorter time;
/// the largest value where none is long enough.
fn representable(seconds: u64, steps: &[u64]) -> u64 {
    let candidates = steps.iter().filter_map(|&step| {
        let count = seconds.div_ceil(step);
        (count <= 31).then(|| count * step)
    });
    candidates.min().unwrap_or(31 * steps.last().copied().unwrap_or(0))
}

/// T3512, the periodic registration timer, of at least `seconds` (up to 413 days); 0 deactivates
/// it.
pub fn t3512(seconds: u64) -> NasT3512Value {
    match seconds {
        0 => NasT3512Value::deactivated(),
        _ => NasT3512Value::from_seconds(representable(seconds, &STEPS))
            .unwrap_or_else(|_| NasT3512Value::deactivated()),
    }
}

/// A GPRS timer 3 of at least `seconds` (up to 310 hours); 0 deactivates it.
pub fn timer3(seconds: u64) -> NasGprsTimer3 {
    match seconds {
        0 => NasGprsTimer3::deactivated(),
        _ => NasGprsTimer3::from_seconds(representable(seconds, &STEPS[..6]))
            .unwrap_or_else(|_| NasGprsTimer3::deactivated()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_duration_has_a_timer_that_is_no_shorter() {
        assert_eq!(t3512(3600).to_seconds(), Some(3600));
        // 54 minutes exceed 31 units of one minute, and are not a multiple of ten.
        assert_eq!(t3512(3240).to_seconds(), Some(3600));
        assert_eq!(timer3(1).to_seconds(), Some(2));
        assert_eq!(timer3(62).to_seconds(), Some(62));
        assert_eq!(timer3(63).to_seconds(), Some(90));
        for seconds in (1..2_000_000).step_by(997) {
            let decoded = t3512(seconds).to_seconds().expect("a timer that runs");
            assert!(decoded >= seconds, "{seconds} became {decoded}");
            let decoded = timer3(seconds).to_seconds().expect("a timer that runs");
            assert!(decoded >= seconds.min(31 * 36_000), "{seconds} became {decoded}");
        }
        assert_eq!(t3512(u64::MAX).to_seconds(), Some(31 * 1_152_000));
    }

    #[test]
    fn zero_switches_a_timer_off() {
        assert_eq!(t3512(0).to_seconds(), None);
        assert_eq!(timer3(0).to_seconds(), None);
    }
}
