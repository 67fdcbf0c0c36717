//! Position estimation: geometry, radio model, and solvers that turn measurements into a position
//! with its uncertainty.
//!
//! The LMF solves with it and the simulated UE measures with it, each with a configuration of its
//! own.
//!
//! ```
//! use martlet_lcs_position::{GeoPoint, Offset, RangeMeasurement, TangentPlane, solve_ranges};
//!
//! let plane = TangentPlane::at(GeoPoint { lat: 54.09, lon: 12.1 });
//! let at = |east, north| plane.point(&Offset { east, north });
//! let ue = at(120.0, 140.0);
//! let measured = [at(0.0, 0.0), at(420.0, 30.0), at(180.0, 390.0)].map(|to| RangeMeasurement {
//!     to,
//!     from: None,
//!     metres: to.distance(&ue),
//!     deviation: 0.3,
//! });
//! assert!(solve_ranges(&measured).unwrap().point.distance(&ue) < 0.1);
//! ```
#![forbid(unsafe_code)]

mod estimate;
mod geo;
mod levenberg_marquardt;
mod path_loss;
mod quality;
mod ranges;
mod rsrp;
mod rstd;
mod signal_strength;
mod uncertainty_ellipse;

pub use estimate::{Ellipse, Estimate, SolveError};
pub use geo::{GeoPoint, Offset, TangentPlane};
pub use path_loss::PathLoss;
pub use quality::{metres_of_quality, quality_of_metres};
pub use ranges::{RangeMeasurement, solve_ranges};
pub use rsrp::{dbm_of_rsrp, rsrp_of_dbm};
pub use rstd::{METRES_PER_TC, metres_of_rstd, rstd_of_metres};
pub use signal_strength::{CellMeasurement, solve_signal_strengths};
pub use uncertainty_ellipse::{
    PointWithUncertaintyEllipse, metres_of_uncertainty, uncertainty_code,
};
