//! Usage of sessions: the counters of rules, added up by usage reporting rule.
use super::compile::{Limit, Planned};
use crate::loader::types::{rule, rule_cold, rule_flag};
use crate::loader::{Programs, Table};
use martlet_upf_datapath::Usage;
use martlet_upf_datapath::tally::{Tally, direction_index};
use martlet_upf_rules::{Direction, Urr};
use std::mem::offset_of;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

/// The slots of a rule in the tables.
#[derive(Debug, Clone, Copy)]
pub(super) struct RuleSlot {
    pub index: u32,
    pub rest: u32,
    pub rate: u16,
}

/// The later of two times, of which only the lower halves are known; 0 is none.
pub(super) fn later(one: u32, other: u32) -> u32 {
    match (one, other) {
        (0, time) | (time, 0) => time,
        _ if one.wrapping_sub(other) < 1 << 31 => one,
        _ => other,
    }
}

/// A rule in the table, with the counts already taken.
pub(super) struct InstalledRule {
    pub index: u32,
    /// Index of its rarely used part.
    pub rest: u32,
    /// Index of a rate of this rule only, in the table of rates.
    pub rate: u16,
    pub pdr: u16,
    pub direction: Direction,
    /// Its PDR was removed. One that is created later with the same ID counts from zero.
    pub is_removed: bool,
    pub urrs: Arc<[u32]>,
    bytes: u64,
    packets: u64,
}

impl InstalledRule {
    /// Adds its counts to bytes and packets from and to UEs.
    pub fn add_to(&self, sum: &mut [[u64; 2]; 2], rules: &Table<rule>) {
        let rule = rules.read(self.index);
        let sum = &mut sum[usize::from(self.direction == Direction::Downlink)];
        *sum = [sum[0] + rule.bytes, sum[1] + rule.packets];
    }

    pub fn new(at: RuleSlot, plan: &Planned, urrs: Arc<[u32]>) -> Self {
        let (pdr, direction) = (plan.pdr, plan.direction);
        let RuleSlot { index, rest, rate } = at;
        InstalledRule {
            index,
            rest,
            rate,
            pdr,
            direction,
            is_removed: false,
            urrs,
            bytes: 0,
            packets: 0,
        }
    }

    /// Bytes and packets since the last time.
    pub fn new_counts(&mut self, rules: &Table<rule>) -> (u64, u64) {
        let now = |offset| rules.u64(self.index, offset).load(Ordering::Relaxed);
        let (bytes, packets) = (now(offset_of!(rule, bytes)), now(offset_of!(rule, packets)));
        let new_counts = (bytes - self.bytes, packets - self.packets);
        (self.bytes, self.packets) = (bytes, packets);
        new_counts
    }

    /// Bytes that it has counted in all.
    pub fn bytes(&self, rules: &Table<rule>) -> u64 {
        rules.u64(self.index, offset_of!(rule, bytes)).load(Ordering::Acquire)
    }

    /// The bytes among them that count for a limit and were not taken yet.
    pub fn untaken(&self, bytes: u64, limit: &Limit) -> u64 {
        let counts =
            self.urrs.contains(&limit.urr) && limit.of.is_none_or(|of| of == self.direction);
        if counts { bytes - self.bytes } else { 0 }
    }

    /// When the first packet since the last call arrived, by the programs' clock. The next one will
    /// be the first again.
    pub fn first(&self, programs: &Programs) -> Option<u64> {
        let first = programs
            .cold_rules
            .u64(self.rest, offset_of!(rule_cold, first))
            .swap(0, Ordering::Relaxed);
        if first == 0 {
            // The time of a packet that just arrived may not be written yet.
            return None;
        }
        let flags = programs.rules.u32(self.index, offset_of!(rule, flags));
        flags.fetch_or(rule_flag::RULE_FRESH.0, Ordering::Relaxed);
        Some(first)
    }

    /// When its last packet arrived, in the lower half of the programs' time; 0 for never.
    pub fn last(&self, rules: &Table<rule>) -> u32 {
        rules.u32(self.index, offset_of!(rule, last)).load(Ordering::Relaxed)
    }
}

/// The counts of a usage reporting rule since they were last taken.
pub(super) struct Account {
    /// URR ID.
    pub urr: u32,
    /// As [`Urr::quota_given`].
    pub quota_given: u32,
    since: Tally,
    /// Bytes since the quota was granted.
    quota: [u64; 2],
    /// When the last packet was counted, in the lower half of the programs' time; 0: never.
    pub last: u32,
}

impl Account {
    pub fn new(urr: &Urr) -> Self {
        Account {
            urr: urr.id,
            quota_given: urr.quota_given,
            since: Tally::default(),
            quota: [0; 2],
            last: 0,
        }
    }

    /// Adds a rule's counts, with the times of its first and last packet.
    pub fn add(
        &mut self,
        direction: Direction,
        (bytes, packets): (u64, u64),
        first: SystemTime,
        last: SystemTime,
    ) {
        self.since.add(direction, bytes, packets, first, last);
        self.quota[direction_index(direction)] += bytes;
    }

    /// Bytes that count for a limit.
    pub fn used(&self, limit: &Limit) -> u64 {
        let counted = if limit.quota { self.quota } else { self.since.bytes() };
        limit.of.map_or(counted[0] + counted[1], |direction| counted[direction_index(direction)])
    }

    /// Bytes since the quota was granted, from and to the UE.
    pub fn of_quota(&self) -> [u64; 2] {
        self.quota
    }

    /// Restarts the count of a renewed quota.
    pub fn renew_quota(&mut self) {
        self.quota = [0; 2];
    }

    /// Takes the counts and restarts them.
    pub fn take(&mut self) -> Usage {
        self.since.take(self.urr)
    }
}

/// The programs' clock, as it was read.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    ticks: u64,
    tick: u32,
}

impl Clock {
    pub fn read(programs: &Programs) -> Self {
        let (ticks, tick) = programs.clock().unwrap_or_else(|error| {
            tracing::error!(%error, "clock of the XDP programs not read");
            (0, 1)
        });
        Clock { ticks, tick }
    }

    /// How long ago a time of the programs was.
    fn ago(&self, time: u64) -> Duration {
        Duration::from_nanos(self.ticks.saturating_sub(time).saturating_mul(self.tick.into()))
    }

    /// A time not later than now, from its lower half.
    pub fn whole(&self, low: u32) -> u64 {
        self.ticks.saturating_sub(u64::from((self.ticks as u32).wrapping_sub(low)))
    }

    /// A time of the programs as people read it.
    pub fn wall(&self, time: u64) -> SystemTime {
        SystemTime::now() - self.ago(time)
    }

    /// A time of the programs from its lower half; `None` without a packet.
    pub fn instant(&self, low: u32) -> Option<Instant> {
        if low == 0 { None } else { Instant::now().checked_sub(self.ago(self.whole(low))) }
    }
}
