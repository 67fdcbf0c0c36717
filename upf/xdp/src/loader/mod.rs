//! The programs loaded and attached, and their tables mapped as memory.
mod attach;
mod bench;
mod cells;
mod clock;
mod error;
mod events;
mod features;
mod load;
mod lookup;
mod losses;
mod nat;
mod perimeter;
mod pin;
mod run;
mod sender;
mod socket;
mod table;
mod telemetry;
mod traffic;
mod uplink;
mod veth;

pub use attach::{Attachment, Mode};
pub use bench::{Bench, BenchPath, bench_teid, bench_ue};
pub use error::XdpError;
pub use features::{kernel, lacking};
pub use losses::{Loss, Losses};
pub use nat::{NatFlow, NatTimes, nat_settings};
pub use perimeter::WrittenPerimeter;
pub use pin::Pins;
pub use run::Verdict;
pub use sender::FrameSender;
pub use socket::Receiver;
pub use table::Table;
pub use telemetry::{SessionDrops, TraceRequest};
pub use traffic::{Received, Traffic};
pub(crate) use uplink::FROM_CPU;
pub(crate) use veth::sends_redirected;

use cells::Cells;
use libbpf_rs::MapHandle;
use martlet_bpf::GracePeriod;
use nat::NatTables;
use perimeter::PerimeterTables;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use telemetry::TelemetryTables;

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

/// How large the tables are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sizes {
    /// Sessions.
    pub sessions: u32,
    /// Rules of all sessions.
    pub rules: u32,
    /// Filters of all rules.
    pub filters: u32,
    /// Bytes of the ring buffer for packets and events; a power of two, at least 64 KiB.
    pub ring: u32,
    /// Capacity for translated flows; 0 without translation.
    pub nat_flows: u32,
    /// Capacity for generated sessions; 0 outside the lab.
    pub bench: u32,
    /// One of this number of packets is timed; 0 for none.
    pub sample: u32,
}

impl Sizes {
    /// Additional capacity for rules: replaced ones remain for a grace period, and a session within
    /// the limits must be accepted.
    fn spare(&self) -> u32 {
        (self.rules / 8).clamp(1024, 16_384)
    }
}

/// One of the programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// For interfaces towards gNBs and data networks.
    Port,
    /// For the programs' end of the link with the kernel.
    Inner,
    /// For the kernel's end.
    Outer,
    /// Run on packets that waited.
    Release,
    /// Runs on packets that the kernel reassembled.
    Socket,
    /// For the queues of CPUs that process G-PDUs. Loaded only if the settings have such CPUs.
    Uplink,
    /// Returns the programs' time.
    Clock,
    /// Generates and sends packets of gNBs; see [`Traffic`](Traffic).
    SendUp,
    /// Generates and sends packets to UEs.
    SendDown,
    /// Counts received packets.
    Receive,
    /// The measured programs; see [`Bench`](Bench).
    Bench(Bench),
}

/// The programs and their tables. They end with this, unless they are attached somewhere.
pub struct Programs {
    programs: Mutex<Vec<(Program, Arc<OwnedFd>)>>,
    /// All tables but the settings, by name, for the programs that replace these.
    shared: Vec<(String, OwnedFd)>,
    made: Mutex<(types::settings, Sizes)>,
    bare: [MapHandle; 2],
    pub(crate) bench: Table<types::bench>,
    pub(crate) bench_publics: Table<types::bench_public>,
    pub(crate) bench_received: MapHandle,
    pub(crate) by_teid: Cells,
    pub(crate) by_ue4: Cells,
    pub(crate) by_ue6: MapHandle,
    pub(crate) routes: [MapHandle; 2],
    pub(crate) ports: MapHandle,
    pub(crate) perimeter: PerimeterTables,
    pub(crate) stats: MapHandle,
    pub(crate) events: MapHandle,
    pub(crate) sockets: MapHandle,
    pub(crate) socket_of: MapHandle,
    pub(crate) socket_queues: Table<types::socket_queue>,
    pub(crate) uplink_cpus: MapHandle,
    pub(crate) nat: NatTables,
    pub(crate) telemetry: TelemetryTables,
    /// Rates of classes of flows.
    pub governor: Table<types::governor>,
    pub(crate) grace_period: GracePeriod,
    pub(crate) globals: Table<types::globals>,
    /// Slots of the rule cache for TEIDs; those for addresses are as many.
    pub(crate) cache_slots: u32,
    nat_lines: u32,
    /// Rules. The first two are unused; then come those of the cache, in pairs, then others.
    pub rules: Table<types::rule>,
    /// Rates. The first one is unused.
    pub rates: Table<types::rate>,
    /// Rarely used parts of rules. The first one is unused.
    pub cold_rules: Table<types::rule_cold>,
    /// Filters of rules, in lists of groups.
    pub groups: Table<types::group>,
    /// Rarely used conditions of filters, by slot of their candidate.
    pub filters: Table<types::filter>,
    /// Sessions. The first one is unused.
    pub sessions: Table<types::session>,
    /// Token buckets. The first one is unused.
    pub buckets: Table<types::bucket>,
    /// Token buckets of packets that are answered.
    pub answers: Table<types::bucket>,
    /// Remaining volumes of limits.
    pub limits: Table<i64>,
}
