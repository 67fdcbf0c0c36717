//! System calls that `socket2` does not wrap: packets with their addresses on raw sockets.
use socket2::Socket;
use std::io;
use std::mem::{size_of, zeroed};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::sync::Arc;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Ancillary data, aligned as the kernel wants it.
#[repr(C, align(8))]
struct Control([u8; 128]);

/// `sockaddr_in` or `sockaddr_in6` with its length.
#[repr(C)]
union Name {
    any: libc::sockaddr,
    v4: libc::sockaddr_in,
    v6: libc::sockaddr_in6,
}

impl Name {
    fn new(address: SocketAddr) -> (Name, u32) {
        match address {
            SocketAddr::V4(v4) => {
                let name = libc::sockaddr_in {
                    sin_family: libc::AF_INET as u16,
                    sin_port: v4.port().to_be(),
                    sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(v4.ip().octets()) },
                    sin_zero: [0; 8],
                };
                (Name { v4: name }, size_of::<libc::sockaddr_in>() as u32)
            }
            SocketAddr::V6(v6) => {
                let name = libc::sockaddr_in6 {
                    sin6_family: libc::AF_INET6 as u16,
                    sin6_port: v6.port().to_be(),
                    sin6_flowinfo: 0,
                    sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                    sin6_scope_id: v6.scope_id(),
                };
                (Name { v6: name }, size_of::<libc::sockaddr_in6>() as u32)
            }
        }
    }
}

/// Sends one packet on a raw socket: from `from` if given, else from the address the socket is bound to.
pub(crate) fn send_packet(fd: BorrowedFd<'_>, packet: &[u8], to: IpAddr, from: Option<IpAddr>) -> io::Result<()> {
    let (mut name, name_len) = Name::new(SocketAddr::new(to, 0));
    let mut part = libc::iovec { iov_base: packet.as_ptr().cast_mut().cast(), iov_len: packet.len() };
    let mut control = Control([0; 128]);
    // SAFETY: an all-zero message header is an empty one.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_name = (&raw mut name).cast();
    message.msg_namelen = name_len;
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
            let info = libc::in6_pktinfo { ipi6_addr: libc::in6_addr { s6_addr: from.octets() }, ipi6_ifindex: 0 };
            add_control(&mut message, &mut control, libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, info);
        }
        None => {}
    }
    // SAFETY: the header points to the locals above, which live until the call returns; the kernel only reads them.
    let sent = unsafe { libc::sendmsg(fd.as_raw_fd(), &message, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Puts one element of ancillary data into `control` and names it in `message`.
fn add_control<T>(message: &mut libc::msghdr, control: &mut Control, level: i32, kind: i32, value: T) {
    // SAFETY: only arithmetic on a length.
    let (space, len) = unsafe { (libc::CMSG_SPACE(size_of::<T>() as u32), libc::CMSG_LEN(size_of::<T>() as u32)) };
    assert!(space as usize <= control.0.len(), "ancillary data outgrow their buffer");
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = space as _;
    // SAFETY: the control buffer is aligned, zeroed and, as asserted, holds one header and the value.
    unsafe {
        let header = libc::CMSG_FIRSTHDR(message);
        (*header).cmsg_level = level;
        (*header).cmsg_type = kind;
        (*header).cmsg_len = len as _;
        libc::CMSG_DATA(header).cast::<T>().write_unaligned(value);
    }
}

/// A packet that a raw socket has received.
pub(crate) struct Packet {
    /// Octets in the buffer; with IPv4 they begin with the IP header.
    pub len: usize,
    /// Sender, as far as the socket tells it (IPv6).
    pub source: Option<Ipv6Addr>,
    /// Destination, as far as the socket tells it (IPv6).
    pub destination: Option<Ipv6Addr>,
}

/// Receives one packet from a raw socket.
pub(crate) fn receive_packet(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<Packet> {
    let (mut name, name_len) = Name::new(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0));
    let name_len = name_len.max(size_of::<Name>() as u32);
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let mut control = Control([0; 128]);
    // SAFETY: an all-zero message header is an empty one.
    let mut message: libc::msghdr = unsafe { zeroed() };
    message.msg_name = (&raw mut name).cast();
    message.msg_namelen = name_len;
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len() as _;
    // SAFETY: the header points to the locals above and to `buffer`, each given with its size.
    let len = unsafe { libc::recvmsg(fd.as_raw_fd(), &mut message, libc::MSG_DONTWAIT) };
    let len = usize::try_from(len).map_err(|_| io::Error::last_os_error())?;
    let mut packet = Packet { len: len.min(buffer.len()), source: None, destination: None };
    // SAFETY: the family is set by the constructor of `Name` and by the kernel in every variant of the union.
    if unsafe { name.any.sa_family } == libc::AF_INET6 as u16 {
        // SAFETY: the family says that the kernel wrote a `sockaddr_in6`.
        packet.source = Some(Ipv6Addr::from(unsafe { name.v6.sin6_addr.s6_addr }));
    }
    each_control(&message, |level, kind, data| {
        if level == libc::IPPROTO_IPV6 && kind == libc::IPV6_PKTINFO {
            packet.destination = data.first_chunk::<16>().map(|octets| Ipv6Addr::from(*octets));
        }
    });
    Ok(packet)
}

/// Calls `each` with level, type and octets of every element of ancillary data that the kernel has written.
fn each_control(message: &libc::msghdr, mut each: impl FnMut(i32, i32, &[u8])) {
    // SAFETY: the kernel has set `msg_controllen` to what it wrote into the aligned buffer; the macros walk within it,
    // and the data of an element are as long as its header says.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while !header.is_null() {
            let data = libc::CMSG_DATA(header);
            let head = data as usize - header as usize;
            let len = ((*header).cmsg_len as usize).saturating_sub(head);
            each((*header).cmsg_level, (*header).cmsg_type, std::slice::from_raw_parts(data, len));
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
}

/// An integer socket option.
pub(crate) fn set_int(fd: BorrowedFd<'_>, level: i32, name: i32, value: i32) -> io::Result<()> {
    // SAFETY: the kernel reads the four octets of `value`.
    let result =
        unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, (&raw const value).cast(), size_of::<i32>() as u32) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads an integer socket option.
pub(crate) fn get_int(fd: BorrowedFd<'_>, level: i32, name: i32) -> io::Result<i32> {
    let mut value = 0i32;
    let mut len = size_of::<i32>() as u32;
    // SAFETY: the kernel writes at most `len` octets to `value`.
    let result = unsafe { libc::getsockopt(fd.as_raw_fd(), level, name, (&raw mut value).cast(), &mut len) };
    if result == 0 { Ok(value) } else { Err(io::Error::last_os_error()) }
}

/// A socket that an [`AsyncFd`] watches: it stays open as long as that, and its descriptor stays the same.
pub(crate) struct Watched(Arc<Socket>);

impl AsRawFd for Watched {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Has the current runtime watch a socket.
pub(crate) fn watch(socket: Arc<Socket>, interest: Interest) -> io::Result<AsyncFd<Watched>> {
    // SAFETY: `Watched` owns a share of the socket, gives it to nobody, and `Socket` closes its descriptor only when
    // dropped; so the descriptor is open and the same as long as the `AsyncFd` lives.
    Ok(unsafe { AsyncFd::register_with_interest(Watched(socket), interest) }?)
}
