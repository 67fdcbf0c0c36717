//! The header fields of IP packets that rules match.
use super::EthernetHeader;
use super::ethernet::{ETHERTYPE_IPV4, ETHERTYPE_IPV6};
use std::net::{IpAddr, Ipv4Addr};

/// The header fields of a packet that rules match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Protocol; with IPv6 that after the extension headers that are passed over.
    pub protocol: u8,
    /// Source and destination port of TCP, UDP and SCTP; a fragment other than the first has none.
    pub ports: Option<(u16, u16)>,
    /// Type of service, or traffic class.
    pub traffic_class: u8,
    /// Security parameter index of ESP and AH.
    pub security_parameter_index: Option<u32>,
    /// IPv6 flow label.
    pub flow_label: Option<u32>,
    /// The frame in which the packet is, in an Ethernet session.
    pub ethernet: Option<EthernetHeader>,
    /// Length from the IP header, which may be less than received.
    pub length: usize,
    /// The part of a datagram that this packet is.
    pub fragment: Option<Fragment>,
}

/// A fragment of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragment {
    /// Identification of the datagram.
    pub id: u32,
    /// The first one, which has the ports.
    pub first: bool,
}

const TCP: u8 = 6;
const UDP: u8 = 17;
const SCTP: u8 = 132;
const ESP: u8 = 50;
const AH: u8 = 51;
/// Limit of IPv6 extension headers, so that a packet cannot keep the datapath busy.
const MAX_EXTENSIONS: usize = 8;

impl Flow {
    /// Parses a packet; `None` if it is not a complete IPv4 or IPv6 packet.
    pub fn of(packet: &[u8]) -> Option<Flow> {
        match packet.first()? >> 4 {
            4 => Self::of_ipv4(packet),
            6 => Self::of_ipv6(packet),
            _ => None,
        }
    }

    fn of_ipv4(packet: &[u8]) -> Option<Flow> {
        let header = packet.first_chunk::<20>()?;
        let header_length = usize::from(header[0] & 0x0f) * 4;
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        if header_length < 20 || length < header_length || length > packet.len() {
            return None;
        }
        let source = <[u8; 4]>::try_from(header.get(12..16)?).ok()?;
        let destination = <[u8; 4]>::try_from(header.get(16..20)?).ok()?;
        let part = u16::from_be_bytes([header[6], header[7]]);
        let first_fragment = part & 0x1fff == 0;
        let fragment = (part & 0x3fff != 0).then(|| Fragment {
            id: u16::from_be_bytes([header[4], header[5]]).into(),
            first: first_fragment,
        });
        let payload = packet.get(header_length..length).filter(|_| first_fragment);
        let (ports, security_parameter_index) = transport(header[9], payload);
        Some(Flow {
            source: source.into(),
            destination: destination.into(),
            protocol: header[9],
            ports,
            traffic_class: header[1],
            security_parameter_index,
            flow_label: None,
            ethernet: None,
            length,
            fragment,
        })
    }

    fn of_ipv6(packet: &[u8]) -> Option<Flow> {
        let header = packet.first_chunk::<40>()?;
        let length = 40 + usize::from(u16::from_be_bytes([header[4], header[5]]));
        let mut payload = Some(packet.get(40..length)?);
        let source = <[u8; 16]>::try_from(header.get(8..24)?).ok()?;
        let destination = <[u8; 16]>::try_from(header.get(24..40)?).ok()?;
        let mut protocol = header[6];
        let mut fragment = None;
        for _ in 0..MAX_EXTENSIONS {
            let Some(bytes) = payload else { break };
            // Hop-by-hop options, routing, destination options; a fragment header is of fixed
            // length.
            let skip = match protocol {
                0 | 43 | 60 => (usize::from(*bytes.get(1)?) + 1) * 8,
                44 => 8,
                _ => break,
            };
            let later_fragment = protocol == 44
                && u16::from_be_bytes([*bytes.get(2)?, *bytes.get(3)?]) & 0xfff8 != 0;
            if protocol == 44 {
                let id = <[u8; 4]>::try_from(bytes.get(4..8)?).ok()?;
                fragment = Some(Fragment { id: u32::from_be_bytes(id), first: !later_fragment });
            }
            protocol = *bytes.first()?;
            payload = bytes.get(skip..).filter(|_| !later_fragment);
        }
        let (ports, security_parameter_index) = transport(protocol, payload);
        Some(Flow {
            source: source.into(),
            destination: destination.into(),
            protocol,
            ports,
            traffic_class: header[0] << 4 | header[1] >> 4,
            security_parameter_index,
            flow_label: Some(u32::from_be_bytes([0, header[1] & 0x0f, header[2], header[3]])),
            ethernet: None,
            length,
            fragment,
        })
    }

