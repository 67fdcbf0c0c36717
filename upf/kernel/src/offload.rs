//! Superframes of the TUN device: several packets of one flow behind one virtio-net header.
//!
//! The kernel passes TCP and UDP packets of a flow as one superframe, which [`segments`] splits. It
//! accepts packets of a flow as one superframe, which [`Merger`] joins. Rules, counts and limits
//! apply to the packets in between, never to superframes.
use martlet_upf_datapath::checksum::sum;
use std::ops::Range;

/// Length of the header before each packet of a device with offload.
pub(super) const HEADER: usize = 10;
/// Maximum number of packets of a superframe.
const MAX_SEGMENTS: usize = 64;
/// Longest superframe: an IP packet.
const MAX_LENGTH: usize = 65_535;

const NEEDS_CHECKSUM: u8 = 1;
const GSO_TCP4: u8 = 1;
const GSO_TCP6: u8 = 4;
const GSO_UDP: u8 = 5;
const GSO_ECN: u8 = 0x80;

const TCP: u8 = 6;
const UDP: u8 = 17;
const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;
const CWR: u8 = 0x80;

/// The virtio-net header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Header {
    flags: u8,
    kind: u8,
    header_length: u16,
    /// Payload of each packet.
    size: u16,
    checksum_start: u16,
    checksum_offset: u16,
}

impl Header {
    /// The header at the start of what was read from the device.
    pub fn parse(bytes: &[u8]) -> Option<Header> {
        let bytes: [u8; HEADER] = bytes.get(..HEADER)?.try_into().ok()?;
        let [flags, kind, a, b, c, d, e, f, g, h] = bytes;
        Some(Header {
            flags,
            kind,
            header_length: u16::from_ne_bytes([a, b]),
            size: u16::from_ne_bytes([c, d]),
            checksum_start: u16::from_ne_bytes([e, f]),
            checksum_offset: u16::from_ne_bytes([g, h]),
        })
    }

    /// Its bytes.
    pub fn bytes(self) -> [u8; HEADER] {
        let [a, b] = self.header_length.to_ne_bytes();
        let [c, d] = self.size.to_ne_bytes();
        let [e, f] = self.checksum_start.to_ne_bytes();
        let [g, h] = self.checksum_offset.to_ne_bytes();
        [self.flags, self.kind, a, b, c, d, e, f, g, h]
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) -> Option<()> {
    bytes.get_mut(at..at + value.len())?.copy_from_slice(value);
    Some(())
}

/// The offsets of the parts of a TCP or UDP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    is_v4: bool,
    protocol: u8,
    /// Start of the TCP or UDP header.
    transport: usize,
    /// Start of its payload.
    payload: usize,
    /// Length of the IP packet.
    end: usize,
}

impl Layout {
    /// `None` for fragments, other protocols, and IPv6 with extension headers. The length is that
    /// of the bytes, since the length field of a superframe may be 0.
    fn of(packet: &[u8]) -> Option<Layout> {
        let first = *packet.first()?;
        let (is_v4, protocol, transport) = match first >> 4 {
            4 => {
                let is_fragment = u16_at(packet, 6)? & 0x3fff != 0;
                let protocol = *packet.get(9)?;
                (true, protocol, Some(usize::from(first & 15) * 4).filter(|_| !is_fragment)?)
            }
            6 => (false, *packet.get(6)?, 40),
            _ => return None,
        };
        let header = match protocol {
            TCP => usize::from(*packet.get(transport + 12)? >> 4) * 4,
            UDP => 8,
            _ => return None,
        };
        let shortest = if protocol == TCP { 20 } else { 8 };
        let payload = transport + header;
        let is_whole = header >= shortest && (!is_v4 || transport >= 20) && payload <= packet.len();
        let layout = Layout { is_v4, protocol, transport, payload, end: packet.len() };
        is_whole.then_some(layout)
    }

    fn checksum_at(&self) -> usize {
        self.transport + if self.protocol == TCP { 16 } else { 6 }
    }

    /// The sum of the pseudo header.
    fn pseudo(&self, packet: &[u8], length: usize) -> u16 {
        let addresses = if self.is_v4 { 12..20 } else { 8..40 };
        let start = u64::from(self.protocol) + length as u64;
        sum(packet.get(addresses).unwrap_or_default(), start)
    }

