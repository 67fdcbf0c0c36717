//! Sensors of a board, a model of its temperature, and a governor of its load; see the README.
pub mod governor;
pub mod model;
pub mod sensors;
pub mod simulated;

pub use governor::{Decision, Governor, GovernorConfig, Sample};
pub use model::Model;
pub use sensors::{Reading, Sensors};
pub use simulated::{BoardConfig, SimulatedBoard};
