//! The N4 server: PFCP (TS 29.244) with SMFs, above a datapath.
//!
//! [`N4`] is sans-IO: its inputs are datagrams, events of the datapath and the time, its outputs
//! datagrams. One file for each procedure.
mod advertisement;
mod association;
mod by_peer;
mod clock;
mod context;
mod deadlines;
mod deletion;
mod dns;
mod establishment;
mod filters;
mod graceful_release;
mod headers;
mod heartbeat;
mod invalid_request;
mod load;
pub mod metrics;
mod modification;
mod peers;
mod pfd;
mod rejection;
mod remote;
mod report;
mod rules;
mod server;
mod session_set_deletion;
mod settings;
mod status;
mod teid;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod top;
mod traffic;
mod ue_address;
mod unsupported;
mod usage;
mod volumes;

pub use clock::Moment;
pub use settings::Settings;
pub use top::{SessionTraffic, Snapshot};
pub use volumes::{Bytes, LineVolumes};

use association::Association;
use by_peer::ByPeer;
use clock::ntp_seconds;
use context::Context;
use deadlines::Deadlines;
use dns::LearnedAddresses;
use load::Work;
use martlet_pfcp::ie::{RecoveryTimeStamp, UsageReport};
use martlet_pfcp::transaction::{Answers, Requests};
use martlet_upf_datapath::Datapath;
use pfd::Applications;
use remote::{Remote, ReportedErrors};
use report::Pending;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::time::Instant;
use teid::Teids;
use ue_address::Addresses;
use volumes::Volumes;

#[cfg(test)]
mod tests;

/// A datagram to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// Destination.
    pub to: SocketAddr,
    /// The PFCP message.
    pub bytes: Vec<u8>,
}

/// The PFCP entity of a UP function.
pub struct N4 {
    settings: Settings,
    recovery: RecoveryTimeStamp,
    started: Instant,
    volumes: Volumes,
    datapath: Box<dyn Datapath>,
    associations: HashMap<u64, Association>,
    last_association: u64,
    sessions: HashMap<u64, Box<Context>>,
    /// Sessions by the far ends of their tunnels.
    remote: Remote,
    reported_errors: ReportedErrors,
    /// Sessions by the CP function's end.
    by_cp: ByPeer<u64>,
    teids: Teids,
    addresses: Addresses,
    applications: Applications,
    addresses_of: LearnedAddresses,
    work: Work,
    last_load: u32,
    /// It is stopping, and ends at this time at the latest.
    releasing: Option<Instant>,
    /// It is drained: it rejects new associations. Sessions are accepted, as an SMF may not have
    /// received the request for the release yet.
    draining: bool,
    deadlines: Deadlines,
    /// Requests without a response, with the usage in them.
    pending: HashMap<u32, (Pending, Vec<UsageReport>)>,
    /// Usage that did not reach the SMF, by session. It is reported when the SMF responds again.
    unreported: BTreeMap<u64, Vec<UsageReport>>,
    /// Peers of N3 that the datapath knows.
    known_peers: HashSet<IpAddr>,
    /// Peers that have lost their last tunnel, with the time when they are removed unless they have
    /// a tunnel again.
    leaving: HashMap<IpAddr, Instant>,
    /// When the first of them is due.
    peers_due: Option<Instant>,
    requests: Requests,
    answers: Answers,
    out: Vec<Outgoing>,
}

impl N4 {
    /// Creates an N4 without associations and sessions. `start` is its recovery time stamp, by
    /// which SMFs detect a restart.
    pub fn new(settings: Settings, datapath: Box<dyn Datapath>, start: Moment) -> Self {
        let limits = settings.transactions;
        let (addresses, teids) = (Addresses::new(&settings), Teids::new(datapath.fast_teids()));
        N4 {
            settings,
            recovery: RecoveryTimeStamp(ntp_seconds(start.wall)),
            started: start.instant,
            volumes: Volumes::default(),
            datapath,
            associations: HashMap::new(),
            last_association: 0,
            sessions: HashMap::new(),
            remote: Remote::default(),
            reported_errors: ReportedErrors::default(),
            by_cp: ByPeer::default(),
            teids,
            addresses,
            applications: Applications::new(),
            addresses_of: LearnedAddresses::default(),
            work: Work::default(),
            // Above the sequence numbers used before a restart, up to 1,000 messages per second.
            last_load: ntp_seconds(start.wall).wrapping_mul(1000),
            releasing: None,
            draining: false,
            deadlines: Deadlines::default(),
            pending: HashMap::new(),
            unreported: BTreeMap::new(),
            known_peers: HashSet::new(),
            leaving: HashMap::new(),
            peers_due: None,
            requests: Requests::new(limits, rand::random()),
            answers: Answers::new(limits),
            out: Vec::new(),
        }
    }
}
