//! The program `martlet`, with all functions in one process or one process each: start, shutdown,
//! crash recovery, NF sets, and its commands.
mod chaos;
mod core_dump;
mod crash_loop;
mod crash_recovery;
mod dashboards;
mod full_disk;
mod fuzz_stateful;
mod json_patch;
mod lease;
mod nf_sets;
mod oam;
mod outages;
mod pki;
#[path = "../../../upf/nf/src/tests/queries.rs"]
mod queries;
mod remote_call;
mod sandbox;
mod sbi_sockets;
mod service;
mod several_machines;
mod shutdown;
mod site;
mod traces;
mod tutorial;
mod user_plane;

use site::*;
