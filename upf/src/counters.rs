//! What is counted of packets, whatever the datapath.
use std::sync::atomic::{AtomicU64, Ordering};

/// Why a packet was not forwarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum DropReason {
    /// Not GTP-U, or not IP inside.
    Malformed,
    /// A G-PDU for a tunnel that no session has.
    UnknownTunnel,
    /// A packet from the data network for an address that no session has.
    UnknownUe,
    /// A packet from a UE with a source address that the UE does not have.
    ForeignSource,
    /// No PDR of the session matches.
    NoRule,
    /// The FAR says so.
    Action,
    /// A gate is closed.
    Gate,
    /// Beyond the maximum bit rate.
    Rate,
    /// A quota is used up.
    Quota,
    /// The buffer of the session, or of all, is full.
    BufferFull,
    /// Buffered, and dropped as N4 asked or with its session.
    BufferDropped,
    /// An extension header that has to be understood and is not.
    UnknownExtension,
    /// N3 did not take it.
    N3,
    /// N6 did not take it.
    N6,
    /// There is no public address and port for it, or nothing in it can be translated.
    Nat,
}

impl DropReason {
    /// All of them, in the order of their numbers.
    pub const ALL: [DropReason; 15] = [
        DropReason::Malformed,
        DropReason::UnknownTunnel,
        DropReason::UnknownUe,
        DropReason::ForeignSource,
        DropReason::NoRule,
        DropReason::Action,
        DropReason::Gate,
        DropReason::Rate,
        DropReason::Quota,
        DropReason::BufferFull,
        DropReason::BufferDropped,
        DropReason::UnknownExtension,
        DropReason::N3,
        DropReason::N6,
        DropReason::Nat,
    ];

    /// Its name in status and metrics.
    pub fn name(self) -> &'static str {
        match self {
            DropReason::Malformed => "malformed",
            DropReason::UnknownTunnel => "unknown_tunnel",
            DropReason::UnknownUe => "unknown_ue",
            DropReason::ForeignSource => "foreign_source",
            DropReason::NoRule => "no_rule",
            DropReason::Action => "action",
            DropReason::Gate => "gate",
            DropReason::Rate => "rate",
            DropReason::Quota => "quota",
            DropReason::BufferFull => "buffer_full",
            DropReason::BufferDropped => "buffer_dropped",
            DropReason::UnknownExtension => "unknown_extension",
            DropReason::N3 => "n3",
            DropReason::N6 => "n6",
            DropReason::Nat => "nat",
        }
    }
}

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Adds.
    pub fn add(&self, value: u64) {
        self.0.fetch_add(value, Ordering::Relaxed);
    }

    /// Its value.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counters of a datapath.
#[derive(Debug, Default)]
pub struct Counters {
    /// Packets from UEs that were forwarded.
    pub uplink_packets: Count,
    /// Their octets, without tunnel headers.
    pub uplink_octets: Count,
    /// Packets to UEs that were forwarded.
    pub downlink_packets: Count,
    /// Their octets, without tunnel headers.
    pub downlink_octets: Count,
    /// Packets that were put into a buffer.
    pub buffered_packets: Count,
    /// Echo Requests answered.
    pub echo_requests: Count,
    /// Error Indications sent.
    pub error_indications_sent: Count,
    /// Error Indications received.
    pub error_indications_received: Count,
    /// End Markers sent.
    pub end_markers_sent: Count,
    /// End Markers received.
    pub end_markers_received: Count,
    dropped: [Count; DropReason::ALL.len()],
}

impl Counters {
    /// Counts a packet that was not forwarded.
    pub fn dropped(&self, reason: DropReason) {
        self.drops(reason).add(1);
    }

    /// Packets not forwarded for a reason.
    pub fn drops(&self, reason: DropReason) -> &Count {
        &self.dropped[reason as usize]
    }

    /// All numbers, with the names that status and metrics give them; drops are apart.
    pub fn named(&self) -> [(&'static str, u64); 10] {
        [
            ("uplink_packets", self.uplink_packets.get()),
            ("uplink_octets", self.uplink_octets.get()),
            ("downlink_packets", self.downlink_packets.get()),
            ("downlink_octets", self.downlink_octets.get()),
            ("buffered_packets", self.buffered_packets.get()),
            ("echo_requests", self.echo_requests.get()),
            ("error_indications_sent", self.error_indications_sent.get()),
            ("error_indications_received", self.error_indications_received.get()),
            ("end_markers_sent", self.end_markers_sent.get()),
            ("end_markers_received", self.end_markers_received.get()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_own_place() {
        for (n, reason) in DropReason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, n);
        }
    }
}
