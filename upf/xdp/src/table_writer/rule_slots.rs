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
    pub fn take_cached(&mut self, slots: [u32; 2]) -> Option<u32> {
        let now = Instant::now();
        while let Some((since, slot)) = self.released.front().copied()
            && now.duration_since(since) >= GRACE_PERIOD
        {
            self.released.pop_front();
            self.taken[slot as usize / 64] &= !(1 << (slot % 64));
        }
        let free = slots.into_iter().find(|slot| self.is_free(*slot))?;
        self.taken[free as usize / 64] |= 1 << (free % 64);
        Some(free)
    }

    fn is_free(&self, slot: u32) -> bool {
        self.taken[slot as usize / 64] & 1 << (slot % 64) == 0
    }

    /// Whether one of the two slots of a key is free.
    pub fn has_cache_slot(&self, slots: [u32; 2]) -> bool {
        slots.into_iter().any(|slot| self.is_free(slot))
    }

    /// A slot outside the cache.
    pub fn take_other(&mut self) -> Option<u32> {
        self.others.take(1).map(|slot| slot - 1 + self.behind)
    }

    /// Frees a slot that programs have used until now, after a grace period.
    pub fn release(&mut self, slot: u32) {
        self.release_since(slot, Instant::now());
    }

    /// Frees a slot that no program uses any more.
    pub fn release_since(&mut self, slot: u32, since: Instant) {
        match slot.checked_sub(self.behind) {
            Some(slot) => self.others.release_since(slot + 1, 1, since),
            None => {
                let behind = self.released.partition_point(|(earlier, _)| *earlier <= since);
                self.released.insert(behind, (since, slot));
            }
        }
    }
}

/// Rates, each shared by many rules.
pub(super) struct Rates {
    slots: Slots,
    known: HashMap<(u64, u64), (u32, u32)>,
}

impl Rates {
    pub fn new(programs: &Programs) -> Self {
        Rates { slots: Slots::new(programs.rates.entries()), known: HashMap::new() }
    }

    /// The slot of a rate, for one more rule.
    pub fn take(&mut self, programs: &Programs, rate: &types::bucket) -> Option<u16> {
        let (burst, per_byte) = (rate.burst, rate.per_byte);
        if let Some((slot, rules)) = self.known.get_mut(&(burst, per_byte)) {
            *rules += 1;
            return u16::try_from(*slot).ok();
        }
        let slot = self.slots.take(1)?;
        programs.rates.write(slot, types::rate { burst, per_byte });
        self.known.insert((burst, per_byte), (slot, 1));
        u16::try_from(slot).ok()
    }

    /// One rule fewer uses the rate.
    pub fn release(&mut self, programs: &Programs, slot: u16) {
        if slot == 0 {
            return;
        }
        let types::rate { burst, per_byte } = programs.rates.read(slot.into());
        let Some((_, rules)) = self.known.get_mut(&(burst, per_byte)) else { return };
        *rules -= 1;
        if *rules == 0 {
            self.known.remove(&(burst, per_byte));
            self.slots.release(slot.into(), 1);
        }
    }
}
