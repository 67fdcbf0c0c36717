//! The program `martlet`, with all functions in one process or one process each: start, shutdown,
//! crash recovery, NF sets, and its commands.
mod amf_selection;
mod api;
mod chaos;
mod commands;
mod console;
mod core_dump;
mod crash_loop;
mod crash_recovery;
mod cut_off;
mod dashboards;
mod flood;
mod full_disk;
mod fuzz_stateful;
mod interop_bed;
mod json_patch;
mod keys_in_memory;
mod lease;
mod log_limit;
mod nf_sets;
mod oam;
mod oidc;
mod outages;
mod pki;
mod policies;
#[path = "../../../upf/nf/src/tests/queries.rs"]
mod queries;
mod redundancy;
mod relay;
mod remote_call;
mod rolling;
mod sandbox;
mod sbi_sockets;
mod service;
mod several_machines;
mod shutdown;
mod site;
mod statements;
mod supervised;
mod terminal;
mod traces;
mod tutorial;
mod ue_messages;
mod ue_sessions;
mod user_plane;

use site::*;
