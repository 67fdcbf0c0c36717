//! The core as a library: its configuration, and its network functions started in one process. The
//! program `martlet` is a thin layer of commands above.
#![forbid(unsafe_code)]

pub mod config;
pub mod core;
pub mod exchange;
pub mod fabric;
pub mod functions;
pub mod history;
pub mod pki;
