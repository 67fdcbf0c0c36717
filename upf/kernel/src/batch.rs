//! Several datagrams with one call.
use super::frame::HEADROOM;
use socket2::{SockAddr, SockAddrStorage};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

/// Datagrams of one call.
const BATCH: usize = 32;
/// Longest datagram; a longer one is dropped. Jumbo frames fit.
const DATAGRAM: usize = 9216;

/// Received datagrams, each after its headroom.
pub struct Batch {
    buffers: Vec<Vec<u8>>,
    received: Vec<Option<(SocketAddr, usize)>>,
}

impl Default for Batch {
    /// An empty batch with its buffers.
    fn default() -> Self {
        Batch {
            buffers: vec![vec![0; HEADROOM + DATAGRAM]; BATCH],
            received: Vec::with_capacity(BATCH),
        }
    }
}

impl Batch {
    /// Receives the queued datagrams without waiting.
    pub fn receive(&mut self, socket: &UdpSocket) -> io::Result<()> {
        self.receive_with(socket, libc::MSG_DONTWAIT)
    }

    /// Waits for one datagram, and receives all that are queued. After the end of a blocking
    /// socket's reception (`shutdown`), each datagram is empty.
    pub fn wait(&mut self, socket: &UdpSocket) -> io::Result<()> {
        self.receive_with(socket, libc::MSG_WAITFORONE)
    }

    fn receive_with(&mut self, socket: &UdpSocket, flags: libc::c_int) -> io::Result<()> {
        self.received.clear();
        let mut names: [SockAddrStorage; BATCH] =
            std::array::from_fn(|_| SockAddrStorage::zeroed());
        // SAFETY: both are plain data and pointers for which all zeroes is a value.
        let (mut vectors, mut headers): ([libc::iovec; BATCH], [libc::mmsghdr; BATCH]) =
            unsafe { std::mem::zeroed() };
        for (((buffer, name), vector), header) in
            self.buffers.iter_mut().zip(&mut names).zip(&mut vectors).zip(&mut headers)
        {
            let payload = buffer.get_mut(HEADROOM..).unwrap_or_default();
            vector.iov_base = payload.as_mut_ptr().cast();
            vector.iov_len = payload.len();
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
                flags as _,
                std::ptr::null_mut(),
            )
        };
        let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
        for (name, header) in names.into_iter().zip(&headers).take(count) {
            // SAFETY: the kernel has written an address of this length into `name`, which holds any
            // address.
            let name = unsafe { SockAddr::new(name, header.msg_hdr.msg_namelen) };
            let whole = header.msg_hdr.msg_flags & libc::MSG_TRUNC == 0;
            self.received.push(
                name.as_socket().filter(|_| whole).map(|from| (from, header.msg_len as usize)),
            );
        }
        Ok(())
    }

    /// How many were received.
    pub fn count(&self) -> usize {
        self.received.len()
    }

    /// Calls `take` for each datagram with its buffer, which ends where the datagram does, and its
    /// sender; a truncated one is `None`.
    pub fn each(&mut self, mut take: impl FnMut(Option<(&mut [u8], SocketAddr)>)) {
        for (buffer, received) in self.buffers.iter_mut().zip(&self.received) {
            take(
                received
                    .and_then(|(from, length)| Some((buffer.get_mut(..HEADROOM + length)?, from))),
            );
        }
    }
}
