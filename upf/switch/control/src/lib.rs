//! What may be written into the switch: typed tables from the program's description, batches that are written whole or not
//! at all, counters that never go backwards, and P4Runtime 1.4 for controllers. It knows no DPDK: a switch is a [`Target`].
//!
//! | module | what it is |
//! | --- | --- |
//! | [`model`] | entries, updates, and what a target carries out |
//! | [`tables`] | every check, and batches |
//! | [`ranges`] | ranges as values under masks |
//! | [`counters`], [`journal`] | what outlives the switch process |
//! | [`p4runtime`] | the server for controllers |
pub mod counters;
pub mod error;
pub mod journal;
pub mod model;
pub mod p4runtime;
pub mod ranges;
pub mod tables;

pub use error::{BatchError, Code, WriteError};
pub use model::Target;
pub use tables::Tables;
