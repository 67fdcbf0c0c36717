//! The user plane function: N4 and its rules above a datapath that carries the packets.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`config`] | the configuration |
//! | [`n4`] | PFCP with the SMF, one file for each procedure |
//! | [`rules`] | the rules of a session: PDR, FAR, QER, URR, BAR, and whether they fit together |
//! | [`datapath`] | what N4 asks of whatever carries the packets |
//! | [`conformance`] | what every datapath has to pass |
//! | [`KernelDatapath`] | the datapath of sockets and a TUN device |

pub mod config;
pub mod conformance;
pub mod counters;
pub mod datapath;
mod kernel;
mod metrics;
pub mod n4;
pub mod rules;
mod start;

pub use config::UpfConfig;
pub use kernel::{KernelDatapath, Signals};
pub use start::{StatusSource, UpfError, UpfHandle, start};
