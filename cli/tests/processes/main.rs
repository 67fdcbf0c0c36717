//! The program `martlet`, with all functions in one process or one process each: start, shutdown,
//! crash recovery, NF sets, and its commands.
mod chaos;
mod crash_recovery;
mod lease;
mod nf_sets;
mod service;
mod shutdown;
mod site;
mod traces;
mod user_plane;

use site::*;
