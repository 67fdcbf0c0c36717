//! One copy of an exact table, which packets do not use while it is written: lines of four keys, of
//! which a key may be in two (`bpf/pipeline.h`), and slots with actions.
//!
//! This is cuckoo hashing: when both lines of a key are full, another key moves to its other line,
//! and so on. Tables are at most four fifths full; should an insertion fail nevertheless, the table
//! is reported as full.
use martlet_bpf::Memory;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

const KEYS: u32 = 4;
/// Size of a line in bytes, and the offset of its slots.
const LINE: usize = 64;
const SLOTS: usize = 32;
/// Moves for one key.
const MOVES: u32 = 512;

/// The copy.
#[derive(Debug)]
pub(crate) struct Exact {
    memory: Arc<Memory>,
    /// Offset of the copy in bytes.
    base: usize,
    lines: u32,
    slots: Slots,
    /// Random state that selects the displaced key, which prevents cycles.
    random: u32,
}

/// Slot numbers, from 1.
#[derive(Debug)]
struct Slots {
    free: Vec<u32>,
    unused: u32,
    last: u32,
}

impl Slots {
    fn take(&mut self) -> Option<u32> {
        self.free.pop().or_else(|| {
            (self.unused <= self.last).then(|| {
                self.unused += 1;
                self.unused - 1
            })
        })
    }
}

/// As in `bpf/pipeline.h`.
fn mixed(mut key: u64) -> u64 {
    key ^= key >> 32;
    key = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    key ^ key >> 29
}

fn lines_of(key: u64, lines: u32) -> [u32; 2] {
    let mixed = mixed(key);
    let line = |hash: u64| (((hash >> 32) * u64::from(lines)) >> 32) as u32;
    [line(mixed), line(mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9))]
}

impl Exact {
    /// The `copy`-th of a table, empty.
    pub fn new(memory: Arc<Memory>, copy: u32, lines: u32, slots: u32) -> Exact {
        let slots = Slots { free: Vec::new(), unused: 1, last: slots };
        Exact { memory, base: copy as usize * lines as usize * LINE, lines, slots, random: 0 }
    }

    /// Size of both copies in bytes.
    pub fn bytes(lines: u32) -> usize {
        2 * lines as usize * LINE
    }

    fn key(&self, line: u32, n: u32) -> &std::sync::atomic::AtomicU64 {
        self.memory.u64(self.base + line as usize * LINE + n as usize * 8)
    }

    fn slot(&self, line: u32, n: u32) -> &std::sync::atomic::AtomicU32 {
        self.memory.u32(self.base + line as usize * LINE + SLOTS + n as usize * 4)
    }

    fn position(&self, key: u64) -> Option<(u32, u32)> {
        let positions = lines_of(key, self.lines)
            .into_iter()
            .flat_map(|line| (0..KEYS).map(move |n| (line, n)));
        positions.into_iter().find(|&(line, n)| {
            self.slot(line, n).load(Relaxed) != 0 && self.key(line, n).load(Relaxed) == key
        })
    }

    /// The slot of a key.
    pub fn find(&self, key: u64) -> Option<u32> {
        self.position(key).map(|(line, n)| self.slot(line, n).load(Relaxed))
    }

    /// Inserts a key and returns its slot; `None` if the table is full.
    pub fn insert(&mut self, key: u64) -> Option<u32> {
        if let Some(slot) = self.find(key) {
            return Some(slot);
        }
        let slot = self.slots.take()?;
        if self.put(key, slot) {
            return Some(slot);
        }
        self.slots.free.push(slot);
        None
    }

    fn put_into(&self, line: u32, key: u64, slot: u32) -> bool {
        let Some(n) = (0..KEYS).find(|n| self.slot(line, *n).load(Relaxed) == 0) else {
            return false;
        };
        self.key(line, n).store(key, Relaxed);
        self.slot(line, n).store(slot, Relaxed);
        true
    }

    fn put(&mut self, key: u64, slot: u32) -> bool {
        let [first, second] = lines_of(key, self.lines);
        if self.put_into(first, key, slot) || self.put_into(second, key, slot) {
            return true;
        }
        // Each key displaces another; if that does not end, all moves are undone.
        let (mut key, mut slot, mut line) = (key, slot, second);
        let mut moved = Vec::new();
        for _ in 0..MOVES {
            self.random = self.random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let n = self.random >> 30;
            moved.push((line, n));
            key = self.key(line, n).swap(key, Relaxed);
            slot = self.slot(line, n).swap(slot, Relaxed);
            let [first, second] = lines_of(key, self.lines);
            line = if line == first { second } else { first };
            if self.put_into(line, key, slot) {
                return true;
            }
        }
        for (line, n) in moved.into_iter().rev() {
            key = self.key(line, n).swap(key, Relaxed);
            slot = self.slot(line, n).swap(slot, Relaxed);
        }
        false
    }

    /// Removes a key and returns its slot.
    pub fn remove(&mut self, key: u64) -> Option<u32> {
        let (line, n) = self.position(key)?;
        let slot = self.slot(line, n).swap(0, Relaxed);
        self.slots.free.push(slot);
        Some(slot)
    }

    /// Removes all keys.
    pub fn clear(&mut self) {
        self.memory.clear(self.base, self.lines as usize * LINE);
        self.slots = Slots { free: Vec::new(), unused: 1, last: self.slots.last };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_bpf::Access;
    use std::collections::HashMap;
    use std::os::fd::AsFd;

    fn table(slots: u32) -> Exact {
        let lines = (slots * 5 / 4).div_ceil(4).max(4);
        let file = nix::sys::memfd::memfd_create(c"lines", nix::sys::memfd::MFdFlags::MFD_CLOEXEC)
            .expect("memory");
        nix::unistd::ftruncate(&file, (Exact::bytes(lines) as i64 + 4095) & !4095).expect("memory");
        let memory =
            Memory::map(file.as_fd(), 0, Exact::bytes(lines), Access::ReadWrite).expect("memory");
        Exact::new(Arc::new(memory), 1, lines, slots)
    }

    #[test]
    fn a_table_accepts_as_many_keys_as_it_has_slots() {
        for (slots, spread) in
            [(1, 1), (64, 1), (4096, 1), (131_072, 1), (131_072, 1 << 32), (10_000, 0x9e37_79b9)]
        {
            let mut table = table(slots);
            for n in 0..u64::from(slots) {
                assert!(table.insert(n.wrapping_mul(spread)).is_some(), "{n} of {slots}");
            }
            assert_eq!(table.insert(u64::MAX), None);
            for n in 0..u64::from(slots) {
                assert!(table.find(n.wrapping_mul(spread)).is_some(), "{n}");
            }
        }
    }

    #[test]
    fn it_behaves_as_a_map() {
        let (mut table, mut map) = (table(500), HashMap::new());
        let mut random = 7u64;
        for _ in 0..20_000 {
            random = mixed(random).wrapping_add(0x1234_5678_9abc_def1);
            let key = random % 700;
            if random >> 60 < 7 {
                assert_eq!(table.remove(key).is_some(), map.remove(&key).is_some());
            } else if let Some(slot) = table.insert(key) {
                assert!(map.insert(key, slot).is_none_or(|before| before == slot));
            } else {
                assert_eq!(map.len(), 500);
            }
        }
        assert!((0..700).all(|key| table.find(key) == map.get(&key).copied()));
        let mut slots: Vec<u32> = map.into_values().collect();
        slots.sort_unstable();
        slots.dedup();
        assert_eq!(slots.len(), (0..700).filter(|key| table.find(*key).is_some()).count());
    }
}
