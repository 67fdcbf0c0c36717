//! Statistics that hold for latencies: no normal distribution assumed.

/// A statistic with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The statistic of the sample.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Size of the sample.
    pub n: usize,
}

/// A quantile (0 to 1) of a sample with the 95 % interval that order statistics give: the ranks
/// between which the true quantile lies are binomial, whatever the distribution. `None` for an
/// empty sample.
pub fn quantile(sample: &[f64], q: f64) -> Option<Estimate> {
    let mut sorted: Vec<f64> = sample.iter().copied().filter(|v| v.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    if n == 0 {
        return None;
    }
    let at = |rank: f64| {
        let rank = rank.clamp(0.0, (n - 1) as f64);
        let (below, part) = (rank.floor() as usize, rank.fract());
        sorted[below] + (sorted[(below + 1).min(n - 1)] - sorted[below]) * part
    };
    let half = 1.96 * (n as f64 * q * (1.0 - q)).sqrt();
    let middle = n as f64 * q;
    let (low, high) = ((middle - half).floor() - 1.0, (middle + half).ceil());
    Some(Estimate { value: at(q * (n - 1) as f64), low: at(low), high: at(high), n })
}

/// The median with its interval.
pub fn median(sample: &[f64]) -> Option<Estimate> {
    quantile(sample, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_a_known_sample() {
        let sample: Vec<f64> = (1..=101).map(f64::from).collect();
        let estimate = median(&sample).unwrap();
        assert_eq!(estimate.value, 51.0);
        // Textbook ranks for n = 101: 41 and 61.
        assert!(
            (40.0..=42.0).contains(&estimate.low) && (60.0..=63.0).contains(&estimate.high),
            "{estimate:?}"
        );
    }

    #[test]
    fn the_interval_covers_the_true_median_as_often_as_it_says() {
        // A linear congruential generator keeps the test the same each time.
        let mut seed = 12345u64;
        let mut next = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 11) as f64 / (1u64 << 53) as f64
        };
        let covered = (0..1000).filter(|_| {
            let sample: Vec<f64> = (0..40).map(|_| next()).collect();
            let estimate = median(&sample).unwrap();
            estimate.low <= 0.5 && 0.5 <= estimate.high
        });
        assert!(covered.count() >= 940);
    }

    #[test]
    fn an_empty_sample_has_no_median() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[f64::NAN]), None);
    }
}