    /// Reads a frame without its check sequence; `None` if its header is incomplete.
    pub fn of_frame(frame: &[u8]) -> Option<Flow> {
        let (header, at) = EthernetHeader::of(frame)?;
        let inner = frame
            .get(at..)
            .filter(|_| matches!(header.ethertype, ETHERTYPE_IPV4 | ETHERTYPE_IPV6))
            .and_then(Flow::of);
        let unspecified = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let other = Flow::between(unspecified, unspecified, frame.len());
        Some(Flow { ethernet: Some(header), length: frame.len(), ..inner.unwrap_or(other) })
    }

    /// The flow of unstructured data (TS 23.501, 5.6.10.3), of which only the addresses are known.
    pub fn between(source: IpAddr, destination: IpAddr, length: usize) -> Flow {
        Flow {
            source,
            destination,
            protocol: 255,
            ports: None,
            traffic_class: 0,
            security_parameter_index: None,
            flow_label: None,
            ethernet: None,
            length,
            fragment: None,
        }
    }

    /// The differentiated services code point, 6 bits.
    pub fn dscp(&self) -> u8 {
        self.traffic_class >> 2
    }
}

/// Ports and security parameter index, where the protocol has them.
fn transport(protocol: u8, payload: Option<&[u8]>) -> (Option<(u16, u16)>, Option<u32>) {
    let Some(payload) = payload else { return (None, None) };
    let word =
        |at: usize| payload.get(at..at + 4).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok());
    match protocol {
        TCP | UDP | SCTP => {
            let ports =
                |[a, b, c, d]: [u8; 4]| (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
            (word(0).map(ports), None)
        }
        ESP => (None, word(0).map(u32::from_be_bytes)),
        AH => (None, word(4).map(u32::from_be_bytes)),
        _ => (None, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_a_udp_packet() {
        let packet = [
            0x45, 0xb8, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 45, 0, 2, 0x1f, 0x90, 0,
            53, 0, 8, 0, 0,
        ];
        let flow = Flow::of(&packet).unwrap();
        assert_eq!(flow.source, IpAddr::from([10, 0, 0, 1]));
        assert_eq!(flow.destination, IpAddr::from([10, 45, 0, 2]));
        assert_eq!(
            (flow.protocol, flow.ports, flow.dscp(), flow.length),
            (17, Some((8080, 53)), 46, 28)
        );
        let mut fragment = packet;
        fragment[7] = 1;
        assert_eq!(Flow::of(&fragment).unwrap().ports, None);
        assert_eq!(Flow::of(&packet[..27]), None);
        assert_eq!(Flow::of(&[]), None);
    }

    #[test]
    fn ports_behind_ipv6_extension_headers() {
        let mut packet = vec![0x60, 0, 0x12, 0x34, 0, 16, 60, 64];
        packet.extend([0x20; 16]);
        packet.extend([0x30; 16]);
        packet.extend([6, 0, 0, 0, 0, 0, 0, 0, 0, 80, 0x1f, 0x90, 0, 0, 0, 0]);
        let flow = Flow::of(&packet).unwrap();
        assert_eq!(
            (flow.protocol, flow.ports, flow.flow_label),
            (6, Some((80, 8080)), Some(0x1234))
        );
    }
}
