//! Whether the end of a lease, which is a time of the database server's clock, can be trusted.
//!
//! The owner of a lease measures it by a monotonic clock of its own. After a failover the server is
//! another machine, whose clock may differ, and any clock can be set. A lease that was stored
//! before then seems to end too early, while its owner still acts on its contexts. So a takeover
//! trusts the server's clock only if it has run evenly, by this machine's monotonic clock, for as
//! long as a lease lasts: each lease that was stored before is over then. Until that time, a lease
//! is over only if its row stayed the same for as long as a lease lasts.
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Difference between two clocks over a time that is no step: an offset, and 200 ppm of the time.
const TOLERANCE: Duration = Duration::from_millis(20);
const DRIFT: u32 = 5000;
/// Two readings that took longer than this together cannot tell a step from the time that they
/// took: the server may have read its clock at once, or last.
const MAX_UNCERTAINTY: Duration = Duration::from_millis(50);
/// Milliseconds of the longest step that is taken for an even clock.
const UNSEEN_STEP: i64 = (MAX_UNCERTAINTY.as_millis() + TOLERANCE.as_millis()) as i64;
/// A reading that is older than this cannot tell a step from drift.
const MAX_AGE: Duration = Duration::from_secs(100);

/// A reading of the server's clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    /// When the request was sent, and when the answer came.
    pub sent: Instant,
    pub answered: Instant,
    /// The server's clock, in milliseconds since 1970.
    pub server_ms: i64,
}

/// What a connection has seen of its server's clock, and of the leases of members.
#[derive(Debug, Default)]
pub(crate) struct ServerClock {
    last: Option<Reading>,
    /// Since when the clock has run evenly.
    even_since: Option<Instant>,
    /// The end of each member's lease as it was last read, and when it was first read so.
    leases: HashMap<String, (i64, Instant)>,
}

fn ms(milliseconds: i64) -> Duration {
    Duration::from_millis(milliseconds.max(0).unsigned_abs())
}

impl ServerClock {
    /// The server may be another one from now on.
    pub fn reconnected(&mut self) {
        (self.last, self.even_since) = (None, None);
    }

    /// Records a reading.
    pub fn read(&mut self, reading: Reading) {
        let is_even = self.last.is_some_and(|last| {
            let longest = reading.answered - last.sent;
            let shortest = reading.sent.saturating_duration_since(last.answered);
            let passed = reading.server_ms.saturating_sub(last.server_ms);
            let tolerance = TOLERANCE + longest / DRIFT;
            longest <= MAX_AGE
                && longest.saturating_sub(shortest) <= MAX_UNCERTAINTY
                && ms(passed) <= longest + tolerance
                && ms(passed) + tolerance >= shortest
        });
        if !is_even {
            self.even_since = Some(reading.answered);
        }
        self.last = Some(reading);
    }

    /// How long to wait until a lease is over that ends at `until` of the server's clock; zero if
    /// it is. `reading` was made with the row. `lease` is the length of the leases of the set.
    pub fn remaining(
        &mut self,
        owner: &str,
        until: i64,
        reading: Reading,
        lease: Duration,
    ) -> Duration {
        self.read(reading);
        let seen = self.leases.entry(owner.to_string()).or_insert((until, reading.answered));
        if seen.0 != until {
            *seen = (until, reading.answered);
        }
        // Its row was not renewed for as long as it lasts.
        let unchanged = lease.saturating_sub(reading.sent.saturating_duration_since(seen.1));
        let even_since = self.even_since.unwrap_or(reading.answered);
        let untrusted = lease.saturating_sub(reading.sent.saturating_duration_since(even_since));
        let rest = until.saturating_add(UNSEEN_STEP).saturating_sub(reading.server_ms);
        let by_clock = ms(rest).max(untrusted);
        by_clock.min(unchanged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(1);

    /// A clock, a moment, and the server's clock at that moment.
    fn after(start: Instant, after_ms: u64, server_ms: i64) -> Reading {
        let sent = start + ms(after_ms as i64);
        Reading { sent, answered: sent + ms(2), server_ms }
    }

    #[test]
    fn an_even_clock_is_trusted_after_one_lease() {
        let (mut clock, start) = (ServerClock::default(), Instant::now());
        clock.read(after(start, 0, 50_000));
        clock.read(after(start, 700, 50_701));
        // The lease ended long ago by the server's clock, but that may have been another clock.
        let wait = clock.remaining("a", 40_000, after(start, 800, 50_800), LEASE);
        assert_eq!(wait, ms(202));
        let wait = clock.remaining("b", 40_000, after(start, 1010, 51_010), LEASE);
        assert_eq!(wait, Duration::ZERO);
        let wait = clock.remaining("c", 51_500, after(start, 1100, 51_100), LEASE);
        assert_eq!(wait, ms(470));
    }

    #[test]
    fn a_step_during_a_slow_reading_ends_no_lease() {
        let (mut clock, start) = (ServerClock::default(), Instant::now());
        clock.read(after(start, 0, 5_000_000));
        clock.read(after(start, 2_000, 5_002_000));
        // Stored at 2,100 for a second. The next reading takes 900 ms: the server's clock was set
        // 800 ms ahead before it was read, at once.
        let sent = start + ms(2_200);
        let slow = Reading { sent, answered: sent + ms(900), server_ms: 5_003_000 };
        let wait = clock.remaining("a", 5_003_100, slow, LEASE);
        assert_eq!(wait, LEASE);
    }

    #[test]
    fn a_step_of_the_clock_ends_no_lease() {
        for step in [-3_600_000, -200_000, -1_000, 300, 3_600_000] {
            let (mut clock, start) = (ServerClock::default(), Instant::now());
            clock.read(after(start, 0, 5_000_000));
            clock.read(after(start, 5_000, 5_005_000));
            // Stored at 5,000 for a second; the step comes after it.
            let until = 5_006_000;
            let wait = clock.remaining("a", until, after(start, 5_300, 5_005_300 + step), LEASE);
            assert!(wait >= ms(700), "{step}: {wait:?}");
            // It ends although the clock was set back: the row has not changed.
            let later = after(start, 6_310, 5_006_310 + step);
            assert_eq!(clock.remaining("a", until, later, LEASE), Duration::ZERO, "{step}");
        }
    }

    #[test]
    fn a_renewed_lease_is_not_over() {
        let (mut clock, start) = (ServerClock::default(), Instant::now());
        clock.remaining("a", 2_000, after(start, 0, 1_000), LEASE);
        clock.read(after(start, 1_000, 2_000));
        let wait = clock.remaining("a", 3_000, after(start, 1_500, 2_500), LEASE);
        assert_eq!(wait, ms(570));
    }

    #[test]
    fn a_clock_that_was_not_read_for_long_is_read_again() {
        let (mut clock, start) = (ServerClock::default(), Instant::now());
        clock.read(after(start, 0, 0));
        let wait = clock.remaining("a", 1, after(start, 101_000, 101_000), LEASE);
        assert_eq!(wait, LEASE);
    }
}
