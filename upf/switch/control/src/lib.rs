//! The control plane of the switch: typed tables from the P4 program, atomic batches, counters that
//! never decrease, and P4Runtime 1.4 for controllers. It does not depend on DPDK: a switch is a
//! [`Target`].
//!
//! | module | what it is |
//! | --- | --- |
//! | [`model`] | entries, updates, and the trait of targets |
//! | [`tables`] | checks and batches |
//! | [`ranges`] | ranges as values with masks |
//! | [`counters`], [`journal`] | state that outlives the switch process |
//! | [`p4runtime`], [`client`] | server and client of P4Runtime |
//! | [`rules`] | the language of RPI |
//! | [`build`] | build identity of a switch program |
pub mod build;
pub mod client;
pub mod counters;
pub mod error;
pub mod journal;
mod kinds;
pub mod model;
pub mod p4runtime;
pub mod ranges;
pub mod rules;
pub mod tables;

pub use error::{BatchError, Code, TableError, TargetError, WriteError};
pub use model::Target;
pub use tables::Tables;

/// The program of the user plane function, in P4: `p4/upf_pna.p4` with the files that it includes.
pub const UPF: &str = include_str!(concat!(env!("OUT_DIR"), "/upf_pna.p4"));
