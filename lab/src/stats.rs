//! Statistics that hold for latencies: no normal distribution assumed.
use statrs::distribution::{Binomial, DiscreteCDF};
use statrs::statistics::{Data, OrderStatistics};

/// A statistic with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The statistic of the sample.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// The sample is too small for a lower end: `low` is its smallest value.
    pub low_is_open: bool,
    /// The sample is too small for an upper end: `high` is its largest value.
    pub high_is_open: bool,
    /// Size of the sample.
    pub n: usize,
}

/// A quantile (0 to 1) of a sample with the 95 % interval that order statistics give: the ranks
/// between which the true quantile lies are binomial, whatever the distribution. An end whose rank
/// the sample does not have is open: that of the 99th percentile below 368 values. `None` for an
/// empty sample.
pub fn quantile(sample: &[f64], q: f64) -> Option<Estimate> {
    let finite: Vec<f64> = sample.iter().copied().filter(|v| v.is_finite()).collect();
    let n = finite.len();
    // Fails for a `q` that is no probability.
    let ranks = Binomial::new(q, n as u64).ok().filter(|_| n > 0)?;
    let mut data = Data::new(finite);
    let (from, to) = (ranks.inverse_cdf(0.025), ranks.inverse_cdf(0.975) + 1);
    let (low_is_open, high_is_open) = (from == 0, to > n as u64);
    let value = data.quantile(q);
    let mut end = |rank: u64| data.order_statistic(rank.clamp(1, n as u64) as usize);
    let (low, high) = (end(from), end(to));
    Some(Estimate { value, low, high, low_is_open, high_is_open, n })
}

/// The median with its interval.
pub fn median(sample: &[f64]) -> Option<Estimate> {
    quantile(sample, 0.5)
}

/// A difference that cannot be below 0. NaN, for a missing value, stays: `f64::max` makes it 0.
pub(crate) fn at_least_zero(difference: f64) -> f64 {
    if difference < 0.0 { 0.0 } else { difference }
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
        assert_eq!((estimate.low, estimate.high), (41.0, 61.0));
    }

    #[test]
    fn the_interval_covers_the_true_median_in_95_of_100_samples() {
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
    fn a_missing_difference_is_not_zero() {
        assert_eq!([-1.0, 0.0, 2.0].map(at_least_zero), [0.0, 0.0, 2.0]);
        assert!(at_least_zero(1.0 - f64::NAN).is_nan());
    }

    #[test]
    fn an_empty_sample_has_no_median() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[f64::NAN]), None);
        let one = quantile(&[3.0], 1.0).unwrap();
        assert_eq!((one.value, one.low, one.high, one.n), (3.0, 3.0, 3.0, 1));
    }

    #[test]
    fn an_end_beyond_a_small_sample_is_open() {
        let sample = |n: u32| -> Vec<f64> { (1..=n).map(f64::from).collect() };
        // The true 99th percentile is above all of 200 values in 13 of 100 samples.
        let p99 = quantile(&sample(200), 0.99).unwrap();
        assert_eq!((p99.high, p99.low_is_open, p99.high_is_open), (200.0, false, true));
        let p99 = quantile(&sample(400), 0.99).unwrap();
        assert_eq!((p99.low_is_open, p99.high_is_open), (false, false));
        // The smallest and the largest of five values enclose the median in 94 of 100 samples.
        let of_five = median(&sample(5)).unwrap();
        assert_eq!((of_five.low_is_open, of_five.high_is_open), (true, true));
        let of_ten = median(&sample(10)).unwrap();
        assert_eq!((of_ten.low_is_open, of_ten.high_is_open), (false, false));
    }
}
