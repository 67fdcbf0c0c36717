//! The cores that experiments measure: their configuration, processes and deployments.
mod external;
mod process;
mod program;
mod setup;
mod variant;

pub(crate) use external::ExternalCore;
pub use external::{CoreChoice, ExternalArgs};
pub(crate) use process::family;
pub use process::{CoreProcess, Usage, status_at};
pub use program::{CoreArgs, program_beside};
pub(crate) use setup::{CORES, CoreSetup, ue_config, wait_for_association};
pub use variant::Variant;
