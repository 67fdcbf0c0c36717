//! Errors of datapaths. Each text says what failed, why, and what to do; the source of an error is
//! the reason in its text.
mod command;
mod open;
mod session;

pub use command::CommandError;
pub use open::{InterfaceError, NamespaceError, OpenError, SwitchError, TranslationError};
pub use session::{DatapathError, PdrError, ResourceError};

/// The error of one datapath, or of a library that it uses.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;
