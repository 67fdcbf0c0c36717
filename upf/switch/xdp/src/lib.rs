//! The switch in the kernel: the P4 program of `../p4`, compiled to XDP, at the entrances of ports.
//!
//! It does what the switch on DPDK does ([`martlet_switch_control::Target`]), without DPDK: tables
//! are memory that this process and the programs share, of which packets meet one copy while the
//! other is written.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`load`], [`control`], [`martlet_bpf::Memory`] | the programs of `bpf/`, and what this process shares with them |
//! | [`table`], [`exact`] | a table's two copies |
//! | [`switch`] | batches, counters, meters: what the control writes to |
//! | [`hold`], [`frames`], [`ring`], [`martlet_bpf::Fence`] | packets that wait, and their way back |
//! | [`attach`], [`far_end`], [`keeper`] | interfaces as ports, whether their far ends take frames, and the thread beside the programs |
mod attach;
mod control;
mod error;
mod exact;
mod far_end;
mod frames;
mod hold;
mod keeper;
mod load;
mod ring;
mod switch;
mod table;

pub use attach::{Links, Wired};
pub use error::XdpError;
pub use far_end::FarEnds;
pub use frames::{LONGEST, Outcome};
pub use keeper::Keeper;
pub use switch::{CONTROLLER, HOLD, PORTS, PortCounts, XdpSwitch};
