//! A concurrency limit that follows the measured latency, as a gradient-based congestion control.
//! It grows while procedures take about as long as on an idle CPU, and shrinks once they delay each
//! other.
use std::time::Duration;

/// Procedures per adjustment.
const WINDOW: u32 = 32;
/// Weight of a slower window in the moving average of the unloaded latency.
const SLOWER_WEIGHT: f64 = 0.1;
/// Latency relative to the unloaded one that is still accepted.
const TOLERANCE: f64 = 2.0;

/// State of the adjustment.
#[derive(Debug)]
pub struct Adaptive {
    min: usize,
    max: usize,
    /// Latency without contention, seconds.
    unloaded: Option<f64>,
    sum: f64,
    seen: u32,
    waited_for: bool,
}

impl Adaptive {
    /// For a machine with this number of CPUs.
    pub fn new(cpus: usize) -> Self {
        let cpus = cpus.max(1);
        Adaptive {
            min: 2 * cpus,
            max: 128 * cpus,
            unloaded: None,
            sum: 0.0,
            seen: 0,
            waited_for: false,
        }
    }

    /// The initial limit: 16 on two CPUs.
    pub fn first(cpus: usize) -> usize {
        8 * cpus.max(1)
    }

    /// Records the duration of a procedure and returns the new limit. `waited_for`: other
    /// procedures waited for its slot.
    pub fn learn(&mut self, limit: usize, elapsed: Duration, waited_for: bool) -> usize {
        self.sum += elapsed.as_secs_f64();
        self.seen += 1;
        self.waited_for |= waited_for;
        if self.seen < WINDOW {
            return limit;
        }
        let mean = self.sum / f64::from(self.seen);
        let wanted = std::mem::take(&mut self.waited_for);
        (self.sum, self.seen) = (0.0, 0);
        let unloaded = match self.unloaded {
            // With waiting procedures, a longer latency may come from contention.
            Some(before) if mean > before && wanted => before,
            Some(before) if mean > before => before + (mean - before) * SLOWER_WEIGHT,
            _ => mean,
        };
        self.unloaded = Some(unloaded);
        let gradient = (TOLERANCE * unloaded / mean.max(f64::MIN_POSITIVE)).clamp(0.5, 1.0);
        // The square root of the limit lets it grow. A limit that is not reached gives no
        // information and stays.
        let room = if wanted { (limit as f64).sqrt() } else { 0.0 };
        ((limit as f64 * gradient + room).round() as usize).clamp(self.min, self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A CPU on which `capacity` concurrent procedures take 1 ms, and more take proportionally
    /// longer.
    fn settle(capacity: usize, first: usize, wanted: bool) -> usize {
        let mut adaptive = Adaptive::new(2);
        let mut limit = first;
        for _ in 0..200 * WINDOW {
            let slowdown = (limit as f64 / capacity as f64).max(1.0);
            limit = adaptive.learn(limit, Duration::from_secs_f64(1e-3 * slowdown), wanted);
        }
        limit
    }

    #[test]
    fn the_limit_converges_to_the_capacity() {
        for capacity in [20, 60] {
            let limit = settle(capacity, 16, true);
            assert!(
                (capacity..capacity * 6).contains(&limit),
                "{limit} for a capacity of {capacity}"
            );
        }
    }

    #[test]
    fn the_limit_stays_without_a_queue_and_within_its_bounds() {
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
