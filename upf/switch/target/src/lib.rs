//! The DPDK engine of the switch: a compiled P4 program on DPDK's software switch pipeline (SWX),
//! with ports, tables, counters and meters, in one process and without huge pages.
//!
//! `martlet-switch-control` validates changes to the tables; this crate applies each batch
//! atomically with respect to packets.
pub mod access;
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
mod liveness;
pub mod parent;
pub mod pcap;
pub mod ports;
mod rpc;
pub mod serve;
pub mod sockets;
mod switch;

pub use as_target::SwitchTarget;
pub use assemble::{Engine, Ports};
pub use error::{BindingError, ProcessError, SwitchError};
pub use ffi::PortCounters;
pub use switch::{CONTROLLER, Change, Entry, HOLD, PORTS, Rebuild, Switch};

pub use martlet_switch_control::UPF;
