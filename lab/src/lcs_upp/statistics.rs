//! The statistics of the paper: mean, standard error, and 99 % confidence interval of the normal
//! distribution.
use statrs::statistics::Statistics;

/// The 0.995 quantile of the standard normal distribution, rounded as in the paper.
pub(super) const Z: f64 = 2.58;

/// A mean with its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Interval {
    /// The mean.
    pub mean: f64,
    /// Its standard error.
    pub error: f64,
}

impl Interval {
    /// The interval of a sample of at least two values.
    pub(crate) fn of(sample: &[f64]) -> Option<Self> {
        if sample.len() < 2 {
            return None;
        }
        let error = sample.std_dev() / (sample.len() as f64).sqrt();
        Some(Interval { mean: sample.mean(), error })
    }

    /// The lower bound.
    pub(crate) fn low(&self) -> f64 {
        self.mean - Z * self.error
    }

    /// The upper bound.
    pub(crate) fn high(&self) -> f64 {
        self.mean + Z * self.error
    }

    /// The change of the upper bound from another interval's, in per cent.
    pub(crate) fn change(&self, from: &Interval) -> f64 {
        (self.high() / from.high() - 1.0) * 100.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_standard_error_and_interval_match_the_textbook() {
        let interval = Interval::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        // Variance 32/7, over 8.
        assert!(
            (interval.mean - 5.0).abs() < 1e-12
                && (interval.error - (32.0f64 / 7.0 / 8.0).sqrt()).abs() < 1e-12
        );
        assert!((interval.high() - interval.low() - 2.0 * 2.58 * interval.error).abs() < 1e-12);
        let double = Interval { mean: 10.0, error: 2.0 * interval.error };
        assert!((double.change(&interval) - 100.0).abs() < 1e-9);
        assert_eq!(Interval::of(&[1.0]), None);
    }
}
