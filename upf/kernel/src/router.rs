//! Router Advertisements for IPv6 sessions (RFC 4861, 4.1 and 4.2; TS 23.501, 5.8.2.2.3).
use martlet_upf_rules::Flow;
use std::net::{IpAddr, Ipv6Addr};

const ICMPV6: u8 = 58;
const SOLICITATION: u8 = 133;
const ADVERTISEMENT: u8 = 134;
/// Ours, on the link to each UE.
const ROUTER: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
/// Router lifetime in seconds: three times the longest interval of advertisements that no UE has
/// solicited (TS 29.061; RFC 8319).
const LIFETIME: u16 = 64_800;
/// A packet of this size fits a link of 1500 bytes with its tunnel.
const MTU: u32 = 1400;

/// Whether a packet of a UE is a Router Solicitation: to a link-local or multicast address, with
/// the hop limit 255 of packets from the link.
pub fn is_solicitation(packet: &[u8], flow: &Flow) -> bool {
    let IpAddr::V6(to) = flow.destination else { return false };
    let here = to.is_multicast() || to.is_unicast_link_local();
    let icmp = flow.protocol == ICMPV6 && packet.get(6) == Some(&ICMPV6);
    here && icmp && packet.get(7) == Some(&255) && packet.get(40..42) == Some(&[SOLICITATION, 0])
}

/// Whether a packet to a UE is one of [`advertisement`]. Others, which are usage, have an address
/// of the UE as their destination.
pub fn is_advertisement(flow: &Flow) -> bool {
    let IpAddr::V6(to) = flow.destination else { return false };
    let here = to.is_multicast() || to.is_unicast_link_local();
    here && flow.source == IpAddr::V6(ROUTER) && flow.protocol == ICMPV6
}

/// A Router Advertisement with a 64-bit prefix, whose bits are the argument, after headroom.
pub fn advertisement(headroom: usize, to: IpAddr, prefix: u64) -> Vec<u8> {
    let to = match to {
        IpAddr::V6(to) if to.is_unicast_link_local() => to,
        _ => ALL_NODES,
    };
    let mut icmp = vec![ADVERTISEMENT, 0, 0, 0];
    // Hop limit; no addresses or other configuration by DHCP; lifetime; no reachable time or
    // retransmission timer.
    icmp.extend([64, 0]);
    icmp.extend(LIFETIME.to_be_bytes());
    icmp.extend([0; 8]);
    // Prefix: 64 bits, for autonomous configuration, not on the link; valid and preferred for ever.
    icmp.extend([3, 4, 64, 0x40]);
    icmp.extend([0xff; 8]);
    icmp.extend([0; 4]);
    icmp.extend(prefix.to_be_bytes());
    icmp.extend([0; 8]);
    icmp.extend([5, 1, 0, 0]);
    icmp.extend(MTU.to_be_bytes());
    let sum = checksum(ROUTER, to, &icmp);
    icmp[2..4].copy_from_slice(&sum.to_be_bytes());
    let mut packet = vec![0; headroom];
    packet.extend([0x60, 0, 0, 0]);
    packet.extend((icmp.len() as u16).to_be_bytes());
    packet.extend([ICMPV6, 255]);
    packet.extend(ROUTER.octets());
    packet.extend(to.octets());
    packet.extend(icmp);
    packet
}

/// The checksum of an ICMPv6 message with its pseudo-header (RFC 8200, 8.1).
fn checksum(from: Ipv6Addr, to: Ipv6Addr, message: &[u8]) -> u16 {
    let length = (message.len() as u32).to_be_bytes();
    martlet_upf_datapath::checksum::internet(
        &[&from.octets()[..], &to.octets(), &length, &[0, 0, 0, ICMPV6], message].concat(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_advertisement_is_whole_and_its_checksum_right() {
        let ue: Ipv6Addr = "fe80::2a".parse().unwrap();
        let packet = advertisement(4, ue.into(), 0xfd45_0000_0000_0007).split_off(4);
        let flow = Flow::of(&packet).unwrap();
        assert_eq!((flow.destination, flow.length), (IpAddr::V6(ue), packet.len()));
        assert_eq!(
            checksum(ROUTER, ue, &packet[40..]),
            0,
            "the sum over a message with its checksum is nothing"
        );
        assert_eq!(&packet[40 + 16 + 16..40 + 16 + 24], 0xfd45_0000_0000_0007u64.to_be_bytes());
        // A UE without an address solicits from the unspecified address; the response goes to all
        // nodes.
        let packet = advertisement(0, Ipv6Addr::UNSPECIFIED.into(), 1);
        let flow = Flow::of(&packet).unwrap();
        assert_eq!(flow.destination, IpAddr::V6(ALL_NODES));
        assert!(!is_solicitation(&packet, &flow) && is_advertisement(&flow));
        let of_ue = "fd45:0:0:7::2a".parse().unwrap();
        assert!(!is_advertisement(&Flow { destination: of_ue, ..flow }));
    }
}
