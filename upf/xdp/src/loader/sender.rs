//! A packet socket that sends generated frames past an interface's queues: a generator of few
//! packets at a time. The kernel's own generator ([`Traffic`](crate::loader::Traffic)) is faster
//! per packet, but starts and stops in some forty microseconds: too long for a few packets every
//! tenth of a millisecond.
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A socket for frames to any interface of its network namespace.
#[derive(Debug)]
pub struct FrameSender(OwnedFd);

impl FrameSender {
    /// Opens it.
    ///
    /// # Errors
    /// The right to have one is missing.
    pub fn open() -> io::Result<FrameSender> {
        // SAFETY: no memory is involved.
        let socket =
            unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just returned this descriptor, which has no other owner.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        let yes: libc::c_int = 1;
        // SAFETY: the option is an integer, which outlives the call; the socket is open.
        let set = unsafe {
            let value = (&raw const yes).cast();
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_QDISC_BYPASS,
                value,
                4,
            )
        };
        if set == 0 { Ok(FrameSender(socket)) } else { Err(io::Error::last_os_error()) }
    }

    /// Sends frames of IPv4 to an interface, in one call. One for which the link has no room is
    /// lost, as on any wire.
    ///
    /// # Errors
    /// If the kernel rejects them.
    pub fn send(&self, ifindex: u32, frames: &mut [Vec<u8>]) -> io::Result<()> {
        // SAFETY: plain data for which all zeroes is a value, here and below.
        let mut to: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        to.sll_family = libc::AF_PACKET as u16;
        to.sll_protocol = u16::from_ne_bytes([8, 0]);
        to.sll_ifindex = ifindex as i32;
        let part = |frame: &mut Vec<u8>| libc::iovec {
            iov_base: frame.as_mut_ptr().cast(),
            iov_len: frame.len(),
        };
        let mut parts: Vec<libc::iovec> = frames.iter_mut().map(part).collect();
        let message = |part: &mut libc::iovec| {
            // SAFETY: see above.
            let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
            message.msg_hdr.msg_name = (&raw mut to).cast();
            message.msg_hdr.msg_namelen = size_of::<libc::sockaddr_ll>() as u32;
            (message.msg_hdr.msg_iov, message.msg_hdr.msg_iovlen) = (part, 1);
            message
        };
        let mut messages: Vec<libc::mmsghdr> = parts.iter_mut().map(message).collect();
        let mut sent = 0;
        while let rest @ [_, ..] = &mut messages[sent..] {
            // SAFETY: the array has this number of messages, whose data outlive the call.
            let taken = unsafe {
                libc::sendmmsg(self.0.as_raw_fd(), rest.as_mut_ptr(), rest.len() as libc::c_uint, 0)
            };
            match taken {
                1.. => sent += taken as usize,
                _ if io::Error::last_os_error().raw_os_error() == Some(libc::ENOBUFS) => sent += 1,
                _ => return Err(io::Error::last_os_error()),
            }
        }
        Ok(())
    }
}
