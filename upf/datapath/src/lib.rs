//! The trait [`Datapath`] of packet forwarding by a socket and a TUN device, by XDP, or by a switch
//! in front of either; the counters of datapaths; and the conformance suite that all of them pass.
//!
//! N4 gives a datapath the complete, checked state of a session ([`Change`]); the datapath computes
//! the difference. [`conformance`] checks every datapath against this contract.
pub mod checksum;
pub mod conformance;
mod count;
pub mod counters;
pub mod early;
mod error;
pub mod fair_share;
pub mod metrics;
pub mod perimeter;
#[cfg(feature = "random")]
pub mod random;
pub mod senders;
pub mod signalling;
pub mod tally;
pub mod telemetry;
pub mod unmarked_peers;

pub use error::{
    Cause, CommandError, DatapathError, InterfaceError, NamespaceError, OpenError, PdrError,
    ResourceError, SwitchError, TranslationError,
};

use crate::counters::Counters;
use crate::telemetry::{
    CaptureRequest, CaptureStatus, InterfaceLoss, PdrTraffic, TableUsage, TraceBatch, TraceRequest,
    Traffic,
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

/// Whether a datapath looks a TEID up in its fast table; see [`Datapath::fast_teids`].
pub type TeidFilter = Box<dyn Fn(u32) -> bool + Send>;

/// Forwards packets by the rules of sessions.
pub trait Datapath: Send + 'static {
    /// Its name in configuration, status and metrics.
    fn name(&self) -> &'static str;

    /// The UP function features that it supports (TS 29.244, 8.2.25), in addition to those of N4
    /// itself.
    fn features(&self) -> UpFunctionFeatures;

    /// Whether it detects applications by URLs
    /// ([`Session::detects_urls`](martlet_upf_rules::Session::detects_urls)).
    fn detects_urls(&self) -> bool {
        true
    }

    /// Applies a change completely, or not at all and returns the error. When it returns:
    /// - packets match the new rules;
    /// - buffered packets that the new rules forward have been sent in order, before any newer
    ///   packet; those that the new rules drop are dropped;
    /// - end markers have left after the last packet of their tunnel.
    ///
    /// Unchanged rules keep their state (counted usage, tokens of a rate).
    fn apply(&mut self, change: &Change<'_>) -> Result<(), DatapathError>;

    /// Removes a session, drops its buffered packets, and returns the usage since the last report.
    /// Empty if the session does not exist.
    fn remove(&mut self, seid: u64) -> Vec<Usage>;

    /// Removes several sessions and returns the usage of each, in order. The grace period is waited
    /// for once.
    fn remove_all(&mut self, seids: &[u64]) -> Vec<Vec<Usage>> {
        seids.iter().map(|seid| self.remove(*seid)).collect()
    }

    /// Returns the usage of some URRs since the last call and restarts it. Quotas continue.
    fn take_usage(&mut self, seid: u64, urrs: &[u32]) -> Vec<Usage>;

    /// Bytes forwarded since the session began, uplink and downlink: to detect busy sessions, not
    /// for accounting.
    fn forwarded(&self, seid: u64) -> [u64; 2];

    /// Bytes forwarded since each session began, uplink and downlink, by all engines, in the order
    /// of `seids`.
    fn forwarded_by(&self, seids: &[u64]) -> Vec<[u64; 2]> {
        seids.iter().map(|seid| self.forwarded(*seid)).collect()
    }

    /// When a session last had a packet forwarded; `None` if never.
    fn last_activity(&self, seid: u64) -> Option<Instant>;

    /// When a URR of a session last counted a packet; `None` if never, or if unknown.
    fn last_packet(&self, seid: u64, urr: u32) -> Option<Instant>;

    /// Bytes and packets that a session has waiting.
    fn buffered(&self, seid: u64) -> Buffered;

    /// Sends a Router Advertisement to the UE of a session, which did not solicit it, with the
    /// session's IPv6 prefix. While packets to the UE are buffered, it waits, and the UE is paged.
    fn advertise(&mut self, _seid: u64) {}

    /// The queue of its events.
    fn events(&self) -> EventSender;

    /// Sessions have tunnels to these peers from now on, or no longer: see
    /// [`Perimeter::set_peers`](perimeter::Perimeter::set_peers).
    fn set_peers(&mut self, _changes: &[(IpAddr, bool)]) {}

    /// The perimeter: destinations that UEs may not reach, and allowed senders on N3.
    fn perimeter(&self) -> Option<Arc<perimeter::Perimeter>> {
        None
    }

    /// Its counters.
    fn counters(&self) -> Arc<Counters>;

    /// Traffic and drops of sessions, in the order of `seids`.
    fn traffic(&self, seids: &[u64]) -> Vec<Traffic> {
        vec![Traffic::default(); seids.len()]
    }

    /// Traffic of each PDR of a session, in the order of their IDs. Empty if the session does not
    /// exist.
    fn pdr_traffic(&self, _seid: u64) -> Vec<PdrTraffic> {
        Vec::new()
    }

    /// The TEIDs that are looked up fastest, if there is a difference. N4 allocates those first.
    fn fast_teids(&self) -> Option<TeidFilter> {
        None
    }

    /// How full its tables are.
    fn tables(&self) -> Vec<TableUsage> {
        Vec::new()
    }

    /// Packets that interfaces lost after the datapath had counted them as forwarded.
    fn interface_losses(&self) -> Vec<InterfaceLoss> {
        Vec::new()
    }

    /// Traces packets for a few seconds after each call, and returns those since the previous call.
    fn trace(&self, _request: TraceRequest) -> Result<TraceBatch, CommandError> {
        Err(CommandError::Unsupported { datapath: self.name(), command: "tracing" })
    }

    /// Starts a capture of N6 into a new file of a directory.
    fn begin_capture(
        &self,
        _folder: &Path,
        _request: CaptureRequest,
    ) -> Result<CaptureStatus, CommandError> {
        Err(CommandError::Unsupported { datapath: self.name(), command: "captures" })
    }

    /// The progress of the capture, or the result of the last one. `end` stops it.
    fn capture(&self, _end: bool) -> Option<CaptureStatus> {
        None
    }

    /// Limits the rates of flow classes, and switches batching on or off.
    fn shape(&mut self, _shaping: &Shaping) {}

    /// Bytes forwarded of flows of each class, as [`Shaping`] has them.
    fn class_bytes(&self) -> [u64; CLASSES] {
        [0; CLASSES]
    }

    /// Reloads the XDP programs without losing a packet. With `sample`, one of `sample` packets is
    /// timed from then on.
    fn renew(&self, _sample: Option<u32>) -> Result<(), CommandError> {
        Err(CommandError::Unsupported { datapath: self.name(), command: "program reloads" })
    }

    /// Fill level of its fullest table in per cent, reported as load by N4.
    fn fullness(&self) -> u8 {
        0
    }

    /// Further status for operators, such as interfaces; null without any.
    fn details(&self) -> serde_json::Value {
        serde_json::Value::Null
    }
}

/// Limits set by the thermal governor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shaping {
    /// Bits per second of each flow class; `None`: no limit. Classes: flows with a guaranteed bit
    /// rate, flows of the lowest priority, all others.
    pub limits: [Option<u64>; CLASSES],
    /// Whether packets are processed in batches.
    pub batching: bool,
}

