//! Allocation of rule entries: cache slots (`cache_find` in `bpf/classify.h`) and overflow entries.
//! Released entries are reused after a grace period.
use super::slots::{GRACE_PERIOD, Slots};
use crate::loader::{Programs, types};
use std::collections::{HashMap, VecDeque};
use std::time::Instant;

/// Slots of rules.
pub(super) struct RuleSlots {
    /// One bit for each slot of the cache.
    taken: Vec<u64>,
    released: VecDeque<(Instant, u32)>,
    /// The others, and where they begin.
    others: Slots,
    behind: u32,
}

impl RuleSlots {
    pub fn new(programs: &Programs) -> Self {
        let behind = programs.overflow_start();
        let taken = vec![0; behind.div_ceil(64) as usize];
        // Slot 0 of a `Slots` is never allocated.
        let others = Slots::new(programs.rules.entries() + 1 - behind as usize);
        RuleSlots { taken, released: VecDeque::new(), others, behind }
    }

    /// One of the two slots of a key, if one is free.
    pub fn take_cached(&mut self, homes: [u32; 2]) -> Option<u32> {
        let now = Instant::now();
        while let Some((since, place)) = self.released.front().copied()
            && now.duration_since(since) >= GRACE_PERIOD
        {
            self.released.pop_front();
            self.taken[place as usize / 64] &= !(1 << (place % 64));
        }
        let free = homes.into_iter().find(|place| self.is_free(*place))?;
        self.taken[free as usize / 64] |= 1 << (free % 64);
        Some(free)
    }

    fn is_free(&self, place: u32) -> bool {
        self.taken[place as usize / 64] & 1 << (place % 64) == 0
    }

    /// Whether one of the two slots of a key is free.
    pub fn has_cache_slot(&self, homes: [u32; 2]) -> bool {
        homes.into_iter().any(|place| self.is_free(place))
    }

    /// A slot outside the cache.
    pub fn take_other(&mut self) -> Option<u32> {
        self.others.take(1).map(|slot| slot - 1 + self.behind)
    }

    /// Frees a slot that programs have used until now, after a grace period.
    pub fn release(&mut self, place: u32) {
        self.release_since(place, Instant::now());
    }

    /// Frees a slot that no program uses any more.
    pub fn release_since(&mut self, place: u32, since: Instant) {
        match place.checked_sub(self.behind) {
            Some(slot) => self.others.release_since(slot + 1, 1, since),
            None => {
                let behind = self.released.partition_point(|(earlier, _)| *earlier <= since);
                self.released.insert(behind, (since, place));
            }
        }
    }
}

/// Rates, each of which many rules have.
pub(super) struct Rates {
    slots: Slots,
    known: HashMap<(u64, u64), (u32, u32)>,
}

impl Rates {
    pub fn new(programs: &Programs) -> Self {
        Rates { slots: Slots::new(programs.rates.entries()), known: HashMap::new() }
    }

    /// The slot of a rate, which one more rule uses now.
    pub fn take(&mut self, programs: &Programs, rate: &types::bucket) -> Option<u16> {
        let (burst, per_byte) = (rate.burst, rate.per_byte);
        if let Some((place, rules)) = self.known.get_mut(&(burst, per_byte)) {
            *rules += 1;
            return u16::try_from(*place).ok();
        }
        let place = self.slots.take(1)?;
        programs.rates.write(place, types::rate { burst, per_byte });
        self.known.insert((burst, per_byte), (place, 1));
        u16::try_from(place).ok()
    }

    /// A rule less has it.
    pub fn release(&mut self, programs: &Programs, place: u16) {
        if place == 0 {
            return;
        }
        let types::rate { burst, per_byte } = programs.rates.read(place.into());
        let Some((_, rules)) = self.known.get_mut(&(burst, per_byte)) else { return };
        *rules -= 1;
        if *rules == 0 {
            self.known.remove(&(burst, per_byte));
            self.slots.release(place.into(), 1);
        }
    }
}
