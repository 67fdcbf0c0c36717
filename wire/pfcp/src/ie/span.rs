//! Time spans in one octet (TS 29.244, 8.2.35 and 8.2.78): the unit in the high 3 bits, the count
//! in the low 5.
use super::{GracefulReleasePeriod, Timer};
use std::time::Duration;

/// Units in seconds, by their code; other codes mean minutes.
const UNITS: [u64; 5] = [2, 60, 600, 3600, 36_000];
const ENDLESS: u8 = 7 << 5;

/// The shortest encodable span of at least this one.
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
            /// The shortest encodable span of at least this one; beyond 310 hours, unlimited.
            pub fn of(span: Duration) -> Self {
                $name(write(span))
            }
            /// The span; `None`: unlimited. Zero: the timer is stopped.
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
    fn spans_are_encoded_in_the_finest_unit_that_can_hold_them() {
        for (seconds, octet, expected) in [
            (0, 0, 0),
            (1, 1, 2),
            (2, 1, 2),
            (62, 31, 62),
            (63, 1 << 5 | 2, 120),
            (3600, 2 << 5 | 6, 3600),
        ] {
            assert_eq!(Timer::of(Duration::from_secs(seconds)), Timer(octet));
            assert_eq!(Timer(octet).span(), Some(Duration::from_secs(expected)));
        }
        assert_eq!(Timer::of(Duration::from_secs(u64::from(u32::MAX))).span(), None);
        assert_eq!(GracefulReleasePeriod(5 << 5 | 2).span(), Some(Duration::from_secs(120)));
    }
}
