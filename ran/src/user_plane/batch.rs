//! Batches of datagrams with `recvmmsg` and `sendmmsg`.
use super::packet::UPLINK_HEADER;
use socket2::{SockAddr, SockAddrStorage};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

/// Datagrams of one call.
const BATCH: usize = 32;
/// Longest user packet, and longest datagram.
const PAYLOAD: usize = 9200;
const DATAGRAM: usize = PAYLOAD + 64;

/// Received datagrams.
pub(super) struct Incoming {
    buffers: Vec<[u8; DATAGRAM]>,
    lengths: [usize; BATCH],
    senders: [Option<SocketAddr>; BATCH],
}

impl Incoming {
    pub(super) fn new() -> Self {
        Incoming {
            buffers: vec![[0; DATAGRAM]; BATCH],
            lengths: [0; BATCH],
            senders: [None; BATCH],
        }
    }

    /// Receives up to a batch of datagrams. Returns their number.
    pub(super) fn receive(&mut self, socket: &UdpSocket) -> io::Result<usize> {
        let mut names: [SockAddrStorage; BATCH] =
            std::array::from_fn(|_| SockAddrStorage::zeroed());
        // SAFETY: both are plain data and pointers for which all zeroes is a value.
        let (mut vectors, mut headers): ([libc::iovec; BATCH], [libc::mmsghdr; BATCH]) =
            unsafe { std::mem::zeroed() };
        for (((buffer, name), vector), header) in
            self.buffers.iter_mut().zip(&mut names).zip(&mut vectors).zip(&mut headers)
        {
            vector.iov_base = buffer.as_mut_ptr().cast();
            vector.iov_len = DATAGRAM;
            header.msg_hdr.msg_name = std::ptr::from_mut(name).cast();
            header.msg_hdr.msg_namelen = name.size_of();
            header.msg_hdr.msg_iov = vector;
            header.msg_hdr.msg_iovlen = 1;
        }
        // SAFETY: each header points to one vector, name and buffer, all distinct, with their
        // lengths, and valid until the call returns; the descriptor is open.
        let count = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                headers.as_mut_ptr(),
                BATCH as libc::c_uint,
                libc::MSG_DONTWAIT as _,
                std::ptr::null_mut(),
            )
        };
        let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
        for (index, (name, header)) in names.into_iter().zip(&headers).enumerate().take(count) {
            self.lengths[index] = (header.msg_len as usize).min(DATAGRAM);
            // SAFETY: the kernel has written an address of this length into `name`, which holds any
            // address.
            self.senders[index] =
                unsafe { SockAddr::new(name, header.msg_hdr.msg_namelen) }.as_socket();
        }
        Ok(count.min(BATCH))
    }

    /// A received datagram and its sender.
    pub(super) fn datagram(&self, index: usize) -> Option<(&[u8], SocketAddr)> {
        let from = (*self.senders.get(index)?)?;
        Some((self.buffers.get(index)?.get(..*self.lengths.get(index)?)?, from))
    }
}

/// Datagrams to be sent.
pub(super) struct Outgoing {
    buffers: Vec<[u8; UPLINK_HEADER + PAYLOAD]>,
    lengths: [usize; BATCH],
    peers: Vec<SockAddr>,
    count: usize,
}

impl Outgoing {
    pub(super) fn new() -> Self {
        let any = SockAddr::from(SocketAddr::from(([0, 0, 0, 0], 0)));
        Outgoing {
            buffers: vec![[0; UPLINK_HEADER + PAYLOAD]; BATCH],
            lengths: [0; BATCH],
            peers: vec![any; BATCH],
            count: 0,
        }
    }

    /// The buffer for the next packet.
    pub(super) fn payload(&mut self) -> &mut [u8] {
        let last = BATCH - 1;
        &mut self.buffers[self.count.min(last)][UPLINK_HEADER..]
    }

    /// Adds the packet in [`Outgoing::payload`], to be sent to `peer` after `header`.
    pub(super) fn push(&mut self, header: &[u8; UPLINK_HEADER], length: usize, peer: SocketAddr) {
        if let (Some(buffer), Some(stored), Some(to)) = (
            self.buffers.get_mut(self.count),
            self.lengths.get_mut(self.count),
            self.peers.get_mut(self.count),
        ) {
            buffer[..UPLINK_HEADER].copy_from_slice(header);
            *stored = (UPLINK_HEADER + length).min(UPLINK_HEADER + PAYLOAD);
            *to = peer.into();
            self.count += 1;
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.count >= BATCH
    }

    /// Sends all. Datagrams that the socket does not accept are lost.
    pub(super) fn flush(&mut self, socket: &UdpSocket) {
        let count = std::mem::take(&mut self.count);
        if count == 0 {
            return;
        }
        // SAFETY: both are plain data and pointers for which all zeroes is a value.
        let (mut vectors, mut headers): ([libc::iovec; BATCH], [libc::mmsghdr; BATCH]) =
            unsafe { std::mem::zeroed() };
        for index in 0..count {
            vectors[index].iov_base = self.buffers[index].as_mut_ptr().cast();
            vectors[index].iov_len = self.lengths[index];
            headers[index].msg_hdr.msg_name = self.peers[index].as_ptr().cast_mut().cast();
            headers[index].msg_hdr.msg_namelen = self.peers[index].len();
            headers[index].msg_hdr.msg_iov = &mut vectors[index];
            headers[index].msg_hdr.msg_iovlen = 1;
        }
        let mut sent = 0;
        while sent < count {
            // SAFETY: the headers from `sent` to `count` point to vectors, names and buffers with
            // their lengths, which are valid until the call returns and which the kernel only
            // reads; the descriptor is open.
            let taken = unsafe {
                libc::sendmmsg(
                    socket.as_raw_fd(),
                    headers[sent..].as_mut_ptr(),
                    (count - sent) as libc::c_uint,
                    libc::MSG_DONTWAIT as _,
                )
            };
            match usize::try_from(taken) {
                Ok(taken) if taken > 0 => sent += taken,
                // The first of the rest is not accepted: it is skipped.
                _ => sent += 1,
            }
        }
    }
}
