//! The cores that experiments measure: their configuration, processes and deployments.
mod external;
mod process;
mod program;
mod setup;
mod started_program;
mod variant;

pub(crate) use external::ExternalCore;
pub use external::{CoreChoice, ExternalArgs};
pub use process::{CoreProcess, Usage, status_at};
pub(crate) use process::{children, descendants, family};
pub use program::{CoreArgs, sibling_program};
pub(crate) use setup::{CORES, CoreSetup, ue_config, wait_for_association};
pub(crate) use started_program::StartedProgram;
pub use variant::Variant;
