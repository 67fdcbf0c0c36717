//! Packets for checks.
use martlet_gtpu::{PduSessionContainer, g_pdu_header};
use std::net::Ipv4Addr;

/// A UDP packet over IPv4. Its UDP checksum is left out, as RFC 768 allows.
pub fn udp_packet(from: (Ipv4Addr, u16), to: (Ipv4Addr, u16), payload: &[u8]) -> Vec<u8> {
    let udp_length = 8 + payload.len();
    let mut packet = vec![0x45, 0];
    packet.extend(((20 + udp_length) as u16).to_be_bytes());
    packet.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
    packet.extend(from.0.octets());
    packet.extend(to.0.octets());
    let words =
        packet.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = !((folded & 0xffff) + (folded >> 16)) as u16;
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    packet.extend(from.1.to_be_bytes());
    packet.extend(to.1.to_be_bytes());
    packet.extend((udp_length as u16).to_be_bytes());
    packet.extend([0, 0]);
    packet.extend(payload);
    packet
}

/// The payload of a UDP packet over IPv4 without options.
pub fn payload_of(packet: &[u8]) -> Option<&[u8]> {
    packet.get(28..).filter(|_| packet[0] == 0x45 && packet[9] == 17)
}

/// An uplink G-PDU.
pub fn g_pdu(teid: u32, qfi: Option<u8>, packet: &[u8]) -> Vec<u8> {
    let header = g_pdu_header(teid, qfi.map(PduSessionContainer::uplink), packet.len());
    [header.expect("a valid packet").as_slice(), packet].concat()
}
