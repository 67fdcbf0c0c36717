//! The programs of the XDP datapath, and what user space has of them: loaded, attached, their
//! tables as memory.
//!
//! The programs are C, in `bpf/`, compiled when this crate is:
//!
//! | file | what is in it |
//! | --- | --- |
//! | `structs.h`, `maps.h` | what programs and user space share |
//! | `parsing.h`, `gtp.h` | headers, from the link to the tunnel |
//! | `classify.h` | from a tunnel or address to a rule, by precedence |
//! | `qos.h` | gates, bit rates, quotas, usage |
//! | `telemetry.h` | where packets came in, why they went no further, how long they took; tracing |
//! | `events.h` | what user space is told, by a ring or by sockets (AF_XDP); packets that wait |
//! | `nat_flows.h`, `nat_making.h` | flows of UEs whose addresses are translated: found, and made with their ports |
//! | `nat_parts.h`, `nat_recent.h`, `nat.h` | what of a packet changes, what rules note of flows, and the translation |
//! | `forwarding.h` | tunnel headers put on and taken off, next hops |
//! | `packets.h`, `programs.bpf.c` | the way of a packet, and the programs |
//! | `bench.h`, `bare.h` | packets to measure with, made and received, and what the least costs |
//!
//! This crate knows no rules of PFCP: `martlet-upf` writes the tables. [`types`] are the structs of
//! `structs.h`, made from the compiled programs.

mod attach;
mod bench;
mod cells;
mod entrances;
mod error;
mod features;
mod load;
mod nat;
mod pin;
mod run;
mod sender;
mod socket;
mod table;
mod telemetry;
mod told;
mod traffic;

pub use attach::{Attachment, Mode};
pub use bench::{Bench, BenchPath, bench_teid, bench_ue};
pub use error::XdpError;
pub use features::{kernel, lacking};
pub use load::{Program, Programs, Sizes};
pub use nat::{NatFlow, NatTimes, nat_settings};
pub use pin::Pins;
pub use run::Verdict;
pub use sender::FrameSender;
pub use socket::Receiver;
pub use table::Table;
pub use telemetry::{SessionDrops, TraceWish};
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

/// The link address of both ends of the link between the kernel and the programs; see
/// `bpf/forwarding.h`.
pub const LINK_MAC: [u8; 6] = [0x02, 0x4d, 0x4c, 0x54, 0x00, 0x01];
