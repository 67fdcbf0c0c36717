//! Scenarios as data: a YAML file says which gNBs and UEs there are and what they do.
mod answer;
mod check;
mod file;
mod phone;
mod ping;
mod positioning;
mod report;
mod run;
#[cfg(test)]
mod tests;
mod value;

pub use check::{load, parse};
pub use file::*;
pub use ping::ping;
pub use positioning::{CellSection, PositioningSection, Waypoint};
pub use report::{Distribution, ProcedureReport, Report, StepReport, write_csv};
pub use run::{Played, play};
pub use value::*;
