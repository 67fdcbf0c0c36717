//! The programs loaded and attached, and their tables mapped as memory.
mod attach;
mod bench;
mod cells;
mod error;
mod events;
mod features;
mod load;
mod lookup;
mod nat;
mod perimeter;
mod pin;
mod run;
mod sender;
mod socket;
mod table;
mod telemetry;
mod traffic;

pub use attach::{Attachment, Mode};
pub use bench::{Bench, BenchPath, bench_teid, bench_ue};
pub use error::XdpError;
pub use features::{kernel, lacking};
pub use load::{Program, Programs, Sizes};
pub use nat::{NatFlow, NatTimes, nat_settings};
pub use perimeter::WrittenPerimeter;
pub use pin::Pins;
pub use run::Verdict;
pub use sender::FrameSender;
pub use socket::Receiver;
pub use table::Table;
pub use telemetry::{SessionDrops, TraceRequest};
pub use traffic::{Received, Traffic};

#[allow(missing_docs, clippy::all, clippy::undocumented_unsafe_blocks)]
mod skeleton {
    include!(concat!(env!("OUT_DIR"), "/programs.skel.rs"));
}

/// The structs that the programs and user space share, by their names in `bpf/structs.h`.
#[allow(missing_docs)]
pub mod types {
    pub use super::skeleton::types::*;
}

/// The MAC address of both ends of the link between the kernel and the programs; see
/// `bpf/forwarding.h`.
pub const LINK_MAC: [u8; 6] = [0x02, 0x4d, 0x4c, 0x54, 0x00, 0x01];
