//! The sockets of GTP-U: one for each version of IP that N3 has.
use martlet_gtpu::PORT;
use martlet_upf_config::N3Config;
use martlet_upf_datapath::{InterfaceError, OpenError};
use nix::sys::socket::{ControlMessage, MsgFlags, SockaddrStorage, sendmsg};
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

/// GTP-U of N3 and N9.
pub struct Gtpu(Vec<(IpAddr, UdpSocket)>);

impl Gtpu {
    /// Binds to the addresses of N3 in the calling thread's network namespace. `buffer`: socket
    /// buffer size in bytes.
    pub fn open(n3: &N3Config, buffer: usize) -> Result<Self, OpenError> {
        let second =
            n3.address6.map(|ip| ("upf.n3.address6", SocketAddr::from((ip, n3.address.port()))));
        let all = [("upf.n3.address", n3.address)].into_iter().chain(second);
        let each = all.map(|(key, address)| match bind(address, buffer) {
            Ok(socket) => Ok((address.ip(), socket)),
            Err(source) => Err(InterfaceError::Gtpu { address, key, source }),
        });
        Ok(Gtpu(each.collect::<Result<_, _>>()?))
    }

    /// Each socket, with its address.
    pub fn each(&self) -> impl Iterator<Item = (IpAddr, &UdpSocket)> {
        self.0.iter().map(|(local, socket)| (*local, socket))
    }

    /// The socket for a peer.
    pub(super) fn socket_for(&self, peer: IpAddr) -> Option<&UdpSocket> {
        let found = self.0.iter().find(|(local, _)| local.is_ipv4() == peer.is_ipv4());
        found.map(|(_, socket)| socket)
    }

    /// Sends a datagram to the GTP-U port of a peer, independent of the peer's source port (TS
    /// 29.281, 4.4.2.3).
    pub fn send(&self, datagram: &[u8], peer: IpAddr) -> io::Result<()> {
        let found = self.0.iter().find(|(local, _)| local.is_ipv4() == peer.is_ipv4());
        let (_, socket) = found.ok_or(io::ErrorKind::AddrNotAvailable)?;
        socket.send_to(datagram, (peer, PORT)).map(drop)
    }
}

impl Gtpu {
    /// The same with a type of service, or traffic class, of the outer header.
    pub fn send_marked(&self, datagram: &[u8], peer: IpAddr, marking: u8) -> io::Result<()> {
        let found = self.0.iter().find(|(local, _)| local.is_ipv4() == peer.is_ipv4());
        let (_, socket) = found.ok_or(io::ErrorKind::AddrNotAvailable)?;
        let to = SockaddrStorage::from(SocketAddr::new(peer, PORT));
        let class = i32::from(marking);
        let control = match peer {
            IpAddr::V4(_) => ControlMessage::Ipv4Tos(&marking),
            IpAddr::V6(_) => ControlMessage::Ipv6TClass(&class),
        };
        let parts = [io::IoSlice::new(datagram)];
        let flags = MsgFlags::empty();
        sendmsg(socket.as_raw_fd(), &parts, &[control], flags, Some(&to))?;
        Ok(())
    }
}

fn bind(address: SocketAddr, buffer: usize) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    // The kernel may grant less, which is acceptable.
    let _ = socket.set_recv_buffer_size(buffer);
    let _ = socket.set_send_buffer_size(buffer);
    if address.is_ipv6() {
        without_checksum(&socket)?;
    }
    socket.bind(&address.into())?;
    Ok(socket.into())
}

/// Accepts IPv6 datagrams without a UDP checksum (RFC 6935).
fn without_checksum(socket: &Socket) -> io::Result<()> {
    const UDP_NO_CHECK6_RX: libc::c_int = 102;
    let on: libc::c_int = 1;
    // SAFETY: the pointer is to an integer of the given length that outlives the call; the socket
    // is open.
    let outcome = unsafe {
        let length = size_of_val(&on) as libc::socklen_t;
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_UDP,
            UDP_NO_CHECK6_RX,
            (&raw const on).cast(),
            length,
        )
    };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
