//! Allocation of table entries. Released entries are reused after a grace period.
use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

/// Longer than any program runs.
pub(super) const GRACE_PERIOD: Duration = Duration::from_millis(100);

/// Entries of a table, allocated in runs of a power of two. Entry 0 is never allocated.
pub(super) struct Slots {
    max: u32,
    next: u32,
    in_use: u32,
    /// Free runs, by the power of two of their length.
    free: BTreeMap<u32, Vec<u32>>,
    released: VecDeque<(Instant, u32, u32)>,
}

/// The exponent of the smallest run with this number of entries.
fn class(length: u32) -> u32 {
    length.max(1).next_power_of_two().trailing_zeros()
}

impl Slots {
    /// For a table with this number of entries.
    pub fn new(entries: usize) -> Self {
        let max = u32::try_from(entries).unwrap_or(u32::MAX);
        Slots { max, next: 1, in_use: 0, free: BTreeMap::new(), released: VecDeque::new() }
    }

    /// Allocates a run; `None` if the table is full. If only freed runs remain, waits for their
    /// grace period.
    pub fn take(&mut self, length: u32) -> Option<u32> {
        let class = class(length);
        let taken = self.take_class(class);
        self.in_use += taken.map_or(0, |_| 1 << class);
        taken
    }

    fn take_class(&mut self, class: u32) -> Option<u32> {
        self.collect();
        if let Some(start) = self.free.get_mut(&class).and_then(Vec::pop) {
            return Some(start);
        }
        if let Some(end) = self.next.checked_add(1 << class).filter(|end| *end <= self.max) {
            return Some(std::mem::replace(&mut self.next, end));
        }
        // Rule changes faster than the grace period are delayed, not rejected.
        let (since, ..) = *self.released.iter().find(|(.., given)| *given == class)?;
        std::thread::sleep(GRACE_PERIOD.saturating_sub(since.elapsed()));
        self.collect();
        self.free.get_mut(&class).and_then(Vec::pop)
    }

    /// Frees a run that programs have used until now, after a grace period.
    pub fn release(&mut self, start: u32, length: u32) {
        self.release_since(start, length, Instant::now());
    }

    /// Frees a run that no program uses any more.
    pub fn release_since(&mut self, start: u32, length: u32, since: Instant) {
        let class = class(length);
        self.in_use -= 1 << class;
        let behind = self.released.partition_point(|(earlier, ..)| *earlier <= since);
        self.released.insert(behind, (since, start, class));
    }

    /// Allocated entries, and the capacity.
    pub fn fill(&self) -> (u32, u32) {
        (self.in_use, self.max.saturating_sub(1))
    }

    fn collect(&mut self) {
        let now = Instant::now();
        while let Some((since, start, class)) = self.released.front().copied()
            && now.duration_since(since) >= GRACE_PERIOD
        {
            self.released.pop_front();
            self.free.entry(class).or_default().push(start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_reused_after_the_grace_period() {
        let mut slots = Slots::new(8);
        assert_eq!((slots.take(1), slots.take(3), slots.take(1)), (Some(1), Some(2), Some(6)));
        assert_eq!(slots.take(2), None);
        slots.release(2, 3);
        let released = Instant::now();
        assert_eq!(slots.take(2), None, "runs of another length do not help");
        assert_eq!(slots.fill(), (2, 7));
        assert_eq!((slots.take(4), slots.fill()), (Some(2), (6, 7)));
        assert!(released.elapsed() >= GRACE_PERIOD);
    }

    #[test]
    fn a_run_unused_for_the_grace_period_is_free_at_once() {
        // A busy machine is late at times.
        let is_at_once = (0..10).any(|_| {
            let mut slots = Slots::new(4);
            assert_eq!((slots.take(1), slots.take(1), slots.take(1)), (Some(1), Some(2), Some(3)));
            let long_ago =
                Instant::now().checked_sub(GRACE_PERIOD).expect("the machine runs for longer");
            slots.release(1, 1);
            slots.release_since(3, 1, long_ago);
            let now = Instant::now();
            assert_eq!(slots.take(1), Some(3));
            let elapsed = now.elapsed();
            assert_eq!((slots.take(1), slots.take(1)), (Some(1), None));
            elapsed < GRACE_PERIOD / 2
        });
        assert!(is_at_once);
    }
}
