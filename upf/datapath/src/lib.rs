//! What N4 asks of whatever carries the packets: a kernel socket and TUN device, XDP, or a switch
//! with one of them.
//!
//! N4 tells a datapath what a session shall be like, whole and checked ([`Change`]); how it gets
//! there from what it has is the datapath's affair. [`conformance`](crate::conformance) holds every
//! datapath to what is written here.
pub mod checksum;
pub mod conformance;
pub mod counters;
mod error;
pub mod metrics;
#[cfg(feature = "random")]
pub mod random;
pub mod signalling;
pub mod tally;
pub mod telemetry;

pub use error::{CommandError, DatapathError, OpenError};

use crate::counters::Counters;
use crate::telemetry::{
    CaptureRequest, CaptureStatus, TableUsage, TraceBatch, TraceRequest, Traffic,
};
use martlet_board::governor::CLASSES;
use martlet_pfcp::ie::UpFunctionFeatures;
use martlet_upf_rules::dns::Answer;
use martlet_upf_rules::{Qer, Session, Tunnel};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, SystemTime};
use tokio::sync::mpsc;

/// Which TEIDs a datapath finds at once; see [`Datapath::fast_teids`].
pub type TeidFilter = Box<dyn Fn(u32) -> bool + Send>;

/// Carries packets as rules say.
pub trait Datapath: Send + 'static {
    /// Its name in configuration, status and metrics.
    fn name(&self) -> &'static str;

    /// What it can do of the features that a UP function tells (TS 29.244, 8.2.25); those that N4
    /// does by itself are added to them.
    fn features(&self) -> UpFunctionFeatures;

    /// Makes a session what the change says, or leaves everything as it was and says why. From its
    /// return on:
    /// - packets meet the new rules;
    /// - packets that were buffered, and that the new rules forward, have gone out in the order in
    ///   which they came, and before any packet that came later; those that the new rules drop are
    ///   gone;
    /// - end markers have gone out behind the last packet on their tunnel.
    ///
    /// State of rules that stay (usage counted, tokens of a bit rate) stays.
    fn apply(&mut self, change: &Change<'_>) -> Result<(), DatapathError>;

    /// Ends a session, drops what it buffered, and gives the usage since it was last taken. A
    /// session that does not exist has none.
    fn remove(&mut self, seid: u64) -> Vec<Usage>;

    /// Removes several sessions, and gives what each of them has used since it was last asked, in
    /// their order. What it takes to know that no packet is counted any more it takes once for
    /// all.
    fn remove_all(&mut self, seids: &[u64]) -> Vec<Vec<Usage>> {
        seids.iter().map(|seid| self.remove(*seid)).collect()
    }

    /// Gives the usage of some rules of a session since it was last taken, and starts it anew.
    /// Quotas count on.
    fn take_usage(&mut self, seid: u64, urrs: &[u32]) -> Vec<Usage>;

    /// Bytes that a session has had forwarded since it was made, from the UE and to it: to see
    /// what is busy, not to account for.
    fn forwarded(&self, seid: u64) -> [u64; 2];

    /// When a session last had a packet forwarded; `None` if never.
    fn last_activity(&self, seid: u64) -> Option<Instant>;

    /// Bytes and packets that a session has waiting.
    fn buffered(&self, seid: u64) -> Buffered;

    /// Where it puts its events.
    fn events(&self) -> EventSender;

    /// What it has counted.
    fn counters(&self) -> Arc<Counters>;

    /// What sessions have sent, received and lost; in the order in which they are asked for.
    fn traffic(&self, seids: &[u64]) -> Vec<Traffic> {
        vec![Traffic::default(); seids.len()]
    }

    /// Says of a TEID whether packets of its tunnel would be found at once, where that is not the
    /// same for all: such ones are given out first.
    fn fast_teids(&self) -> Option<TeidFilter> {
        None
    }

    /// How full its tables are.
    fn tables(&self) -> Vec<TableUsage> {
        Vec::new()
    }

    /// Traces packets until a moment after the last call, and gives those since the call before.
    /// The error says why it cannot.
    fn trace(&self, _wish: TraceRequest) -> Result<TraceBatch, CommandError> {
        Err(CommandError::Unsupported { datapath: self.name(), command: "tracing" })
    }

    /// Begins to write packets of N6 into a new file of a folder. The error says why it cannot.
    fn begin_capture(
        &self,
        _folder: &Path,
        _wish: CaptureRequest,
    ) -> Result<CaptureStatus, CommandError> {
        Err(CommandError::Unsupported { datapath: self.name(), command: "captures" })
    }

    /// How far that is, or the last one was; with `end` it ends.
    fn capture(&self, _end: bool) -> Option<CaptureStatus> {
        None
    }

    /// Has flows of low priority have no more than this together, and packets be taken in batches
    /// or not.
    fn shape(&mut self, _shaping: &Shaping) {}

    /// Bytes forwarded of flows of each class, as [`Shaping`] has them.
    fn class_bytes(&self) -> [u64; CLASSES] {
        [0; CLASSES]
    }

    /// Loads the programs that carry packets anew, and has them take the place of those that do,
    /// without losing a packet. With `sample`, the time of one of so many packets is taken from
    /// then on. The error says why it cannot.
    fn renew(&self, _sample: Option<u32>) -> Result<(), CommandError> {
        Err(CommandError::Unsupported { datapath: self.name(), command: "program reloads" })
    }

    /// How full its fullest table is, in per cent: what N4 tells as load.
    fn fullness(&self) -> u8 {
        0
    }

    /// What it says of itself beside that, for people: interfaces, how full its tables are.
    /// Nothing, unless it has more to say.
    fn details(&self) -> serde_json::Value {
        serde_json::Value::Null
    }
}

