//! UDP sockets with buffers for several of the largest messages.

use crate::ChannelError;
use socket2::{Domain, Protocol, Socket, Type};
use std::net::{SocketAddr, UdpSocket};

/// Bytes of a socket's send and receive buffers.
const BUFFER: usize = 1 << 21;

/// A socket that shares its port with others (`SO_REUSEPORT`).
///
/// # Errors
/// The address cannot be bound.
pub fn bind_shared(at: SocketAddr) -> Result<UdpSocket, ChannelError> {
    bind_with(at, true)
}

/// A socket with a port of its own.
///
/// # Errors
/// The address cannot be bound.
pub fn bind(at: SocketAddr) -> Result<UdpSocket, ChannelError> {
    bind_with(at, false)
}

fn bind_with(at: SocketAddr, shared: bool) -> Result<UdpSocket, ChannelError> {
    let socket = Socket::new(Domain::for_address(at), Type::DGRAM, Some(Protocol::UDP))?;
    if shared {
        socket.set_reuse_address(true)?;
        socket.set_reuse_port(true)?;
    }
    freebind(&socket, at)?;
    socket.set_recv_buffer_size(BUFFER)?;
    socket.set_send_buffer_size(BUFFER)?;
    socket.bind(&at.into())?;
    Ok(socket.into())
}

/// Lets a socket bind to an address that no interface has yet (`IP_FREEBIND`): that of N6 comes
/// with the UPF.
pub(crate) fn freebind(socket: &Socket, at: SocketAddr) -> std::io::Result<()> {
    match at.is_ipv4() {
        true => socket.set_freebind_v4(true),
        false => socket.set_freebind_v6(true),
    }
}

/// The unspecified address and port of the peer's address family.
pub fn any_for(peer: SocketAddr) -> SocketAddr {
    if peer.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0u16; 8], 0).into() }
}
