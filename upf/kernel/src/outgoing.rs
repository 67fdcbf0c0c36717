//! Packets that leave together: a thread queues what it sends, and sends it at the end of a wakeup.
//!
//! Datagrams to one peer with the same length leave in one system call as segments (`UDP_SEGMENT`),
//! all others with `sendmmsg`. The order towards a peer, and within a flow of N6, is kept.
use super::gtpu::Gtpu;
use super::offload::{HEADER, Merger};
use socket2::SockAddr;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::net::{IpAddr, UdpSocket};
use std::ops::Range;
use std::os::fd::AsRawFd;

/// Maximum number of queued datagrams and packets.
const MAX_QUEUED: usize = 256;
/// Maximum number of queued bytes, without the last packet.
const MAX_BYTES: usize = 256 << 10;
/// Maximum number of segments of a message: the limit of older kernels.
const MAX_SEGMENTS: usize = 64;
/// Longest message.
const MAX_MESSAGE: usize = 65_000;
/// Number of latest messages among which the last one to a peer is searched.
const MAX_SEARCHED: usize = 16;
/// Peers whose limit is known.
const PEERS: usize = 1024;

/// One message to a peer.
struct Message {
    peer: IpAddr,
    marking: Option<u8>,
    size: usize,
    length: usize,
    is_open: bool,
    parts: Vec<Range<usize>>,
}

/// Packets that were not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Lost {
    /// To peers of N3.
    pub peers: u64,
    /// To the data network.
    pub network: u64,
}

/// What a thread sends next.
#[derive(Default)]
pub(super) struct Outgoing {
    bytes: Vec<u8>,
    messages: Vec<Message>,
    datagrams: usize,
    pub packets: Merger,
    lost: Lost,
    /// Datagrams of peers that are too long to be segments.
    too_long: HashMap<IpAddr, usize>,
    /// Whether the kernel refused segments.
    is_refused: bool,
}

