//! The switch itself: a compiled P4 program on DPDK's software switch pipeline (SWX), with ports,
//! tables, counters and meters, in one process and without huge pages.
//!
//! What may be written into its tables is the affair of `martlet-switch-control`, which checks it;
//! this crate carries it out, all of a batch between two packets.
mod as_target;
mod assemble;
mod assembler;
pub mod bench;
mod bpf;
pub mod dpdk;
mod error;
#[cfg(test)]
mod exact;
mod ffi;
pub mod in_kernel;
pub mod issue;
mod lanes;
pub mod parent;
pub mod pcap;
pub mod ports;
mod rpc;
pub mod serve;
pub mod sockets;
mod switch;

pub use as_target::SwitchTarget;
pub use assemble::{Engine, Ports};
pub use error::SwitchError;
pub use ffi::PortCounters;
pub use switch::{CONTROLLER, Change, Entry, HOLD, PORTS, Rebuild, Switch};

pub use martlet_switch_control::UPF;