    /// Whether the packet's checksum is right. A UDP packet without one has no right one.
    fn is_intact(&self, packet: &[u8]) -> bool {
        let segment = packet.get(self.transport..).unwrap_or_default();
        let has_one = self.protocol == TCP || u16_at(packet, self.checksum_at()) != Some(0);
        has_one && sum(segment, u64::from(self.pseudo(packet, segment.len()))) == 0xffff
    }

    /// Sets the IP length, and the checksum of an IPv4 header.
    fn set_length(&self, packet: &mut [u8], length: usize) -> Option<()> {
        if !self.is_v4 {
            return put(packet, 4, &u16::try_from(length.checked_sub(40)?).ok()?.to_be_bytes());
        }
        put(packet, 2, &u16::try_from(length).ok()?.to_be_bytes())?;
        put(packet, 10, &[0, 0])?;
        let checksum = !sum(packet.get(..self.transport)?, 0);
        put(packet, 10, &checksum.to_be_bytes())
    }
}

/// Splits what was read from the device after its header into packets, each with a valid checksum,
/// after `headroom` bytes of `buffer`. `None` if it is malformed; earlier packets have been passed
/// on.
pub(super) fn segments(
    header: Header,
    packet: &mut [u8],
    headroom: usize,
    buffer: &mut Vec<u8>,
    mut give: impl FnMut(&mut [u8]),
) -> Option<()> {
    let mut one = |parts: [&[u8]; 2], change: &dyn Fn(&mut [u8]) -> Option<()>| {
        buffer.resize(headroom, 0);
        parts.iter().for_each(|part| buffer.extend_from_slice(part));
        change(buffer.get_mut(headroom..)?)?;
        give(buffer);
        Some(())
    };
    if header.kind == 0 {
        let complete = |packet: &mut [u8]| {
            if header.flags & NEEDS_CHECKSUM == 0 {
                return Some(());
            }
            let start = usize::from(header.checksum_start);
            let checksum = !sum(packet.get(start..)?, 0);
            let checksum = if checksum == 0 { 0xffff } else { checksum };
            put(packet, start + usize::from(header.checksum_offset), &checksum.to_be_bytes())
        };
        return one([packet, &[]], &complete);
    }
    let layout = Layout::of(packet)?;
    let fits = match header.kind & !GSO_ECN {
        GSO_TCP4 | GSO_TCP6 => layout.protocol == TCP,
        GSO_UDP => layout.protocol == UDP,
        _ => false,
    };
    let size = Some(usize::from(header.size)).filter(|size| fits && *size > 0)?;
    let (head, payload) = packet.split_at_checked(layout.payload)?;
    let count = payload.len().div_ceil(size).max(1);
    let id = if layout.is_v4 { u16_at(head, 4)? } else { 0 };
    let sequence = if layout.protocol == TCP { u32_at(head, layout.transport + 4)? } else { 0 };
    for n in 0..count {
        let part = payload.get(n * size..((n + 1) * size).min(payload.len()))?;
        one([head, part], &|packet| {
            let length = packet.len();
            if layout.is_v4 {
                put(packet, 4, &id.wrapping_add(n as u16).to_be_bytes())?;
            }
            layout.set_length(packet, length)?;
            if layout.protocol == TCP {
                let sequence = sequence.wrapping_add((n * size) as u32);
                put(packet, layout.transport + 4, &sequence.to_be_bytes())?;
                let flags = packet.get_mut(layout.transport + 13)?;
                if n > 0 {
                    *flags &= !CWR;
                }
                if n + 1 < count {
                    *flags &= !(FIN | PSH);
                }
            } else {
                let length = u16::try_from(length - layout.transport).ok()?;
                put(packet, layout.transport + 4, &length.to_be_bytes())?;
            }
            put(packet, layout.checksum_at(), &[0, 0])?;
            let pseudo = layout.pseudo(packet, length - layout.transport);
            let checksum = !sum(packet.get(layout.transport..)?, u64::from(pseudo));
            let is_zero = layout.protocol == UDP && checksum == 0;
            let checksum = if is_zero { 0xffff } else { checksum };
            put(packet, layout.checksum_at(), &checksum.to_be_bytes())
        })?;
    }
    Some(())
}