impl Outgoing {
    /// Queues a datagram. `segments`: whether the kernel may segment.
    pub fn push(&mut self, datagram: &[u8], peer: IpAddr, marking: Option<u8>, segments: bool) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(datagram);
        let (part, length) = (start..self.bytes.len(), datagram.len());
        self.datagrams += 1;
        let fits = self.too_long.get(&peer).is_none_or(|too_long| length < *too_long);
        let joins = segments && fits && !self.is_refused && length > 0;
        let last = self.messages.iter_mut().rev().take(MAX_SEARCHED).find(|m| m.peer == peer);
        if let Some(message) = last {
            let follows = joins
                && message.is_open
                && message.marking == marking
                && length <= message.size
                && message.parts.len() < MAX_SEGMENTS
                && message.length + length <= MAX_MESSAGE;
            message.is_open &= follows && length == message.size;
            if follows {
                message.length += length;
                return message.parts.push(part);
            }
        }
        let parts = Vec::from([part]);
        self.messages.push(Message { peer, marking, size: length, length, is_open: joins, parts });
    }

    /// Whether it is time to send.
    pub fn is_full(&self) -> bool {
        self.datagrams >= MAX_QUEUED
            || self.packets.packets.len() >= MAX_QUEUED
            || self.bytes.len() + self.packets.length() >= MAX_BYTES
    }

    /// Packets that were lost since the last call.
    pub fn take_lost(&mut self) -> Lost {
        std::mem::take(&mut self.lost)
    }

    /// Sends all.
    pub fn send(&mut self, gtpu: &Gtpu, device: Option<&File>, has_header: bool) {
        if !self.messages.is_empty() {
            let messages = std::mem::take(&mut self.messages);
            for is_v4 in [true, false] {
                let of: Vec<&Message> =
                    messages.iter().filter(|m| m.peer.is_ipv4() == is_v4).collect();
                self.send_each(gtpu, &of);
            }
            self.bytes.clear();
            self.datagrams = 0;
        }
        if let Some(device) = device {
            self.write_all(device, has_header);
        }
    }

    fn send_each(&mut self, gtpu: &Gtpu, messages: &[&Message]) {
        let Some(first) = messages.first() else { return };
        let count = |messages: &[&Message]| messages.iter().map(|m| m.parts.len() as u64).sum();
        let Some(socket) = gtpu.socket_for(first.peer) else {
            let lost: u64 = count(messages);
            self.lost.peers += lost;
            return;
        };
        let mut rest = messages;
        while let Some((message, after)) = rest.split_first() {
            match send_messages(socket, &self.bytes, rest) {
                Ok(sent) if sent > 0 => rest = rest.get(sent..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => {
                    rest = after;
                    let code = outcome.err().and_then(|error| error.raw_os_error());
                    self.send_alone(socket, message, code);
                }
            }
        }
    }

    /// After an error: each datagram of a message alone, so that what can be sent is sent.
    fn send_alone(&mut self, socket: &UdpSocket, message: &Message, code: Option<i32>) {
        if message.parts.len() < 2 {
            self.lost.peers += 1;
            return;
        }
        match code {
            // The datagram exceeds the path MTU.
            Some(libc::EINVAL | libc::EMSGSIZE) => {
                if self.too_long.len() >= PEERS {
                    self.too_long.clear();
                }
                let too_long = self.too_long.entry(message.peer).or_insert(message.size);
                *too_long = message.size.min(*too_long);
            }
            // The interface computes no checksums, or the kernel has no segments.
            Some(libc::EIO | libc::EOPNOTSUPP) => {
                tracing::info!("UDP segmentation refused by the kernel: N3 sends without it");
                self.is_refused = true;
            }
            _ => {}
        }
        for part in &message.parts {
            let one = Message { parts: Vec::from([part.clone()]), size: 0, length: 0, ..*message };
            let sent = loop {
                match send_messages(socket, &self.bytes, &[&one]) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    outcome => break outcome.is_ok_and(|sent| sent == 1),
                }
            };
            self.lost.peers += u64::from(!sent);
        }
    }

    fn write_all(&mut self, device: &File, has_header: bool) {
        for n in 0..self.packets.packets.len() {
            let header = self.packets.finish(n).bytes();
            let Some(merged) = self.packets.packets.get(n) else { break };
            let head = has_header.then_some(&header[..]);
            let parts = merged.parts.iter().map(|range| self.packets.part(range));
            if write(device, head.into_iter().chain(parts)).is_err() {
                self.lost.network += merged.count() as u64;
            }
        }
        self.packets.clear();
    }
}

/// Writes one packet to the device; with its header if it has one.
pub(super) fn write<'a>(
    mut device: &File,
    parts: impl Iterator<Item = &'a [u8]>,
) -> io::Result<()> {
    let slices: Vec<_> = parts.map(io::IoSlice::new).collect();
    io::Write::write_vectored(&mut device, &slices).map(drop)
}

/// The same without superframe.
pub(super) fn write_one(device: &File, packet: &[u8], has_header: bool) -> io::Result<()> {
    let head = [0; HEADER];
    let head = has_header.then_some(&head[..]);
    write(device, head.into_iter().chain([packet]))
}

/// Control messages of a message: type of service, then segment size.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; 64]);

const UDP_SEGMENT: libc::c_int = 103;
/// Messages of one call.
const AT_ONCE: usize = 64;

