//! What every network function stands on: its configuration, its registration with the NRF, the
//! discovery of others, and the program's means to start it, alone in a process or beside others.
#![forbid(unsafe_code)]

mod binding;
pub mod capture;
mod config;
mod context;
mod discovery;
mod error;
mod function;
mod metrics;
pub mod oam;
mod registration;
mod shutdown;
mod silence;
mod start;
pub mod tokens;
pub mod traces;

pub use binding::Binding;
pub use config::CommonConfig;
pub use context::NfContext;
pub use discovery::Criteria;
pub use error::StartError;
pub use function::NetworkFunction;
pub use shutdown::{Shutdown, ShutdownTrigger};
pub use start::{AskSource, Environment, Ready, Reload, RunningNf, start};
