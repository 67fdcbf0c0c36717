//! The core as a library: its configuration, and its network functions started in one process. The
//! program `martlet` adds the commands.
#![forbid(unsafe_code)]

pub mod backups;
pub mod certificates;
pub mod config;
pub mod core;
pub mod exchange;
pub mod pki;
pub mod sandbox;
pub mod ue_history;

pub use martlet_program::error_text;
