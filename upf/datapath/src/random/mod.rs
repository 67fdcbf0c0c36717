//! Random rules and packets to compare datapaths with.
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

mod draw;

pub use draw::Draw;

/// N3 address of the UPF.
pub const N3: Ipv4Addr = Ipv4Addr::new(192, 168, 70, 1);
/// Address of the gNB.
pub const GNB: Ipv4Addr = Ipv4Addr::new(192, 168, 70, 2);
/// A host of the data network.
pub const HOST: Ipv4Addr = Ipv4Addr::new(10, 98, 0, 2);
/// Another one, to which traffic is redirected.
pub const SERVER: Ipv4Addr = Ipv4Addr::new(10, 98, 0, 7);
/// Sessions of one set of rules.
pub const SESSIONS: u32 = 3;
/// The network instance of a packet of which it is not known.
pub const ANY_INSTANCE: usize = usize::MAX;
/// A network instance beside the default one.
pub const BOARD: &str = "board";
/// Packets of one set of rules.
pub const PACKETS: usize = 60;

/// N3 IPv6 address of the UPF.
pub fn n3_ip6() -> Ipv6Addr {
    Ipv6Addr::from_bits(0xfd70 << 112 | 1)
}

/// IPv6 address of the gNB.
pub fn gnb6() -> Ipv6Addr {
    Ipv6Addr::from_bits(0xfd70 << 112 | 2)
}

/// An IPv6 host of the data network.
pub fn host6() -> Ipv6Addr {
    Ipv6Addr::from_bits(0x2001_0db8_0098_0000 << 64 | 2)
}

/// The outcome of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Out {
    /// Dropped or buffered.
    Nothing,
    /// To the data network by a network instance, without header checksum and TTL, which differ
    /// between datapaths. [`ANY_INSTANCE`]: it is not known by which.
    Network(usize, Vec<u8>),
    /// In a tunnel: the destination, the type of service outside, and the GTP-U message.
    Tunnel(IpAddr, u8, Vec<u8>),
}

/// Clears the TTL and the header checksum, which differ between datapaths.
pub fn without_ttl(mut packet: Vec<u8>) -> Vec<u8> {
    match packet.first().map(|first| first >> 4) {
        Some(4) if packet.len() >= 20 => {
            packet[8] = 0;
            packet[10..12].fill(0);
        }
        Some(6) if packet.len() >= 40 => packet[7] = 0,
        _ => {}
    }
    packet
}

/// Computes the IPv4 header checksum.
pub fn checksum(packet: &mut [u8]) {
    packet[10..12].fill(0);
    let header = usize::from(packet[0] & 15) * 4;
    let sum = crate::checksum::internet(&packet[..header.min(packet.len())]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// The frame of a datagram from the gNB to our GTP-U port.
pub fn outer(datagram: &[u8]) -> Vec<u8> {
    let mut outer = vec![0x45, 0];
    outer.extend((28 + datagram.len() as u16).to_be_bytes());
    outer.extend([0, 0, 0, 0, 64, 17, 0, 0]);
    outer.extend(GNB.octets());
    outer.extend(N3.octets());
    outer.extend([0x08, 0x68, 0x08, 0x68]);
    outer.extend((8 + datagram.len() as u16).to_be_bytes());
    outer.extend([0, 0]);
    outer.extend(datagram);
    checksum(&mut outer[..20]);
    [&[2; 12][..], &[8, 0], &outer].concat()
}

/// The same over IPv6.
pub fn outer6(datagram: &[u8]) -> Vec<u8> {
    let length = (8 + datagram.len() as u16).to_be_bytes();
    let ip =
        [&[0x60, 0, 0, 0, length[0], length[1], 17, 64][..], &gnb6().octets(), &n3_ip6().octets()]
            .concat();
    let udp = [0x08, 0x68, 0x08, 0x68, length[0], length[1], 0, 0];
    [&[2; 12][..], &[0x86, 0xdd], &ip, &udp, datagram].concat()
}

/// A packet from the data network: forwarded by a machine, and in its original frame.
pub fn from_network(packet: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let mut aged = packet.to_vec();
    let protocol = if packet[0] >> 4 == 4 {
        aged[8] -= 1;
        checksum(&mut aged);
        [8, 0]
    } else {
        aged[7] -= 1;
        [0x86, 0xdd]
    };
    (aged, [&[2; 12][..], &protocol, packet].concat())
}

/// How many sets of rules, and the first seed.
pub fn set_up() -> (u64, u64) {
    let number = |name: &str, default: u64| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    (number("MARTLET_DIFFERENTIAL", 60), number("MARTLET_SEED", 1))
}
