//! The program `martlet`, with all functions in one process or one process each: start, shutdown,
//! crash recovery, NF sets, and its commands.
mod api;
mod chaos;
mod console;
mod core_dump;
mod crash_loop;
mod crash_recovery;
mod full_disk;
mod fuzz_stateful;
mod json_patch;
mod lease;
mod nf_sets;
mod oam;
mod outages;
mod pki;
mod remote_call;
mod sandbox;
mod sbi_sockets;
mod service;
mod shutdown;
mod site;
mod traces;
mod tutorial;
mod user_plane;

use site::*;