/// The class of a flow; see [`Shaping`]. `lowest` are the QFIs of the lowest priority.
pub fn class_of<'a>(qers: impl Iterator<Item = &'a Qer> + Clone, lowest: &[u8]) -> usize {
    if qers.clone().any(|qer| qer.gbr.is_some()) {
        return 0;
    }
    let qfi = qers.into_iter().find_map(|qer| qer.qfi);
    if qfi.is_some_and(|qfi| lowest.contains(&qfi)) { 1 } else { 2 }
}

/// The new state of a session.
#[derive(Debug, Clone, Copy)]
pub struct Change<'a> {
    /// All its rules, resolved.
    pub session: &'a Session,
    /// Tunnels that get an end marker.
    pub end_markers: &'a [Tunnel],
    /// Drop buffered packets first (DROBU).
    pub drop_buffered: bool,
    /// The next packet that is buffered is notified again, though one was already.
    pub renotify: bool,
}

impl<'a> Change<'a> {
    /// A change without end markers or flags.
    pub fn to(session: &'a Session) -> Self {
        Change { session, end_markers: &[], drop_buffered: false, renotify: false }
    }
}

/// Buffered packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Buffered {
    /// How many.
    pub packets: usize,
    /// Their bytes.
    pub bytes: usize,
}

/// The usage of one usage reporting rule: bytes of IP packets that passed.
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
    /// Time of the first packet.
    pub first: Option<SystemTime>,
    /// Time of the last packet.
    pub last: Option<SystemTime>,
}

/// Events of a datapath.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The first packet was buffered for a session whose FAR has BUFF and NOCP set; once until
    /// packets are forwarded again.
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
    /// A peer reported an unknown tunnel (TS 29.281, 7.3.1).
    ErrorIndication {
        /// The peer.
        peer: IpAddr,
        /// The unknown tunnel endpoint identifier.
        teid: u32,
    },
    /// A DNS response to a UE whose session detects applications by name
    /// ([`Session::asks_for_dns`]).
    Answer {
        /// The server.
        server: IpAddr,
        /// The response.
        answer: Box<Answer>,
    },
    /// A URR reached a volume limit; once until its usage is taken or its quota renewed.
    UsageReached {
        /// Session.
        seid: u64,
        /// URR ID.
        urr: u32,
        /// Which volume.
        limit: Reached,
    },
    /// The first packet was counted by a URR with
    /// [`Urr::awaits_traffic`](martlet_upf_rules::Urr::awaits_traffic). Raised once until that is
    /// set again.
    TrafficStarted {
        /// Session.
        seid: u64,
        /// URR ID.
        urr: u32,
    },
}

/// Which volume was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reached {
    /// The threshold: report, and continue.
    Threshold,
    /// The quota: report, and drop packets until a new quota is granted.
    Quota,
}

/// The queue of a datapath's events. It is bounded: while it is full, an event is raised at its
/// next occasion, except for Error Indications, which their sender repeats.
pub type EventSender = mpsc::Sender<Event>;

/// The event channels of a datapath.
pub struct Signals {
    /// Events for N4.
    pub events: mpsc::Receiver<Event>,
    /// Why the datapath cannot continue.
    pub failures: mpsc::Receiver<String>,
}
