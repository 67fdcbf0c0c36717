//! A limit that follows the latency seen: as long as procedures take about as long as they do on an
//! idle core more are let in, and fewer once they hold each other up (a gradient, as congestion
//! control of networks has it).
use std::time::Duration;

/// Procedures after which the limit is looked at again.
const WINDOW: u32 = 32;
/// How much of a window's mean goes into the slow average of unhindered latency, when it is higher
/// than that.
const FORGETTING: f64 = 0.1;
/// Latency over the unhindered one that is still fine.
const TOLERANCE: f64 = 2.0;

/// What has been learned.
#[derive(Debug)]
pub struct Adaptive {
    least: usize,
    most: usize,
    /// Seconds that a procedure takes where nothing hinders it.
    unhindered: Option<f64>,
    sum: f64,
    seen: u32,
    waited_for: bool,
}

impl Adaptive {
    /// For a machine with so many processors.
    pub fn new(cores: usize) -> Self {
        let cores = cores.max(1);
        Adaptive {
            least: 2 * cores,
            most: 128 * cores,
            unhindered: None,
            sum: 0.0,
            seen: 0,
            waited_for: false,
        }
    }

    /// The limit to begin with: 16 on two processors.
    pub fn first(cores: usize) -> usize {
        8 * cores.max(1)
    }

    /// The limit after a procedure took so long. `waited_for`: others waited for its slot.
    pub fn learn(&mut self, limit: usize, took: Duration, waited_for: bool) -> usize {
        self.sum += took.as_secs_f64();
        self.seen += 1;
        self.waited_for |= waited_for;
        if self.seen < WINDOW {
            return limit;
        }
        let mean = self.sum / f64::from(self.seen);
        let wanted = std::mem::take(&mut self.waited_for);
        (self.sum, self.seen) = (0.0, 0);
        let unhindered = match self.unhindered {
            // Only where nobody waits is a longer latency the core's own, and not that of too many
            // at once.
            Some(before) if mean > before && wanted => before,
            Some(before) if mean > before => before + (mean - before) * FORGETTING,
            _ => mean,
        };
        self.unhindered = Some(unhindered);
        let gradient = (TOLERANCE * unhindered / mean.max(f64::MIN_POSITIVE)).clamp(0.5, 1.0);
        // Room for a queue as the square root of the limit lets it grow while nothing speaks
        // against it; a limit that nobody reaches says nothing and stays.
        let room = if wanted { (limit as f64).sqrt() } else { 0.0 };
        ((limit as f64 * gradient + room).round() as usize).clamp(self.least, self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A core of which so many procedures at once take 1 ms, and more of them proportionally
    /// longer.
    fn settle(capacity: usize, first: usize, wanted: bool) -> usize {
        let mut adaptive = Adaptive::new(2);
        let mut limit = first;
        for _ in 0..200 * WINDOW {
            let held_up = (limit as f64 / capacity as f64).max(1.0);
            limit = adaptive.learn(limit, Duration::from_secs_f64(1e-3 * held_up), wanted);
        }
        limit
    }

    #[test]
    fn it_finds_what_the_core_can_do() {
        for capacity in [20, 60] {
            let limit = settle(capacity, 16, true);
            assert!(
                (capacity..capacity * 6).contains(&limit),
                "{limit} for a capacity of {capacity}"
            );
        }
    }

    #[test]
    fn it_stays_where_nobody_waits_and_within_its_bounds() {
        assert_eq!(settle(1000, 16, false), 16);
        assert_eq!(settle(1_000_000, 16, true), 256);
        let mut adaptive = Adaptive::new(1);
        let mut limit = 16;
        for n in 0..100 * WINDOW {
            limit = adaptive.learn(limit, Duration::from_millis(1 << (n / WINDOW).min(20)), true);
            assert!((2..=128).contains(&limit));
        }
    }
}
