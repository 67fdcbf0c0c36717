//! A board's sensors, its heat, and a governor of its load; see the README.
pub mod governor;
pub mod model;
pub mod sensors;
pub mod simulated;

pub use governor::{Decision, Governor, GovernorConfig, Seen};
pub use model::Model;
pub use sensors::{Reading, Sensors};
pub use simulated::{BoardConfig, SimulatedBoard};
