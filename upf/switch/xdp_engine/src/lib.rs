//! The XDP engine of the switch: the P4 program of `../p4`, compiled to XDP and attached to ports.
//!
//! It implements the same trait as the DPDK engine ([`martlet_switch_control::Target`]). Tables are
//! shared memory with two copies: packets use one while the other is written.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`load`], [`control`], [`martlet_bpf::Memory`] | the programs of `bpf/`, and the memory shared with them |
//! | [`table`], [`exact`] | tables and their two copies |
//! | [`switch`] | batches, counters and meters for the control plane |
//! | [`hold`], [`frames`], [`ring`], [`martlet_bpf::GracePeriod`] | held packets and their release |
//! | [`attach`], [`peer_monitor`], [`housekeeper`] | ports on interfaces, monitoring of veth peers, and the housekeeping thread |
mod attach;
mod control;
mod error;
mod exact;
mod frames;
mod grace_period;
mod hold;
mod housekeeper;
mod load;
mod peer_monitor;
mod ports;
mod ring;
mod switch;
mod table;

pub use attach::{Links, Wired};
pub use error::XdpError;
pub use frames::{LONGEST, Outcome};
pub use housekeeper::Housekeeper;
pub use peer_monitor::PeerMonitor;
pub use ports::{CONTROLLER, HOLD, PORTS};
pub use switch::{PortCounts, XdpSwitch};