/// Sends messages with one call; how many were sent.
fn send_messages(socket: &UdpSocket, bytes: &[u8], messages: &[&Message]) -> io::Result<usize> {
    let messages = messages.get(..AT_ONCE).unwrap_or(messages);
    let mut names: Vec<SockAddr> = messages
        .iter()
        .map(|m| SockAddr::from(std::net::SocketAddr::new(m.peer, martlet_gtpu::PORT)))
        .collect();
    let mut parts: Vec<Vec<libc::iovec>> = messages
        .iter()
        .map(|message| {
            let part = |range: &Range<usize>| {
                let part = bytes.get(range.clone()).unwrap_or_default();
                libc::iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() }
            };
            message.parts.iter().map(part).collect()
        })
        .collect();
    let mut controls = vec![Control([0; 64]); messages.len()];
    let mut headers = Vec::with_capacity(messages.len());
    let each = messages.iter().zip(&mut names).zip(&mut parts).zip(&mut controls);
    for (((message, name), parts), control) in each {
        // SAFETY: `mmsghdr` is plain data and pointers for which all zeroes is a value.
        let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
        header.msg_hdr.msg_name = name.as_ptr().cast_mut().cast();
        header.msg_hdr.msg_namelen = name.len();
        header.msg_hdr.msg_iov = parts.as_mut_ptr();
        header.msg_hdr.msg_iovlen = parts.len() as _;
        let mut used = 0;
        if let Some(marking) = message.marking {
            let (level, kind) = match message.peer {
                IpAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_TOS),
                IpAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
            };
            used = put_control(control, used, level, kind, &i32::from(marking).to_ne_bytes());
        }
        if parts.len() > 1 {
            let size = (message.size as u16).to_ne_bytes();
            used = put_control(control, used, libc::SOL_UDP, UDP_SEGMENT, &size);
        }
        if used > 0 {
            header.msg_hdr.msg_control = control.0.as_mut_ptr().cast();
            header.msg_hdr.msg_controllen = used as _;
        }
        headers.push(header);
    }
    // SAFETY: each header points to a name, vectors and control messages with their lengths, which
    // live until the call returns; the kernel only reads what the vectors point to.
    let sent = unsafe {
        libc::sendmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), headers.len() as libc::c_uint, 0)
    };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Appends a control message (cmsg(3)); the length with it.
fn put_control(
    control: &mut Control,
    at: usize,
    level: libc::c_int,
    kind: libc::c_int,
    value: &[u8],
) -> usize {
    let head = size_of::<libc::cmsghdr>();
    let length = (head + value.len()).to_ne_bytes();
    let fields = [&length[..], &level.to_ne_bytes(), &kind.to_ne_bytes(), value].concat();
    let space = fields.len().next_multiple_of(size_of::<usize>());
    match control.0.get_mut(at..at + fields.len()) {
        Some(to) => to.copy_from_slice(&fields),
        None => return at,
    }
    at + space
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(outgoing: &Outgoing) -> Vec<(usize, usize)> {
        outgoing.messages.iter().map(|m| (m.size, m.parts.len())).collect()
    }

    #[test]
    fn datagrams_of_a_length_to_a_peer_are_one_message() {
        let mut outgoing = Outgoing::default();
        let [one, other] = [1, 2].map(|n| IpAddr::from([127, 0, 0, n]));
        for (peer, length) in [(one, 90), (other, 40), (one, 90), (one, 50), (one, 50)] {
            outgoing.push(&vec![0; length], peer, None, true);
        }
        // The shorter one ends its message.
        assert_eq!(shape(&outgoing), [(90, 3), (40, 1), (50, 1)]);
        outgoing.push(&[0; 50], one, Some(0x28), true);
        outgoing.push(&[0; 51], one, Some(0x28), true);
        assert_eq!(shape(&outgoing)[3..], [(50, 1), (51, 1)], "marking and length differ");
        let mut without = Outgoing::default();
        (0..3).for_each(|_| without.push(&[0; 50], one, None, false));
        assert_eq!(shape(&without), [(50, 1), (50, 1), (50, 1)]);
    }

    #[test]
    fn a_message_has_at_most_64_segments() {
        let mut outgoing = Outgoing::default();
        let peer = IpAddr::from([127, 0, 0, 1]);
        (0..65).for_each(|_| outgoing.push(&[0; 50], peer, None, true));
        assert_eq!(shape(&outgoing), [(50, 64), (50, 1)]);
        let mut long = Outgoing::default();
        (0..8).for_each(|_| long.push(&[0; 9000], peer, None, true));
        assert_eq!(shape(&long), [(9000, 7), (9000, 1)], "65,000 bytes");
    }
}
