//! A token bucket: polices a bit rate.
use std::time::{Duration, Instant};

/// Tokens are bits times 10⁹, so that rounding loses no rate.
#[derive(Debug, Clone)]
pub(super) struct Bucket {
    rate: u64,
    burst: u128,
    tokens: u128,
    filled: Instant,
}

const SCALE: u128 = 1_000_000_000;
/// A bucket holds one packet of the largest size at least, or that packet could never pass.
const SMALLEST_BURST: u128 = 65_535 * 8;

impl Bucket {
    /// Full, for a rate in bits per second, and as large as the rate fills in `burst`.
    pub fn new(rate: u64, burst: Duration, now: Instant) -> Self {
        let bits = u128::from(rate) * burst.as_micros() / 1_000_000;
        let burst = bits.max(SMALLEST_BURST) * SCALE;
        // A rate of 0 passes nothing, not even from a full bucket.
        let tokens = if rate == 0 { 0 } else { burst };
        Bucket { rate, burst, tokens, filled: now }
    }

    /// Changes the rate and retains the tokens.
    pub fn at_rate(mut self, rate: u64, burst: Duration, now: Instant) -> Self {
        self.has(0, now);
        let fresh = Bucket::new(rate, burst, now);
        Bucket { tokens: self.tokens.min(fresh.burst), ..fresh }
    }

    /// The rate in bits per second.
    pub fn rate(&self) -> u64 {
        self.rate
    }

    /// Whether a packet of this many bytes may pass now.
    pub fn has(&mut self, bytes: usize, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.filled);
        if !passed.is_zero() {
            let filled = passed.as_nanos().saturating_mul(u128::from(self.rate));
            self.tokens = self.tokens.saturating_add(filled).min(self.burst);
            self.filled = now;
        }
        self.tokens >= cost(bytes)
    }

    /// Takes the tokens of a packet, if there are enough.
    pub fn take(&mut self, bytes: usize) {
        self.tokens = self.tokens.saturating_sub(cost(bytes));
    }
}

fn cost(bytes: usize) -> u128 {
    bytes as u128 * 8 * SCALE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_and_one_burst_pass() {
        let start = Instant::now();
        // 8 Mbit/s are 1,000 bytes a millisecond; the burst of one second is 1,000,000 bytes.
        let mut bucket = Bucket::new(8_000_000, Duration::from_secs(1), start);
        let mut passed = 0;
        for millisecond in 0..1000 {
            let now = start + Duration::from_millis(millisecond);
            while bucket.has(1000, now) {
                bucket.take(1000);
                passed += 1;
            }
        }
        assert_eq!(passed, 1000 + 999);
    }

    #[test]
    fn a_rate_of_zero_lets_nothing_pass() {
        let start = Instant::now();
        let mut bucket = Bucket::new(0, Duration::from_secs(1), start);
        assert!(!bucket.has(1, start + Duration::from_secs(1000)));
    }
}
