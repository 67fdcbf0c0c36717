//! Whole frames sent to interfaces (`AF_PACKET`).
use martlet_upf_datapath::{InterfaceError, OpenError};
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::os::fd::AsRawFd;

/// A send-only socket for frames on any interface of its network namespace.
pub(super) struct PacketSocket(Socket);

impl PacketSocket {
    pub fn open() -> Result<Self, OpenError> {
        let socket = Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(0)));
        Ok(PacketSocket(socket.map_err(InterfaceError::PacketSocket)?))
    }

    /// Sends a frame with its link header.
    pub fn send(&self, ifindex: u32, frame: &[u8]) -> io::Result<()> {
        // SAFETY: `sockaddr_ll` is plain data for which all zeroes is a value.
        let mut to: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        to.sll_family = libc::AF_PACKET as u16;
        to.sll_ifindex = ifindex as i32;
        let protocol =
            frame.get(12..14).and_then(|bytes| <[u8; 2]>::try_from(bytes).ok()).unwrap_or_default();
        to.sll_protocol = u16::from_ne_bytes(protocol);
        // SAFETY: both pointers have the lengths of their values, which outlive the call; the
        // socket is open.
        let sent = unsafe {
            libc::sendto(
                self.0.as_raw_fd(),
                frame.as_ptr().cast(),
                frame.len(),
                libc::MSG_DONTWAIT,
                (&raw const to).cast(),
                size_of_val(&to) as u32,
            )
        };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}
