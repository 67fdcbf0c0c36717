//! Packets with their addresses on raw sockets.
use super::sys::{Address, Control, Name, add_control, each_control, zeroed_address};
use std::io;
use std::mem::{size_of, zeroed};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, BorrowedFd};

/// Sends one packet on a raw socket: from `from` if given, else from the address the socket is
/// bound to.
pub(crate) fn send_packet(
    fd: BorrowedFd<'_>,
    packet: &[u8],
    to: IpAddr,
    from: Option<IpAddr>,
) -> io::Result<()> {
    let mut name = Name::new(SocketAddr::new(to, 0));
    let mut part =
        libc::iovec { iov_base: packet.as_ptr().cast_mut().cast(), iov_len: packet.len() };
    let mut control = Control::new();
    // SAFETY: an all-zero message header is an empty one.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_name = (&raw mut name.address).cast();
    message.msg_namelen = name.len;
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    match from {
        Some(IpAddr::V4(from)) => {
            let info = libc::in_pktinfo {
                ipi_ifindex: 0,
                ipi_spec_dst: libc::in_addr { s_addr: u32::from_ne_bytes(from.octets()) },
                ipi_addr: libc::in_addr { s_addr: 0 },
            };
            add_control(&mut message, &mut control, libc::IPPROTO_IP, libc::IP_PKTINFO, info);
        }
        Some(IpAddr::V6(from)) => {
            let info = libc::in6_pktinfo {
                ipi6_addr: libc::in6_addr { s6_addr: from.octets() },
                ipi6_ifindex: 0,
            };
            add_control(&mut message, &mut control, libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, info);
        }
        None => {}
    }
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: the header points to the locals above, which live until the call returns; the kernel
    // only reads them.
    let sent = unsafe { libc::sendmsg(fd.as_raw_fd(), &message, flags) };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// A packet that a raw socket has received.
pub(crate) struct Packet {
    /// Bytes in the buffer; with IPv4 they begin with the IP header.
    pub len: usize,
    /// Sender, if the socket reports it (IPv6).
    pub source: Option<Ipv6Addr>,
    /// Destination, if the socket reports it (IPv6).
    pub destination: Option<Ipv6Addr>,
}

/// Receives one packet from a raw socket.
pub(crate) fn receive_packet(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<Packet> {
    let mut name = zeroed_address();
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let mut control = Control::new();
    // SAFETY: an all-zero message header is an empty one.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_name = (&raw mut name).cast();
    message.msg_namelen = size_of::<Address>() as u32;
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    control.offer(&mut message);
    // SAFETY: the header points to the locals above and to `buffer`, each given with its size.
    let len = unsafe { libc::recvmsg(fd.as_raw_fd(), &mut message, libc::MSG_DONTWAIT) };
    let len = usize::try_from(len).map_err(|_| io::Error::last_os_error())?;
    let mut packet = Packet { len: len.min(buffer.len()), source: None, destination: None };
    // SAFETY: the union was zeroed and then written by the kernel, if at all; the family is in the
    // same place always.
    if unsafe { name.any.sa_family } == libc::AF_INET6 as u16 {
        // SAFETY: according to the family, the kernel wrote a `sockaddr_in6`.
        packet.source = Some(Ipv6Addr::from(unsafe { name.v6.sin6_addr.s6_addr }));
    }
    each_control(&message, |level, kind, data| {
        if level == libc::IPPROTO_IPV6 && kind == libc::IPV6_PKTINFO {
            packet.destination = data.first_chunk::<16>().map(|octets| Ipv6Addr::from(*octets));
        }
    });
    Ok(packet)
}

/// Reads an integer socket option.
pub(crate) fn get_int(fd: BorrowedFd<'_>, level: i32, name: i32) -> io::Result<i32> {
    let mut value = 0i32;
    let mut len = size_of::<i32>() as u32;
    // SAFETY: the kernel writes at most `len` bytes to `value`.
    let result =
        unsafe { libc::getsockopt(fd.as_raw_fd(), level, name, (&raw mut value).cast(), &mut len) };
    if result == 0 { Ok(value) } else { Err(io::Error::last_os_error()) }
}
