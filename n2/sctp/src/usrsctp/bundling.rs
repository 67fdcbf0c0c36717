//! Bundling (RFC 9260, 6.10): packets to one peer within one tick of the runtime are sent as one,
//! for example messages to many UEs of a gNB, or a SACK and the next message. A packet costs the
//! kernel several times what a message costs the library.
use std::net::IpAddr;

/// Largest bundle, bytes: the IPv6 minimum MTU less the IPv6 header and tunnel overhead (RFC 8200,
/// 5). Short bundles let the peer work while the next one is built.
const LARGEST: usize = 1232;
/// Common header of SCTP (RFC 9260, 3.1).
const HEADER: usize = 12;
/// Ports and verification tag: equal in packets that can be bundled.
const TAGGED: usize = 8;
/// Chunk types (RFC 9260, 3.2). The library puts control chunks before DATA, as RFC 9260 requires.
const DATA: u8 = 0;
const SACK: u8 = 3;

/// Source and destination address.
pub(super) type AddressPair = (IpAddr, IpAddr);

/// A packet that waits for the end of the tick.
#[derive(Default)]
pub(super) struct Bundle {
    packet: Vec<u8>,
    addresses: Option<AddressPair>,
    /// Whether a task [flushes](Bundle::flush) the bundle; without one, packets are sent at once.
    pub(super) has_flusher: bool,
}

impl Bundle {
    pub(super) fn is_empty(&self) -> bool {
        self.addresses.is_none()
    }

    /// Adds a packet. `send` gets the packets that are due now, in order.
    pub(super) fn add(
        &mut self,
        packet: &mut [u8],
        addresses: AddressPair,
        mut send: impl FnMut(&mut [u8], AddressPair),
    ) {
        let kind = packet.get(HEADER).copied();
        let fits = packet.len() <= LARGEST;
        if kind == Some(DATA)
            && self.addresses == Some(addresses)
            && self.packet.get(..TAGGED) == packet.get(..TAGGED)
        {
            let (length, chunks) = (self.packet.len(), packet.get(HEADER..).unwrap_or_default());
            if length + chunks.len() <= LARGEST && length.is_multiple_of(4) {
                self.packet.extend_from_slice(chunks);
                return;
            }
        }
        self.flush(&mut send);
        if !self.has_flusher || !fits || !matches!(kind, Some(DATA | SACK)) {
            return send(packet, addresses);
        }
        self.packet.extend_from_slice(packet);
        self.addresses = Some(addresses);
    }

    /// Sends the waiting packet.
    pub(super) fn flush(&mut self, mut send: impl FnMut(&mut [u8], AddressPair)) {
        if let Some(addresses) = self.addresses.take() {
            send(&mut self.packet, addresses);
            self.packet.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESSES: AddressPair = (
        IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)),
        IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2)),
    );

    fn packet(tag: u8, kind: u8, bytes: usize) -> Vec<u8> {
        let mut packet = vec![tag; TAGGED];
        packet.extend([0; HEADER - TAGGED]);
        packet.push(kind);
        packet.extend(vec![tag; bytes - 1]);
        packet
    }

    /// The packets that are sent at once, and the waiting one.
    fn bundled(packets: &[Vec<u8>]) -> (Vec<Vec<u8>>, Vec<u8>) {
        let mut bundle = Bundle { has_flusher: true, ..Bundle::default() };
        let mut sent = Vec::new();
        packets.iter().for_each(|packet| {
            bundle.add(&mut packet.clone(), ADDRESSES, |packet, _| sent.push(packet.to_vec()))
        });
        let mut waits = Vec::new();
        bundle.flush(|packet, _| waits = packet.to_vec());
        assert!(bundle.is_empty());
        (sent, waits)
    }

    #[test]
    fn messages_to_one_peer_are_bundled_after_a_sack() {
        let (sack, data) = (packet(1, SACK, 16), packet(1, DATA, 40));
        let all = [&sack[..], &data[HEADER..], &data[HEADER..]].concat();
        assert_eq!(bundled(&[sack.clone(), data.clone(), data.clone()]), (vec![], all));
        // A control chunk does not follow DATA.
        assert_eq!(bundled(&[data.clone(), sack.clone()]), (vec![data], sack));
    }

    #[test]
    fn packets_that_cannot_be_bundled_are_sent_in_order() {
        let (one, other, large) =
            (packet(1, DATA, 40), packet(2, DATA, 40), packet(1, DATA, LARGEST));
        assert_eq!(
            bundled(&[one.clone(), other.clone()]),
            (vec![one.clone()], other),
            "another peer's"
        );
        assert_eq!(
            bundled(&[one.clone(), large.clone()]),
            (vec![one.clone(), large], vec![]),
            "a large one"
        );
        let init = packet(1, 1, 20);
        assert_eq!(
            bundled(&[one.clone(), init.clone()]),
            (vec![one.clone(), init], vec![]),
            "of another kind"
        );
        let odd = packet(1, DATA, 41);
        assert_eq!(bundled(&[odd.clone(), one.clone()]), (vec![odd], one), "one without padding");
    }

    #[test]
    fn a_bundle_does_not_exceed_the_largest_size() {
        let (sent, waits) = bundled(&vec![packet(1, DATA, 400); 4]);
        assert_eq!(sent.iter().map(Vec::len).collect::<Vec<_>>(), [HEADER + 3 * 400]);
        assert_eq!(waits.len(), HEADER + 400);
    }

    #[test]
    fn packets_are_sent_at_once_without_a_flusher() {
        let mut sent = 0;
        let mut bundle = Bundle::default();
        bundle.add(&mut packet(1, DATA, 40), ADDRESSES, |_, _| sent += 1);
        assert!(bundle.is_empty() && sent == 1);
    }
}
