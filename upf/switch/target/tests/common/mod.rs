//! Test frames, built and parsed independently of the switch.
#![allow(dead_code)] // each test program uses a part
use std::net::Ipv6Addr;

pub const UE: [u8; 4] = [10, 60, 0, 1];
pub const REMOTE: [u8; 4] = [8, 8, 8, 8];
pub const GNB: [u8; 4] = [192, 168, 70, 2];
pub const N3: [u8; 4] = [192, 168, 70, 1];
pub const GNB6: Ipv6Addr = Ipv6Addr::new(0xfd70, 0, 0, 0, 0, 0, 0, 2);
pub const N36: Ipv6Addr = Ipv6Addr::new(0xfd70, 0, 0, 0, 0, 0, 0, 1);

pub fn checksum(header: &[u8]) -> u16 {
    let sum: u32 =
        header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    !((sum & 0xffff) + (sum >> 16)) as u16
}

pub fn ipv4(
    protocol: u8,
    ttl: u8,
    source: [u8; 4],
    destination: [u8; 4],
    payload: &[u8],
) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, ttl, protocol, 0, 0];
    packet[2..4].copy_from_slice(&((20 + payload.len()) as u16).to_be_bytes());
    packet.extend(source);
    packet.extend(destination);
    let sum = checksum(&packet);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet.extend(payload);
    packet
}

pub fn udp(source: u16, destination: u16, payload: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    for word in [source, destination, (8 + payload.len()) as u16, 0] {
        packet.extend(word.to_be_bytes());
    }
    packet.extend(payload);
    packet
}

pub fn tcp(source: u16, destination: u16) -> Vec<u8> {
    let mut packet = vec![0; 20];
    packet[..2].copy_from_slice(&source.to_be_bytes());
    packet[2..4].copy_from_slice(&destination.to_be_bytes());
    packet[12] = 0x50;
    packet
}

/// A G-PDU with a PDU session container (TS 29.281, TS 38.415).
pub fn gtp(teid: u32, pdu_type: u8, qfi: u8, packet: &[u8]) -> Vec<u8> {
    let mut gtp = vec![0x34, 255];
    gtp.extend(((packet.len() + 8) as u16).to_be_bytes());
    gtp.extend(teid.to_be_bytes());
    gtp.extend([0, 0, 0, 0x85, 1, pdu_type << 4, qfi, 0]);
    gtp.extend(packet);
    gtp
}

pub fn ethernet(packet: &[u8]) -> Vec<u8> {
    [&[2, 0, 0, 0, 0, 0xa, 2, 0, 0, 0, 0, 0xb, 8, 0][..], packet].concat()
}

/// From the gNB, in tunnel 0x1000.
pub fn uplink(inner: &[u8]) -> Vec<u8> {
    ethernet(&ipv4(17, 64, GNB, N3, &udp(2152, 2152, &gtp(0x1000, 1, 9, inner))))
}

/// A UDP datagram over IPv6 without a checksum, as tunnels may have (RFC 6935).
pub fn ipv6(hop_limit: u8, source: Ipv6Addr, destination: Ipv6Addr, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend((payload.len() as u16).to_be_bytes());
    packet.extend([17, hop_limit]);
    packet.extend(source.octets());
    packet.extend(destination.octets());
    packet.extend(payload);
    packet
}

pub fn ethernet6(packet: &[u8]) -> Vec<u8> {
    [&[2, 0, 0, 0, 0, 0xa, 2, 0, 0, 0, 0, 0xb, 0x86, 0xdd][..], packet].concat()
}

/// From the gNB over IPv6.
pub fn in_tunnel6(teid: u32, inner: &[u8]) -> Vec<u8> {
    ethernet6(&ipv6(64, GNB6, N36, &udp(2152, 2152, &gtp(teid, 1, 9, inner))))
}