/// A packet, or several that leave as a superframe.
#[derive(Debug)]
pub(super) struct Merged {
    /// The first packet, then payloads of those that follow.
    pub parts: Vec<Range<usize>>,
    /// What packets need to be joined; `None` if nothing can follow.
    next: Option<Following>,
    length: usize,
}

#[derive(Debug, Clone, Copy)]
struct Following {
    layout: Layout,
    size: usize,
    sequence: u32,
    id: u16,
}

enum Outcome {
    Joined,
    First(Merged),
}

impl Merged {
    /// Number of packets.
    pub fn count(&self) -> usize {
        self.parts.len()
    }
}

/// Packets to the data network, of which those of a flow are joined.
#[derive(Debug, Default)]
pub(super) struct Merger {
    bytes: Vec<u8>,
    pub packets: Vec<Merged>,
}

/// Number of latest packets among which the flow of a packet is searched.
const MAX_SEARCHED: usize = 16;

impl Merger {
    /// Adds a packet. `udp`: whether the kernel takes superframes of UDP; `None`: none at all.
    pub fn push(&mut self, packet: &[u8], udp: Option<bool>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(packet);
        let layout =
            udp.and_then(|udp| Layout::of(packet).filter(|layout| udp || layout.protocol == TCP));
        if let Some(layout) = layout
            && let Some(outcome) = self.joined(packet, start, layout)
        {
            if let Outcome::First(merged) = outcome {
                self.packets.push(merged);
            }
            return;
        }
        let range = start..self.bytes.len();
        let parts = Vec::from([range]);
        self.packets.push(Merged { parts, next: None, length: packet.len() });
    }

    /// Joins a packet to the last of its flow, or begins a superframe with it.
    fn joined(&mut self, packet: &[u8], start: usize, layout: Layout) -> Option<Outcome> {
        let size = packet.len() - layout.payload;
        let is_tcp = layout.protocol == TCP;
        let flags = if is_tcp { *packet.get(layout.transport + 13)? } else { ACK };
        let mergeable = size > 0 && flags & !PSH == ACK && layout.is_intact(packet);
        let sequence = if is_tcp { u32_at(packet, layout.transport + 4)? } else { 0 };
        let id = if layout.is_v4 { u16_at(packet, 4)? } else { 0 };
        let flow = flow(packet, layout)?;
        for merged in self.packets.iter_mut().rev().take(MAX_SEARCHED) {
            let first = self.bytes.get(merged.parts.first()?.clone())?;
            let is_same = Layout::of(first).and_then(|layout| self::flow(first, layout));
            if is_same != Some(flow) {
                continue;
            }
            let Some(next) = merged.next else { break };
            let follows = mergeable
                && next.layout.transport == layout.transport
                && next.layout.payload == layout.payload
                && size <= next.size
                && merged.parts.len() < MAX_SEGMENTS
                && merged.length + size <= MAX_LENGTH
                && (!is_tcp || sequence == next.sequence)
                && alike(first, packet, layout)
                && (!layout.is_v4 || packet.get(6)? & 0x40 != 0 || id == next.id);
            if !follows {
                merged.next = None;
                break;
            }
            merged.parts.push(start + layout.payload..start + packet.len());
            merged.length += size;
            let is_last = size < next.size || flags & PSH != 0;
            merged.next = Some(Following {
                sequence: next.sequence.wrapping_add(size as u32),
                id: next.id.wrapping_add(1),
                ..next
            })
            .filter(|_| !is_last);
            if flags & PSH != 0 && is_tcp {
                let at = merged.parts.first()?.start + layout.transport + 13;
                *self.bytes.get_mut(at)? |= PSH;
            }
            return Some(Outcome::Joined);
        }
        let next = Following {
            layout,
            size,
            sequence: sequence.wrapping_add(size as u32),
            id: id.wrapping_add(1),
        };
        let next = Some(next).filter(|_| mergeable && flags & PSH == 0);
        let parts: Vec<_> = std::iter::once(start..start + packet.len()).collect();
        Some(Outcome::First(Merged { parts, next, length: packet.len() }))
    }

