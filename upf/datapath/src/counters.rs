//! Packet counters and drop reasons of all datapaths.
pub use crate::count::Count;
use crate::telemetry::Latency;
use crate::unmarked_peers::UnmarkedPeers;

/// Why a packet was not forwarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum DropReason {
    /// Not GTP-U, or not IP inside, or a tunnel to ourselves within one.
    Malformed,
    /// A G-PDU for a tunnel that no session has.
    UnknownTunnel,
    /// A packet from the data network for an address that no session has.
    UnknownUe,
    /// A packet from a UE with a source address that the UE does not have.
    ForeignSource,
    /// No PDR of the session matches.
    NoRule,
    /// The FAR drops.
    Action,
    /// A gate is closed.
    Gate,
    /// Beyond the maximum bit rate.
    Rate,
    /// A quota is used up.
    Quota,
    /// The buffer of the session, or of all, is full.
    BufferFull,
    /// Buffered, then dropped on request of N4 or with the session.
    BufferDropped,
    /// An unknown GTP-U extension header with comprehension required.
    UnknownExtension,
    /// Transmission on N3 failed.
    N3,
    /// Transmission on N6 failed.
    N6,
    /// No public address and port available, or not translatable.
    Nat,
    /// Shaped by the thermal governor.
    Thermal,
    /// From a UE to an address of this machine, of the core, or of another peer of N3.
    N6Isolation,
    /// A G-PDU whose sender is not a peer of its session, or an Error Indication of one that is not
    /// a peer of any.
    N3Source,
    /// A G-PDU without a QFI, where QFIs are required.
    NoQfi,
    /// From a UE to another one, where the data network denies that.
    UeToUe,
    /// Longer than what the datapath's own links and buffers take.
    TooLong,
}

impl DropReason {
    /// All of them, in the order of their numbers.
    pub const ALL: [DropReason; 21] = [
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
        DropReason::Thermal,
        DropReason::N6Isolation,
        DropReason::N3Source,
        DropReason::NoQfi,
        DropReason::UeToUe,
        DropReason::TooLong,
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
            DropReason::Thermal => "thermal",
            DropReason::N6Isolation => "n6_isolation",
            DropReason::N3Source => "n3_source",
            DropReason::NoQfi => "no_qfi",
            DropReason::UeToUe => "ue_to_ue",
            DropReason::TooLong => "too_long",
        }
    }

    /// Explanation for operators.
    pub fn explanation(self) -> &'static str {
        match self {
            DropReason::Malformed => {
                "not GTP-U, or no IP packet in it, or a tunnel to this UPF within a tunnel"
            }
            DropReason::UnknownTunnel => "no session has this TEID",
            DropReason::UnknownUe => "no session has the destination address",
            DropReason::ForeignSource => "the UE does not have this source address",
            DropReason::NoRule => "no PDR of the session matches",
            DropReason::Action => "the FAR drops it",
            DropReason::Gate => "a gate is closed",
            DropReason::Rate => "beyond the maximum bit rate",
            DropReason::Quota => "a quota is used up",
            DropReason::BufferFull => "the buffer is full",
            DropReason::BufferDropped => {
                "it was buffered, and dropped on request of N4 or with its session"
            }
            DropReason::UnknownExtension => {
                "an extension header that requires comprehension is unknown"
            }
            DropReason::N3 => "it is too long, or the interface did not accept it (N3)",
            DropReason::N6 => {
                "there is no route to the data network, or the interface did not accept it (N6)"
            }
            DropReason::Nat => "no public address and port are free, or it cannot be translated",
            DropReason::Thermal => {
                "the thermal governor shapes flows of low priority: the board gets too warm"
            }
            DropReason::N6Isolation => {
                "UEs may not reach this address of the machine or of the core (upf.n6.allow)"
            }
            DropReason::N3Source => {
                "the session has no tunnel to this sender (upf.n3.source_check, upf.n3.allow)"
            }
            DropReason::NoQfi => {
                "the gNB sends no QFI, and no PDR matches without one (upf.n3.require_qfi)"
            }
            DropReason::UeToUe => {
                "UEs of this data network do not reach each other (upf.dnns[].ue_to_ue)"
            }
            DropReason::TooLong => {
                "it is longer than 3,498 bytes, and XDP cannot pass it to the kernel: lower the \
                 MTU of the UE or of N3"
            }
        }
    }
}

/// Counters of a datapath.
#[derive(Debug, Default)]
pub struct Counters {
    /// Packets from UEs that were forwarded.
    pub uplink_packets: Count,
    /// Their bytes, without tunnel headers.
    pub uplink_bytes: Count,
    /// Packets to UEs that were forwarded.
    pub downlink_packets: Count,
    /// Their bytes, without tunnel headers.
    pub downlink_bytes: Count,
    /// Packets that were buffered.
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
    /// Received packets: from interfaces, from the kernel, and datagrams at the GTP-U port.
    pub received_packets: Count,
    /// Packets passed to the kernel: foreign ones, and those to be answered or reassembled.
    pub passed_packets: Count,
    /// Packets answered with ICMP.
    pub answered_packets: Count,
    /// Packets from one UE to another, which are counted in both directions.
    pub switched_packets: Count,
    /// Packets counted as forwarded that could not be sent; they are also counted as drops.
    pub lost_packets: Count,
    /// Packets of the UPF itself: Router Advertisements that no UE solicited, answers to redirected
    /// requests, and further copies of a frame from a data network.
    pub originated_packets: Count,
    /// GTP-U messages other than packets, Router Solicitations, and Router Advertisements that no
    /// UE solicited.
    pub signalling_packets: Count,
    /// Uplink G-PDUs without a QFI that matched the default QoS flow.
    pub unmarked_packets: Count,
    /// Fragmented datagrams that were forgotten, since their session had newer ones: later
    /// fragments of them have no ports.
    pub replaced_fragments: Count,
    /// Uplink G-PDUs without a QFI that matched the default QoS flow, by peer.
    pub unmarked_peers: UnmarkedPeers,
    /// Processing time of packets.
    pub latency: Latency,
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

    /// All counters but drops, with their names in status and metrics.
    pub fn named(&self) -> [(&'static str, u64); 19] {
        [
            ("uplink_packets", self.uplink_packets.get()),
            ("uplink_bytes", self.uplink_bytes.get()),
            ("downlink_packets", self.downlink_packets.get()),
            ("downlink_bytes", self.downlink_bytes.get()),
            ("buffered_packets", self.buffered_packets.get()),
            ("echo_requests", self.echo_requests.get()),
            ("error_indications_sent", self.error_indications_sent.get()),
            ("error_indications_received", self.error_indications_received.get()),
            ("end_markers_sent", self.end_markers_sent.get()),
            ("end_markers_received", self.end_markers_received.get()),
            ("received_packets", self.received_packets.get()),
            ("passed_packets", self.passed_packets.get()),
            ("answered_packets", self.answered_packets.get()),
            ("switched_packets", self.switched_packets.get()),
            ("lost_packets", self.lost_packets.get()),
            ("originated_packets", self.originated_packets.get()),
            ("signalling_packets", self.signalling_packets.get()),
            ("unmarked_packets", self.unmarked_packets.get()),
            ("replaced_fragments", self.replaced_fragments.get()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drop_reasons_are_numbered_in_order() {
        for (n, reason) in DropReason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, n);
        }
    }
}
