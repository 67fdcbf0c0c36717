//! Usage of a URR since the last report, in little memory.
use crate::Usage;
use martlet_upf_rules::Direction;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Bytes and packets of both directions, and the times of the first and the last packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    bytes: [u64; 2],
    packets: [u64; 2],
    /// Nanoseconds since 1970; 0 for never.
    first: u64,
    last: u64,
}

/// The array index of a direction.
pub fn direction_index(direction: Direction) -> usize {
    match direction {
        Direction::Uplink => 0,
        Direction::Downlink => 1,
    }
}

fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX).max(1)
}

fn time(nanoseconds: u64) -> Option<SystemTime> {
    (nanoseconds != 0).then(|| UNIX_EPOCH + Duration::from_nanos(nanoseconds))
}

fn earlier(one: u64, other: u64) -> u64 {
    if one == 0 || other == 0 { one.max(other) } else { one.min(other) }
}

impl Tally {
    /// Adds bytes and packets of a direction.
    pub fn add(
        &mut self,
        direction: Direction,
        bytes: u64,
        packets: u64,
        first: SystemTime,
        last: SystemTime,
    ) {
        let at = direction_index(direction);
        self.bytes[at] = self.bytes[at].saturating_add(bytes);
        self.packets[at] = self.packets[at].saturating_add(packets);
        self.first = earlier(self.first, nanoseconds(first));
        self.last = self.last.max(nanoseconds(last));
    }

    /// Adds another usage.
    pub fn add_usage(&mut self, usage: &Usage) {
        let both = [
            (usage.uplink_bytes, usage.uplink_packets),
            (usage.downlink_bytes, usage.downlink_packets),
        ];
        for (at, (bytes, packets)) in both.into_iter().enumerate() {
            self.bytes[at] = self.bytes[at].saturating_add(bytes);
            self.packets[at] = self.packets[at].saturating_add(packets);
        }
        self.first = earlier(self.first, usage.first.map_or(0, nanoseconds));
        self.last = self.last.max(usage.last.map_or(0, nanoseconds));
    }

    /// Bytes from and to the UE.
    pub fn bytes(&self) -> [u64; 2] {
        self.bytes
    }

    /// Returns the usage of a URR and restarts.
    pub fn take(&mut self, urr: u32) -> Usage {
        let Tally { bytes, packets, first, last } = std::mem::take(self);
        Usage {
            urr,
            uplink_bytes: bytes[0],
            downlink_bytes: bytes[1],
            uplink_packets: packets[0],
            downlink_packets: packets[1],
            first: time(first),
            last: time(last),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_is_taken_once() {
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        let mut tally = Tally::default();
        tally.add(Direction::Uplink, 100, 2, at(5), at(7));
        tally.add(Direction::Downlink, 10, 1, at(4), at(6));
        let usage = tally.take(9);
        assert_eq!((usage.urr, usage.uplink_bytes, usage.uplink_packets), (9, 100, 2));
        assert_eq!((usage.downlink_bytes, usage.downlink_packets), (10, 1));
        assert_eq!((usage.first, usage.last), (Some(at(4)), Some(at(7))));
        let nothing = tally.take(9);
        assert_eq!((nothing.uplink_bytes, nothing.first, nothing.last), (0, None, None));
        tally.add_usage(&nothing);
        assert_eq!(tally, Tally::default());
        tally.add_usage(&usage);
        assert_eq!(tally.take(9), usage);
    }
}
