//! Latency histogram with power-of-two classes.
use crate::count::Count;

/// Classes of times; as `bpf/telemetry.h` has them.
pub const CLASSES: usize = 20;
/// The first class ends at 2^5 ns.
const FIRST: u32 = 5;

/// Nanoseconds at which a class ends; the last one has no end.
pub fn upper_end(class: usize) -> Option<u64> {
    (class + 1 < CLASSES).then(|| 1 << (class as u32 + FIRST))
}

/// Latency of the sampled packets.
#[derive(Debug, Default)]
pub struct Latency {
    /// Packets of each class.
    pub classes: [Count; CLASSES],
    /// Nanoseconds of all of them.
    pub sum: Count,
}

impl Latency {
    /// Adds a sample in nanoseconds.
    pub fn add(&self, nanoseconds: u64) {
        let class = (u64::BITS - (nanoseconds >> FIRST).leading_zeros()) as usize;
        if let Some(count) = self.classes.get(class.min(CLASSES - 1)) {
            count.add(1);
        }
        self.sum.add(nanoseconds);
    }

    /// A quantile (0 to 1) in nanoseconds: the end of its class. None while nothing was measured,
    /// or if it is in the last.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let counts: Vec<u64> = self.classes.iter().map(Count::get).collect();
        let all: u64 = counts.iter().sum();
        let rank = (all as f64 * q).ceil().max(1.0) as u64;
        let mut sum = 0;
        let class = counts.iter().position(|count| {
            sum += count;
            sum >= rank
        })?;
        upper_end(class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_fall_into_their_class() {
        let latency = Latency::default();
        for ns in [0, 31, 32, 63, 64, 1 << 40] {
            latency.add(ns);
        }
        let counts: Vec<u64> = latency.classes.iter().map(Count::get).collect();
        assert_eq!((counts[0], counts[1], counts[2], counts[CLASSES - 1]), (2, 2, 1, 1));
        assert_eq!(latency.quantile(0.5), Some(64));
        assert_eq!(latency.quantile(1.0), None, "beyond the last end nothing is known");
        assert_eq!(Latency::default().quantile(0.5), None);
    }
}
