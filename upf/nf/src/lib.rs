//! The user plane function (UPF): N4 and its rules above a datapath that carries the packets.
//!
//! | part | what it is |
//! | --- | --- |
//! | [`config`] | the configuration, section `upf` |
//! | [`rules`] | the rules of a session: PDR, FAR, QER, URR, BAR |
//! | [`datapath`] | the trait of datapaths, their counters, and the conformance suite |
//! | [`N4`](martlet_upf_n4::N4) | PFCP with the SMF, one file for each procedure |
//! | [`KernelDatapath`] | the datapath of a GTP-U socket and a TUN device |
//! | [`XdpDatapath`] | the datapath of XDP programs |
//! | [`SwitchDatapath`] | a programmable switch, with one of the others behind it |
//!
//! This crate puts them together: [`start`] opens the datapath of the configuration, serves N4 on
//! its socket, exports metrics, and runs the thermal governor.

mod metrics;
mod n4_socket;
mod start;
mod thermal;
mod volumes;

#[cfg(test)]
mod tests;

pub use martlet_upf_config as config;
pub use martlet_upf_datapath as datapath;
pub use martlet_upf_rules as rules;

pub use config::UpfConfig;
pub use datapath::{Signals, conformance, counters, telemetry};
pub use martlet_upf_kernel::KernelDatapath;
pub use martlet_upf_offload::SwitchDatapath;
pub use martlet_upf_xdp::{Verdict, XdpDatapath, XdpError};
pub use start::{AskSource, StatusSource, UpfError, UpfHandle, open_datapath, start};