    /// The header of a superframe; adapts its first packet.
    pub fn finish(&mut self, n: usize) -> Header {
        self.header(n).unwrap_or_default()
    }

    fn header(&mut self, n: usize) -> Option<Header> {
        let merged = self.packets.get(n)?;
        let (first, length) = (merged.parts.first()?.clone(), merged.length);
        if merged.parts.len() < 2 {
            return None;
        }
        let packet = self.bytes.get_mut(first)?;
        let layout = Layout::of(packet)?;
        let size = packet.len() - layout.payload;
        layout.set_length(packet, length)?;
        let transport = length - layout.transport;
        if layout.protocol == UDP {
            put(packet, layout.transport + 4, &u16::try_from(transport).ok()?.to_be_bytes())?;
        }
        let pseudo = layout.pseudo(packet, transport);
        put(packet, layout.checksum_at(), &pseudo.to_be_bytes())?;
        Some(Header {
            flags: NEEDS_CHECKSUM,
            kind: match (layout.protocol, layout.is_v4) {
                (UDP, _) => GSO_UDP,
                (_, true) => GSO_TCP4,
                (_, false) => GSO_TCP6,
            },
            header_length: u16::try_from(layout.payload).ok()?,
            size: u16::try_from(size).ok()?,
            checksum_start: u16::try_from(layout.transport).ok()?,
            checksum_offset: u16::try_from(layout.checksum_at() - layout.transport).ok()?,
        })
    }

    /// A part of a packet.
    pub fn part(&self, range: &Range<usize>) -> &[u8] {
        self.bytes.get(range.clone()).unwrap_or_default()
    }

    /// Forgets all packets.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.packets.clear();
    }

    /// Number of bytes.
    pub fn length(&self) -> usize {
        self.bytes.len()
    }
}

/// Addresses and ports of a packet.
fn flow(packet: &[u8], layout: Layout) -> Option<(&[u8], u32, u8)> {
    let addresses = if layout.is_v4 { 12..20 } else { 8..40 };
    Some((packet.get(addresses)?, u32_at(packet, layout.transport)?, layout.protocol))
}

/// Whether two packets of a flow differ in length, number and payload only.
fn alike(one: &[u8], other: &[u8], layout: Layout) -> bool {
    let same = |range: Range<usize>| one.get(range.clone()) == other.get(range);
    let ip = if layout.is_v4 {
        // Version, type of service; fragment field; time to live. Packets with options differ.
        layout.transport == 20 && same(0..2) && same(6..9)
    } else {
        same(0..4) && same(7..8)
    };
    let at = layout.transport;
    // Acknowledgement and header length; window; options.
    let tcp = layout.protocol == UDP
        || (same(at + 8..at + 13) && same(at + 14..at + 16) && same(at + 18..layout.payload));
    ip && tcp
}

#[cfg(test)]
mod tests {
    use super::*;

    const V4: [u8; 20] = [0x45, 0, 0, 0, 0, 9, 0x40, 0, 64, 0, 0, 0, 10, 99, 0, 1, 10, 45, 0, 2];

    fn packet(is_v4: bool, protocol: u8, payload: &[u8], sequence: u32, flags: u8) -> Vec<u8> {
        let mut packet = if is_v4 { V4.to_vec() } else { vec![0; 40] };
        if is_v4 {
            packet[9] = protocol;
        } else {
            (packet[0], packet[6], packet[7], packet[8], packet[24]) = (0x60, protocol, 64, 32, 33);
        }
        packet.extend([0x1b, 0x58, 0x23, 0x28]);
        if protocol == TCP {
            packet.extend(sequence.to_be_bytes());
            packet.extend([0, 0, 0, 1, 0x50, flags, 1, 0, 0, 0, 0, 0]);
        } else {
            packet.extend([0, 0, 0, 0]);
            let length = (8 + payload.len()) as u16;
            let at = packet.len() - 4;
            put(&mut packet, at, &length.to_be_bytes()).unwrap();
        }
        packet.extend(payload);
        let layout = Layout::of(&packet).unwrap();
        let length = packet.len();
        layout.set_length(&mut packet, length).unwrap();
        let pseudo = layout.pseudo(&packet, length - layout.transport);
        let checksum = !sum(&packet[layout.transport..], u64::from(pseudo));
        put(&mut packet, layout.checksum_at(), &checksum.to_be_bytes()).unwrap();
        packet
    }