/// What the thermal governor asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shaping {
    /// Bits per second for the flows of each class together; none: as many as there are. The
    /// classes: flows with a guaranteed bit rate, those of the lowest priority, all others.
    pub limits: [Option<u64>; CLASSES],
    /// Packets are taken in batches.
    pub batching: bool,
}

/// The class of a flow; see [`Shaping`]. `lowest` are the QFIs of those of the lowest priority.
pub fn class_of<'a>(qers: impl Iterator<Item = &'a Qer> + Clone, lowest: &[u8]) -> usize {
    if qers.clone().any(|qer| qer.gbr.is_some()) {
        return 0;
    }
    let qfi = qers.into_iter().find_map(|qer| qer.qfi);
    if qfi.is_some_and(|qfi| lowest.contains(&qfi)) { 1 } else { 2 }
}

/// A session as it shall be from now on.
#[derive(Debug, Clone, Copy)]
pub struct Change<'a> {
    /// All its rules, resolved.
    pub session: &'a Session,
    /// Tunnels on which an end marker goes out.
    pub end_markers: &'a [Tunnel],
    /// What is buffered is dropped before anything else (DROBU).
    pub drop_buffered: bool,
    /// The next packet that is buffered is notified again, though one was already.
    pub renotify: bool,
}

impl<'a> Change<'a> {
    /// Rules alone.
    pub fn to(session: &'a Session) -> Self {
        Change { session, end_markers: &[], drop_buffered: false, renotify: false }
    }
}

/// Packets that wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Buffered {
    /// How many.
    pub packets: usize,
    /// Their bytes.
    pub bytes: usize,
}

/// What one usage reporting rule has counted: bytes of IP packets that were let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// URR ID.
    pub urr: u32,
    /// Bytes from the UE.
    pub uplink_bytes: u64,
    /// Bytes to the UE.
    pub downlink_bytes: u64,
    /// Packets from the UE.
    pub uplink_packets: u64,
    /// Packets to the UE.
    pub downlink_packets: u64,
    /// When the first of them came.
    pub first: Option<SystemTime>,
    /// When the last of them came.
    pub last: Option<SystemTime>,
}

/// What a datapath tells by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A packet came for a session whose FAR says to buffer and notify; one event until it is
    /// forwarded again.
    DownlinkData {
        /// Session.
        seid: u64,
        /// The PDR that it met.
        pdr: u16,
        /// QoS flow of the PDR's QERs.
        qfi: Option<u8>,
        /// Its differentiated services code point.
        dscp: u8,
    },
    /// A peer does not know a tunnel (TS 29.281, 7.3.1).
    ErrorIndication {
        /// The peer.
        peer: IpAddr,
        /// The tunnel endpoint identifier that it does not know.
        teid: u32,
    },
    /// A name server's answer went to a UE whose session asks for names
    /// ([`Session::asks_for_dns`]).
    Answer {
        /// The server.
        server: IpAddr,
        /// What it answers.
        answer: Box<Answer>,
    },
    /// A usage reporting rule reached its volume; one event until its usage is taken, or its quota
    /// renewed.
    UsageReached {
        /// Session.
        seid: u64,
        /// URR ID.
        urr: u32,
        /// Which volume.
        limit: Reached,
    },
}

/// Which volume was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reached {
    /// The threshold: report and go on.
    Threshold,
    /// The quota: report, and no packet passes until there is a new one.
    Quota,
}

/// Where a datapath puts its events. The channel is bounded: while it is full, an event waits for
/// its next occasion, except for Error Indications, which their sender repeats.
pub type EventSender = mpsc::Sender<Event>;

/// What comes from a datapath by itself.
pub struct Signals {
    /// Events for N4.
    pub events: mpsc::Receiver<Event>,
    /// Why the datapath can go on no longer.
    pub failures: mpsc::Receiver<String>,
}
