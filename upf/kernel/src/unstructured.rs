//! Unstructured sessions on N6: UDP over IPv6 carries the UE's data between an address that stands
//! for the session and a server of the data network (TS 23.501, 5.6.10.3; TS 29.561, 7.2).
use super::egress::Egress;
use super::entry::State;
use super::forwarder::Forwarder;
use super::frame::Frame;
use martlet_upf_datapath::checksum;
use martlet_upf_datapath::counters::DropReason;
use martlet_upf_rules::{Direction, Flow};
use std::net::SocketAddrV6;

const HEADERS: usize = 48;
const UDP: u8 = 17;

/// Removes the headers of a packet from the session's server; `None` for another packet.
pub(super) fn open(state: &State, frame: &mut Frame<'_>) -> Option<Flow> {
    let server = state.server()?;
    let header = frame.packet().first_chunk::<HEADERS>()?;
    let source = <[u8; 16]>::try_from(header.get(8..24)?).ok()?;
    let (from, to) = (
        u16::from_be_bytes([header[40], header[41]]),
        u16::from_be_bytes([header[42], header[43]]),
    );
    let length = usize::from(u16::from_be_bytes([header[44], header[45]]));
    let meant = header[0] >> 4 == 6 && header[6] == UDP && source == server.ip().octets();
    if !meant
        || (from, to) != (server.port(), server.port())
        || length < 8
        || 40 + length > frame.packet().len()
    {
        return None;
    }
    frame.trim(40 + length);
    frame.skip(HEADERS);
    state.flow(frame.packet(), Direction::Downlink)
}

/// A UDP datagram over IPv6.
fn datagram(from: SocketAddrV6, to: SocketAddrV6, payload: &[u8]) -> Option<Vec<u8>> {
    let length = u16::try_from(8 + payload.len()).ok()?.to_be_bytes();
    let mut udp =
        [&from.port().to_be_bytes()[..], &to.port().to_be_bytes(), &length, &[0, 0], payload]
            .concat();
    let addresses = [from.ip().octets(), to.ip().octets()].concat();
    let pseudo = [&addresses[..], &[0, 0], &length, &[0, 0, 0, UDP], &udp].concat();
    let sum = match checksum::internet(&pseudo) {
        0 => 0xffff,
        sum => sum,
    };
    udp[6..8].copy_from_slice(&sum.to_be_bytes());
    Some([&[0x60, 0, 0, 0, length[0], length[1], UDP, 64][..], &addresses, &udp].concat())
}

impl<O: Egress> Forwarder<O> {
    /// Sends bytes of a UE to its server.
    pub(super) fn datagram(&self, from: SocketAddrV6, to: SocketAddrV6, payload: &[u8]) {
        let sent = datagram(from, to, payload)
            .is_some_and(|packet| self.egress.to_network(&packet, 0).is_ok());
        if !sent {
            self.counters.lost_packets.add(1);
            self.counters.dropped(DropReason::N6);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_covers_addresses_and_payload() {
        let from: SocketAddrV6 = "[fd45:0:0:3::1]:4000".parse().unwrap();
        let packet = datagram(from, "[fd99::1]:4000".parse().unwrap(), b"abc").unwrap();
        assert_eq!((packet.len(), packet[4..8].to_vec()), (51, vec![0, 11, 17, 64]));
        let pseudo = [&packet[8..40], &[0, 0, 0, 11, 0, 0, 0, 17], &packet[40..]].concat();
        assert_eq!(checksum::internet(&pseudo), 0);
    }
}
