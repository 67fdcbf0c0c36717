//! The cores that experiments measure: their configuration, processes and deployments.
mod process;
mod program;
mod setup;
mod variant;

pub(crate) use process::Usage as CoreUsage;
pub(crate) use process::family;
pub use process::{CoreProcess, status_at};
pub use program::{CoreArgs, program_beside};
pub(crate) use setup::{CORES, CoreSetup, ue_config, wait_for_association};
pub use variant::Variant;
