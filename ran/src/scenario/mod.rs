//! Scenarios: a YAML file describes gNBs, UEs and the steps that they take.
mod check;
mod error;
mod expected_answer;
mod file;
mod ping;
mod positioning;
mod report;
mod run;
#[cfg(test)]
mod tests;
mod ue;
mod value;

pub use check::{load, parse};
pub use error::{ScenarioError, SectionError};
pub use file::*;
pub use ping::{ping, ping_together};
pub use positioning::{CellSection, PositioningSection, Waypoint};
pub use report::{Distribution, ProcedureReport, Report, StepReport, write_csv};
pub use run::{Played, play};
pub use value::*;