    fn split(header: Header, mut packet: Vec<u8>) -> Option<Vec<Vec<u8>>> {
        let (mut all, mut buffer) = (Vec::new(), Vec::new());
        let give = |packet: &mut [u8]| all.push(packet[16..].to_vec());
        segments(header, &mut packet, 16, &mut buffer, give)?;
        Some(all)
    }

    #[test]
    fn what_is_merged_is_split_into_the_same_packets() {
        let payloads: Vec<Vec<u8>> =
            [100, 100, 100, 37].iter().map(|n| vec![*n as u8 + 1; *n]).collect();
        for (is_v4, protocol) in [(true, TCP), (true, UDP), (false, TCP), (false, UDP)] {
            let mut merger = Merger::default();
            let mut packets = Vec::new();
            for (n, payload) in payloads.iter().enumerate() {
                let flags = if n == 3 { ACK | PSH } else { ACK };
                let mut packet = packet(is_v4, protocol, payload, 5 + 100 * n as u32, flags);
                if is_v4 {
                    put(&mut packet, 4, &(9 + n as u16).to_be_bytes()).unwrap();
                    let (layout, length) = (Layout::of(&packet).unwrap(), packet.len());
                    layout.set_length(&mut packet, length).unwrap();
                }
                merger.push(&packet, Some(true));
                packets.push(packet);
            }
            assert_eq!(merger.packets.len(), 1, "one superframe");
            let header = merger.finish(0);
            let parts = merger.packets[0].parts.clone();
            let frame: Vec<u8> = parts.iter().flat_map(|part| merger.part(part).to_vec()).collect();
            assert_eq!(Header::parse(&header.bytes()), Some(header));
            assert_eq!(split(header, frame), Some(packets));
        }
    }

    #[test]
    fn packets_that_differ_leave_alone_and_in_order() {
        let plain = packet(true, TCP, &[1; 50], 1, ACK);
        let mut broken = packet(true, TCP, &[2; 50], 51, ACK);
        *broken.last_mut().unwrap() ^= 1;
        let gap = packet(true, TCP, &[1; 50], 200, ACK);
        let longer = packet(true, TCP, &[1; 60], 51, ACK);
        let fin = packet(true, TCP, &[1; 50], 51, ACK | FIN);
        for other in [broken, gap, longer, fin] {
            let mut merger = Merger::default();
            merger.push(&plain, Some(true));
            merger.push(&other, Some(true));
            // A packet is not joined to an earlier one than the last of its flow.
            merger.push(&packet(true, TCP, &[1; 50], 51, ACK), Some(true));
            let counts: Vec<_> = merger.packets.iter().map(Merged::count).collect();
            assert_eq!(counts, [1, 1, 1]);
            assert_eq!(merger.finish(1), Header::default());
            assert_eq!(merger.part(&merger.packets[1].parts[0]), other);
        }
        let mut merger = Merger::default();
        for _ in 0..2 {
            merger.push(&packet(true, UDP, &[1; 50], 0, 0), Some(false));
        }
        assert_eq!(merger.packets.len(), 2, "a kernel without UDP superframes");
    }

    #[test]
    fn a_malformed_superframe_is_refused() {
        let tcp = packet(true, TCP, &[1; 50], 1, ACK);
        let header = |kind, size| Header { kind, size, ..Header::default() };
        assert_eq!(split(header(GSO_TCP4, 0), tcp.clone()), None);
        assert_eq!(split(header(GSO_UDP, 10), tcp.clone()), None);
        assert_eq!(split(header(GSO_TCP4, 10), tcp[..30].to_vec()), None);
        assert_eq!(split(header(9, 10), tcp.clone()), None);
        let outside = Header { flags: NEEDS_CHECKSUM, checksum_start: 200, ..Header::default() };
        assert_eq!(split(outside, tcp.clone()), None);
        assert_eq!(split(header(GSO_TCP4, 20), tcp).map(|packets| packets.len()), Some(3));
    }
}
