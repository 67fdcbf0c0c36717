//! Whether the lease of another member is over, without any wall clock.
//!
//! The owner of a lease measures it by its monotonic clock, from before the write that renews it.
//! The end of the lease in the database is a time of the server's clock, which can be set, and
//! which is another clock after a failover. A takeover therefore does not use it: a lease is over
//! when the member's row has not been written for as long as a lease lasts, by this machine's
//! monotonic clock, since it was first read so. A member that reads the rows of its set regularly
//! has measured most of that time before it has to take over.
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Part of a lease by which it is waited for longer, since monotonic clocks differ by up to some
/// hundred parts per million.
const DRIFT: u32 = 1000;

/// A version of a member's row: the end of the lease, and how often it was renewed.
pub(crate) type RowVersion = (i64, i64);

/// What a connection has seen of the rows of other members.
#[derive(Debug, Default)]
pub(crate) struct ObservedLeases {
    /// The row of each member as it was last read, and when it was first read so.
    rows: HashMap<String, (RowVersion, Instant)>,
}

impl ObservedLeases {
    /// The server may be another one from now on, which may lack the last renewals.
    pub fn reconnected(&mut self) {
        self.rows.clear();
    }

    /// Records a member's row that was read before `answered`.
    pub fn observe(&mut self, owner: &str, version: RowVersion, answered: Instant) {
        match self.rows.get_mut(owner) {
            Some((known, _)) if *known == version => {}
            Some(row) => *row = (version, answered),
            None => drop(self.rows.insert(owner.to_string(), (version, answered))),
        }
    }

    /// How long to wait until the lease of a member is over; zero if it is. The row was read, and
    /// is locked, between `sent` and `answered`. `lease` is the length of the leases of the set.
    pub fn remaining(
        &mut self,
        owner: &str,
        version: RowVersion,
        (sent, answered): (Instant, Instant),
        lease: Duration,
    ) -> Duration {
        self.observe(owner, version, answered);
        let since = self.rows.get(owner).map_or(answered, |(_, since)| *since);
        (lease + lease / DRIFT).saturating_sub(sent.saturating_duration_since(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(1);

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn a_lease_is_over_when_its_row_has_not_changed_for_as_long() {
        let (mut leases, start) = (ObservedLeases::default(), Instant::now());
        let at = |after: u64| (start + ms(after), start + ms(after + 2));
        // Whatever the clock of the server says.
        for until in [0, 5_000_000, i64::MAX] {
            let owner = until.to_string();
            let mut remaining = |after| leases.remaining(&owner, (until, 7), at(after), LEASE);
            assert_eq!(remaining(0), ms(1001));
            assert_eq!(remaining(500), ms(503));
            assert_eq!(remaining(1003), Duration::ZERO);
        }
    }

    #[test]
    fn a_renewed_lease_is_not_over() {
        let (mut leases, start) = (ObservedLeases::default(), Instant::now());
        let at = |after: u64| (start + ms(after), start + ms(after + 2));
        leases.observe("a", (5_000, 7), at(0).1);
        assert_eq!(leases.remaining("a", (6_000, 8), at(900), LEASE), ms(1001));
        // The clock was set back by as much as had passed: the end is the same.
        assert_eq!(leases.remaining("a", (6_000, 9), at(1_950), LEASE), ms(1001));
        assert_eq!(leases.remaining("a", (6_000, 9), at(2_960), LEASE), Duration::ZERO);
    }

    #[test]
    fn rows_that_were_read_regularly_cost_a_takeover_no_wait() {
        let (mut leases, start) = (ObservedLeases::default(), Instant::now());
        for after in [0, 500, 1_000] {
            leases.observe("a", (5_000, 7), start + ms(after));
        }
        let locked = (start + ms(1_010), start + ms(1_011));
        assert_eq!(leases.remaining("a", (5_000, 7), locked, LEASE), Duration::ZERO);
    }

    #[test]
    fn nothing_is_known_of_another_server() {
        let (mut leases, start) = (ObservedLeases::default(), Instant::now());
        leases.observe("a", (5_000, 7), start);
        leases.reconnected();
        let locked = (start + ms(2_000), start + ms(2_001));
        assert_eq!(leases.remaining("a", (5_000, 7), locked, LEASE), ms(1001));
    }
}
