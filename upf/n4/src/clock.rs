//! Time as PFCP has it.
use std::time::{Instant, SystemTime};

/// A point in time on the monotonic and on the wall clock.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// For intervals.
    pub instant: Instant,
    /// For time stamps.
    pub wall: SystemTime,
}

impl Moment {
    /// Now.
    pub fn now() -> Self {
        Moment { instant: Instant::now(), wall: SystemTime::now() }
    }
}

/// NTP seconds since 1900, which wrap in 2036 (RFC 5905, 6).
pub(super) fn ntp_seconds(wall: SystemTime) -> u32 {
    const FROM_1900_TO_1970: u64 = 2_208_988_800;
    let unix = wall.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    (unix.wrapping_add(FROM_1900_TO_1970) & 0xffff_ffff) as u32
}
