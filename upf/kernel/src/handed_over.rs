//! A session that another datapath has carried until now.
use martlet_upf_datapath::Usage;
use martlet_upf_datapath::counters::DropReason;
use martlet_upf_datapath::telemetry::Volume;
use std::time::Instant;

/// What the other datapath has counted and buffered for a session.
#[derive(Debug, Default)]
pub struct HandedOver {
    /// What its URRs have measured.
    pub urrs: Vec<UrrHandedOver>,
    /// Forwarded since the session began, from and to the UE.
    pub forwarded: [Volume; 2],
    /// The same of each PDR.
    pub of_pdrs: Vec<(u16, Volume)>,
    /// Not forwarded, by reason.
    pub drops: Vec<(DropReason, u64)>,
    /// When a packet was last forwarded.
    pub last_activity: Option<Instant>,
    /// Buffered packets, in order.
    pub waiting: Vec<BufferedPacket>,
    /// The CP function was notified of one of them.
    pub notified: bool,
}

/// A packet that the other datapath has buffered.
#[derive(Debug)]
pub struct BufferedPacket {
    /// The packet.
    pub packet: Vec<u8>,
    /// The tunnel in which it arrived, and its QFI there; `None` if the data network sent it.
    pub tunnel: Option<(u32, Option<u8>)>,
}

/// What the other datapath has counted for a URR.
#[derive(Debug)]
pub struct UrrHandedOver {
    /// URR ID.
    pub urr: u32,
    /// Since the last report.
    pub usage: Option<Usage>,
    /// Bytes from and to the UE since this quota was granted.
    pub quota: [u64; 2],
    /// Which one; see [`Urr::quota_given`](martlet_upf_rules::Urr::quota_given).
    pub quota_given: u32,
    /// Its threshold was reported since the last report of usage.
    pub threshold_reported: bool,
    /// When it last counted a packet.
    pub last: Option<Instant>,
}
