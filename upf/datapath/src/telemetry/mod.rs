//! Telemetry: traffic and drops of sessions, table usage, latency, traces and captures.
//!
//! | file | what is in it |
//! | --- | --- |
//! | `latency` | times by classes |
//! | `packet` | a readable summary of a frame |
//! | `trace` | packets with the rules that they met |
//! | `capture` | packets of N6 written to a file |
mod capture;
mod latency;
mod packet;
mod trace;

pub use capture::{CaptureFile, Shared as CaptureShared};
pub use capture::{CaptureRequest, CaptureStatus};
pub use latency::{CLASSES, Latency, upper_end};
pub use packet::summary;
pub use trace::{TraceBatch, TraceRequest, Traced};

use crate::counters::{Counters, DropReason};

/// Packets of one direction, and their bytes without tunnel headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Volume {
    /// Bytes.
    pub bytes: u64,
    /// Packets.
    pub packets: u64,
}

/// What a PDR has forwarded, in the direction of its packets, since it was created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PdrTraffic {
    /// PDR ID.
    pub pdr: u16,
    /// The engine that applies it now: the name of a datapath.
    pub engine: &'static str,
    /// Its packets, and their bytes without tunnel headers.
    pub forwarded: Volume,
}

/// Traffic and drops of a session since it began.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Traffic {
    /// From the UE.
    pub uplink: Volume,
    /// To the UE.
    pub downlink: Volume,
    /// Packets not forwarded, by reason.
    pub drops: Vec<(DropReason, u64)>,
}

/// Packets that an interface lost after the datapath had sent them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterfaceLoss {
    /// Name of the interface.
    pub interface: String,
    /// Why, as in metrics.
    pub reason: &'static str,
    /// How many.
    pub packets: u64,
}

/// How full a table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableUsage {
    /// Its name.
    pub table: &'static str,
    /// Entries in use.
    pub used: u64,
    /// Maximum number of entries.
    pub capacity: u64,
}

/// Packets that were received or originated, and packets with a known outcome: equal unless packets
/// are in flight. `waiting` is the number of buffered packets.
///
/// A packet that is passed from one UE to another is counted in both directions, and one that was
/// counted as forwarded and could not leave is among the drops, too.
pub fn balance(counters: &Counters, waiting: u64) -> (u64, u64) {
    let drops: u64 = DropReason::ALL.iter().map(|reason| counters.drops(*reason).get()).sum();
    let received = counters.received_packets.get()
        + counters.originated_packets.get()
        + counters.switched_packets.get()
        + counters.lost_packets.get();
    let sent_or_dropped = counters.uplink_packets.get()
        + counters.downlink_packets.get()
        + drops
        + counters.passed_packets.get()
        + counters.answered_packets.get()
        + counters.signalling_packets.get()
        + waiting;
    (received, sent_or_dropped)
}
