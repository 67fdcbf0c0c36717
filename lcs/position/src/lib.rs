//! Geometry and radio of positioning: where things are, what a UE measures of a cell there, and
//! where a UE is that measures this.
//!
//! The LMF solves with it; the simulated UE measures with it. Both have their own configuration of
//! it, as an LMF and the world have.
#![forbid(unsafe_code)]

mod descent;
mod path_loss;
mod place;
mod quality;
mod rsrp;
mod rstd;
mod shape;
mod solve;
mod times;

pub use path_loss::PathLoss;
pub use place::{Offset, Place, Plane};
pub use quality::{metres_of_quality, quality_of_metres};
pub use rsrp::{dbm_of_rsrp, rsrp_of_dbm};
pub use rstd::{METRES_PER_TC, metres_of_rstd, rstd_of_metres};
pub use shape::{Coded, metres_of_uncertainty, uncertainty_code};
pub use solve::{Ellipse, Estimate, Heard, NotSolved, solve};
pub use times::{Timed, solve_times};
