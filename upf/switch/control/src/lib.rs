//! What may be written into the switch: typed tables from the program's description, batches that
//! are written whole or not at all, counters that never go backwards, and P4Runtime 1.4 for
//! controllers. It knows no DPDK: a switch is a [`Target`].
//!
//! | module | what it is |
//! | --- | --- |
//! | [`model`] | entries, updates, and what a target carries out |
//! | [`tables`] | every check, and batches |
//! | [`ranges`] | ranges as values under masks |
//! | [`counters`], [`journal`] | what outlives the switch process |
//! | [`p4runtime`], [`client`] | the server for controllers, and a controller of our own |
//! | [`rules`] | the language of RPI |
//! | [`build`] | whether a switch program is of this build |
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

pub use error::{BatchError, Code, WriteError};
pub use model::Target;
pub use tables::Tables;

/// The program of the user plane function, in P4.
pub const UPF: &str = include_str!("../../p4/upf.p4");
