//! Points in time (TS 29.571, 5.2).
use crate::macros::checked_string;
use std::time::Duration;

checked_string! {
    /// Date and time of RFC 3339, such as `2024-01-31T12:00:00Z` (TS 29.571, 5.2).
    pub struct DateTime, |text| text.parse::<jiff::Timestamp>().is_ok()
}

impl DateTime {
    /// Now, in UTC.
    pub fn now() -> Self {
        DateTime(compact_str::format_compact!("{}", jiff::Timestamp::now()))
    }
    /// A time from now, in UTC.
    pub fn after(time: Duration) -> Self {
        let then = jiff::Timestamp::now().checked_add(time).unwrap_or(jiff::Timestamp::MAX);
        DateTime(compact_str::format_compact!("{then}"))
    }
    /// Time until then; zero where it has passed.
    pub fn remaining(&self) -> Duration {
        let then = self.0.parse::<jiff::Timestamp>().unwrap_or(jiff::Timestamp::MIN);
        then.duration_since(jiff::Timestamp::now()).try_into().unwrap_or(Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_checked_and_compared() {
        assert!("2024-01-31T12:00:00Z".parse::<DateTime>().is_ok());
        assert!("2024-01-31T12:00:00.5+02:00".parse::<DateTime>().is_ok());
        assert!("yesterday".parse::<DateTime>().is_err());
        assert_eq!(DateTime::now().remaining(), Duration::ZERO);
        assert!(DateTime::after(Duration::from_secs(1000)).remaining() > Duration::from_secs(900));
        assert!(DateTime::now().parse::<DateTime>().is_ok());
    }
}
