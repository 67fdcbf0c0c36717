//! Time spans in one octet (TS 29.244, 8.2.35 and 8.2.78): a unit in the high 3 bits, and how many
//! of it in the low 5.
use super::{GracefulReleasePeriod, Timer};
use std::time::Duration;

/// Units in seconds, by their number; others read as minutes.
const UNITS: [u64; 5] = [2, 60, 600, 3600, 36_000];
const ENDLESS: u8 = 7 << 5;

/// The shortest span that can be written and is no shorter than this one.
fn write(span: Duration) -> u8 {
    let seconds = span.as_secs() + u64::from(span.subsec_nanos() > 0);
    for (number, unit) in UNITS.iter().enumerate() {
        let count = seconds.div_ceil(*unit);
        if count <= 31 {
            return (number as u8) << 5 | count as u8;
        }
    }
    ENDLESS
}

fn read(octet: u8) -> Option<Duration> {
    let unit = octet >> 5;
    if unit == 7 {
        return None;
    }
    let seconds = UNITS.get(usize::from(unit)).copied().unwrap_or(60);
    Some(Duration::from_secs(seconds * u64::from(octet & 0x1f)))
}

macro_rules! span {
    ($($name:ident)*) => {$(
        impl $name {
            /// The shortest span that can be told and is no shorter; beyond 310 hours it has no end.
            pub fn of(span: Duration) -> Self {
                $name(write(span))
            }
            /// The span; none where it has no end. Zero says that the timer is stopped.
            pub fn span(self) -> Option<Duration> {
                read(self.0)
            }
        }
    )*};
}

span! { Timer GracefulReleasePeriod }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_told_in_the_finest_unit_that_holds_them() {
        for (seconds, octet, told) in [
            (0, 0, 0),
            (1, 1, 2),
            (2, 1, 2),
            (62, 31, 62),
            (63, 1 << 5 | 2, 120),
            (3600, 2 << 5 | 6, 3600),
        ] {
            assert_eq!(Timer::of(Duration::from_secs(seconds)), Timer(octet));
            assert_eq!(Timer(octet).span(), Some(Duration::from_secs(told)));
        }
        assert_eq!(Timer::of(Duration::from_secs(u64::from(u32::MAX))).span(), None);
        assert_eq!(GracefulReleasePeriod(5 << 5 | 2).span(), Some(Duration::from_secs(120)));
    }
}
