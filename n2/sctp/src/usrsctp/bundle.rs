//! Packets that the library makes within one turn of the runtime leave as one (RFC 9260, 6.10):
//! messages to many UEs of a gNB, and a SACK with what is said next. Each packet costs the kernel
//! several times what a message costs the library.
use std::net::IpAddr;

/// Of a packet with more than one message: what every path carries in one piece (RFC 8200, 5, less
/// the headers of IPv6), and little enough that a peer has something to do while the next is made.
const LARGEST: usize = 1232;
/// Common header of SCTP (RFC 9260, 3.1). Its first half, ports and verification tag, is equal in
/// what goes together.
const HEADER: usize = 12;
const TAGGED: usize = 8;
/// Types of chunks (RFC 9260, 3.2). The library puts control chunks before DATA, as RFC 9260 wants
/// them.
const DATA: u8 = 0;
const SACK: u8 = 3;

/// From which address to which.
pub(super) type Way = (IpAddr, IpAddr);

/// A packet that waits for the end of the turn.
#[derive(Default)]
pub(super) struct Bundle {
    packet: Vec<u8>,
    way: Option<Way>,
    /// Whether somebody [releases](Bundle::release) what waits.
    pub(super) holds: bool,
}

impl Bundle {
    pub(super) fn is_empty(&self) -> bool {
        self.way.is_none()
    }

    /// Takes a packet. `send` gets what has to leave now, in order.
    pub(super) fn take(
        &mut self,
        packet: &mut [u8],
        way: Way,
        mut send: impl FnMut(&mut [u8], Way),
    ) {
        let kind = packet.get(HEADER).copied();
        let fits = packet.len() <= LARGEST;
        if kind == Some(DATA)
            && self.way == Some(way)
            && self.packet.get(..TAGGED) == packet.get(..TAGGED)
        {
            let (length, chunks) = (self.packet.len(), packet.get(HEADER..).unwrap_or_default());
            if length + chunks.len() <= LARGEST && length.is_multiple_of(4) {
                self.packet.extend_from_slice(chunks);
                return;
            }
        }
        self.release(&mut send);
        if !self.holds || !fits || !matches!(kind, Some(DATA | SACK)) {
            return send(packet, way);
        }
        self.packet.extend_from_slice(packet);
        self.way = Some(way);
    }

    /// Hands over what waits.
    pub(super) fn release(&mut self, mut send: impl FnMut(&mut [u8], Way)) {
        if let Some(way) = self.way.take() {
            send(&mut self.packet, way);
            self.packet.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAY: Way = (
        IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)),
        IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2)),
    );

    fn packet(tag: u8, kind: u8, octets: usize) -> Vec<u8> {
        let mut packet = vec![tag; TAGGED];
        packet.extend([0; HEADER - TAGGED]);
        packet.push(kind);
        packet.extend(vec![tag; octets - 1]);
        packet
    }

    /// What leaves, and what waits after it.
    fn given(packets: &[Vec<u8>]) -> (Vec<Vec<u8>>, Vec<u8>) {
        let mut bundle = Bundle { holds: true, ..Bundle::default() };
        let mut sent = Vec::new();
        packets.iter().for_each(|packet| {
            bundle.take(&mut packet.clone(), WAY, |packet, _| sent.push(packet.to_vec()))
        });
        let mut waits = Vec::new();
        bundle.release(|packet, _| waits = packet.to_vec());
        assert!(bundle.is_empty());
        (sent, waits)
    }

    #[test]
    fn messages_to_one_peer_go_together_behind_a_sack() {
        let (sack, data) = (packet(1, SACK, 16), packet(1, DATA, 40));
        let all = [&sack[..], &data[HEADER..], &data[HEADER..]].concat();
        assert_eq!(given(&[sack.clone(), data.clone(), data.clone()]), (vec![], all));
        // A control chunk does not stand behind DATA.
        assert_eq!(given(&[data.clone(), sack.clone()]), (vec![data], sack));
    }

    #[test]
    fn what_does_not_go_together_leaves_in_order() {
        let (one, other, large) =
            (packet(1, DATA, 40), packet(2, DATA, 40), packet(1, DATA, LARGEST));
        assert_eq!(
            given(&[one.clone(), other.clone()]),
            (vec![one.clone()], other),
            "another peer's"
        );
        assert_eq!(
            given(&[one.clone(), large.clone()]),
            (vec![one.clone(), large], vec![]),
            "a large one"
        );
        let init = packet(1, 1, 20);
        assert_eq!(
            given(&[one.clone(), init.clone()]),
            (vec![one.clone(), init], vec![]),
            "of another kind"
        );
        let odd = packet(1, DATA, 41);
        assert_eq!(given(&[odd.clone(), one.clone()]), (vec![odd], one), "one without padding");
    }

    #[test]
    fn a_packet_does_not_grow_beyond_what_every_path_carries() {
        let (sent, waits) = given(&vec![packet(1, DATA, 400); 4]);
        assert_eq!(sent.iter().map(Vec::len).collect::<Vec<_>>(), [HEADER + 3 * 400]);
        assert_eq!(waits.len(), HEADER + 400);
    }

    #[test]
    fn nothing_waits_where_nobody_releases_it() {
        let mut sent = 0;
        let mut bundle = Bundle::default();
        bundle.take(&mut packet(1, DATA, 40), WAY, |_, _| sent += 1);
        assert!(bundle.is_empty() && sent == 1);
    }
}
