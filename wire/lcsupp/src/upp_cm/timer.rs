//! The back-off timer: GPRS timer 3 (TS 24.008, 10.5.7.4a).

use std::time::Duration;

/// Units of the timer, by bits 8 to 6, in seconds.
const UNITS: [u64; 7] = [600, 3600, 36_000, 2, 30, 60, 1_152_000];
const DEACTIVATED: u8 = 7;

/// The back-off time; `None`: unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BackOff {
    unit: u8,
    count: u8,
}

impl BackOff {
    /// At least `duration`, in the finest unit that can hold it; at most 31 times 320 hours.
    pub fn at_least(duration: Duration) -> Self {
        let seconds = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
        let mut units: Vec<(u8, u64)> = (0..).zip(UNITS).collect();
        units.sort_by_key(|&(_, seconds)| seconds);
        let fits = units.into_iter().find_map(|(unit, of)| {
            let count = u8::try_from(seconds.div_ceil(of)).ok().filter(|&count| count < 32)?;
            Some(BackOff { unit, count })
        });
        fits.unwrap_or(BackOff { unit: 6, count: 31 })
    }

    /// Unlimited: the timer is deactivated.
    pub const NEVER: BackOff = BackOff { unit: DEACTIVATED, count: 0 };

    /// The duration; `None` where the timer is deactivated, which means unlimited.
    pub fn duration(self) -> Option<Duration> {
        let unit = UNITS.get(usize::from(self.unit))?;
        Some(Duration::from_secs(unit * u64::from(self.count)))
    }

    pub(super) fn from_octet(octet: u8) -> Self {
        BackOff { unit: octet >> 5, count: octet & 0x1f }
    }

    pub(super) fn octet(self) -> u8 {
        self.unit << 5 | self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_rounded_up_to_the_finest_unit_that_can_hold_it() {
        let octet = |seconds| BackOff::at_least(Duration::from_secs(seconds)).octet();
        assert_eq!(octet(0), 0x60);
        assert_eq!(octet(61), 0x60 | 31);
        assert_eq!(octet(63), 0x80 | 3);
        for seconds in [0, 1, 2, 61, 62, 63, 900, 930, 931, 1860, 1861, 100_000, 30_000_000] {
            let duration =
                BackOff::at_least(Duration::from_secs(seconds)).duration().unwrap().as_secs();
            assert!(duration >= seconds, "{seconds} s became {duration} s");
        }
        assert_eq!(
            BackOff::at_least(Duration::MAX / 2).duration(),
            Some(Duration::from_secs(31 * 1_152_000))
        );
        assert_eq!(
            BackOff::at_least(Duration::from_millis(1)).duration(),
            Some(Duration::from_secs(2))
        );
    }

    #[test]
    fn every_octet_round_trips() {
        (0..=255).for_each(|octet| assert_eq!(BackOff::from_octet(octet).octet(), octet));
        assert_eq!(BackOff::NEVER.duration(), None);
    }
}
