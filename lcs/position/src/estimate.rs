//! What a solver returns: a position with its uncertainty ellipse, or why there is none.

use crate::GeoPoint;

/// The 95 % quantile of the chi-square distribution with two degrees of freedom.
const QUANTILE: f64 = 5.991;

/// The factor from the axes of an ellipse with this confidence, per cent, to those of one with
/// [`Estimate::CONFIDENCE`]. 0 and values above 100 are no information (TS 23.032, 6.5).
pub(crate) fn factor_from_confidence(confidence: u8) -> f64 {
    match confidence {
        Estimate::CONFIDENCE => 1.0,
        1..100 => (QUANTILE / (-2.0 * (1.0 - f64::from(confidence) / 100.0).ln())).sqrt(),
        // The UE is in the ellipse, or nothing is known of it.
        _ => 1.0,
    }
}

/// The largest ratio of the squared axes of an ellipse. A larger one is a rounding error: the
/// measurements do not determine the position along the major axis.
const MAX_RATIO: f64 = 1e10;
/// The longest semi-major axis, metres: half the circumference of the Earth.
const MAX_AXIS: f64 = 20_015_087.0;

/// An ellipse, in metres and degrees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ellipse {
    /// Semi-major axis, metres.
    pub semi_major: f64,
    /// Semi-minor axis, metres.
    pub semi_minor: f64,
    /// Orientation of the major axis, clockwise from north, 0 to less than 180 degrees.
    pub orientation: f64,
}

impl Ellipse {
    pub(crate) fn circle(radius: f64) -> Self {
        Ellipse { semi_major: radius, semi_minor: radius, orientation: 0.0 }
    }

    /// The 95 % ellipse of the covariance (J^T J)^-1 times `variance`, with J^T J as its elements
    /// (east east, east north, north north). None if the measurements leave a direction
    /// undetermined.
    pub(crate) fn of_normal_equations([ee, en, nn]: [f64; 3], variance: f64) -> Option<Self> {
        let determinant = ee * nn - en * en;
        let (vee, ven, vnn) = (
            nn / determinant * variance,
            -en / determinant * variance,
            ee / determinant * variance,
        );
        let (middle, half) = ((vee + vnn) / 2.0, ((vee - vnn) / 2.0).hypot(ven));
        let axis = |variance: f64| (variance.max(0.0) * QUANTILE).sqrt();
        // The angle of the eigenvector, with north as the first axis.
        let orientation = (0.5 * (2.0 * ven).atan2(vnn - vee)).to_degrees().rem_euclid(180.0);
        let ellipse = Ellipse {
            semi_major: axis(middle + half),
            semi_minor: axis(middle - half),
            orientation,
        };
        // Twice the mean of the eigenvalues, whose product is the determinant.
        let trace = ee + nn;
        let determined = determinant * MAX_RATIO > trace * trace;
        (determined && ellipse.semi_major <= MAX_AXIS).then_some(ellipse)
    }
}

/// The estimated position of a UE.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The most likely point.
    pub point: GeoPoint,
    /// The ellipse that contains the UE with [`Estimate::CONFIDENCE`].
    pub ellipse: Ellipse,
}

impl Estimate {
    /// Per cent.
    pub const CONFIDENCE: u8 = 95;
}

/// Why there is no position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SolveError {
    /// No measurement refers to a cell of known position.
    #[error("no measurement of a cell whose position is configured")]
    NoMeasurements,
    /// The measurements are too few, or contradict each other.
    #[error("the measurements determine no position")]
    NoSolution,
}
