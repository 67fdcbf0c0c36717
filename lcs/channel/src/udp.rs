//! UDP sockets with buffers for several of the largest messages, and datagrams that pass the
//! kernel's network stack together (generic segmentation and receive offload).

use crate::ChannelError;
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, sendmsg, setsockopt,
    sockopt::UdpGroSegment,
};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, Error, ErrorKind, IoSlice, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};

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

/// What [`receive_segments`] received.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// Bytes of all datagrams.
    pub count: usize,
    /// Bytes of each datagram. The last one may be shorter.
    pub segment: usize,
}

/// Lets [`receive_segments`] receive several datagrams at once (`UDP_GRO`), where the kernel can.
pub fn receive_batches(socket: &impl AsFd) {
    // Without it, each datagram is received alone.
    let _ = setsockopt(&socket.as_fd(), UdpGroSegment, &true);
}

/// Sends datagrams whose bytes follow each other, `segment` bytes each; the last one may be
/// shorter. A datagram larger than the path's MTU is discarded, as a lost one.
///
/// # Errors
/// The socket failed or would block. Then none, or the first ones, were sent.
pub fn send_segments(
    socket: &impl AsRawFd,
    bytes: &[u8],
    segment: usize,
    to: Option<SocketAddr>,
) -> io::Result<()> {
    let to = to.map(SockaddrStorage::from);
    let send = |bytes: &[u8], control: &[ControlMessage<'_>]| {
        let fd = socket.as_raw_fd();
        sendmsg(fd, &[IoSlice::new(bytes)], control, MsgFlags::empty(), to.as_ref())
    };
    let one = |bytes: &[u8]| match send(bytes, &[]) {
        Ok(_) | Err(nix::Error::EMSGSIZE) => Ok(()),
        Err(error) => Err(Error::from(error)),
    };
    if bytes.len() <= segment {
        return one(bytes);
    }
    let size = u16::try_from(segment).map_err(|_| Error::from(ErrorKind::InvalidInput))?;
    match send(bytes, &[ControlMessage::UdpGsoSegments(&size)]) {
        Ok(_) => Ok(()),
        // The interface or the kernel cannot do it: EIO without checksum offload, EINVAL if a
        // segment exceeds the MTU, EMSGSIZE if there are too many.
        Err(nix::Error::EIO | nix::Error::EINVAL | nix::Error::EMSGSIZE) => {
            bytes.chunks(segment).try_for_each(one)
        }
        Err(error) => Err(error.into()),
    }
}

/// Receives one datagram, or several of the same size and sender. The buffer has room for 65,535
/// bytes.
///
/// # Errors
/// The socket failed or would block.
pub fn receive_segments(socket: &impl AsRawFd, buffer: &mut [u8]) -> io::Result<Received> {
    receive(socket, buffer).map(|(received, _)| received)
}

/// The same, with the sender's address.
///
/// # Errors
/// The socket failed or would block.
pub fn receive_segments_from(
    socket: &impl AsRawFd,
    buffer: &mut [u8],
) -> io::Result<(Received, SocketAddr)> {
    let (received, from) = receive(socket, buffer)?;
    Ok((received, from.ok_or(ErrorKind::AddrNotAvailable)?))
}

fn receive(socket: &impl AsRawFd, buffer: &mut [u8]) -> io::Result<(Received, Option<SocketAddr>)> {
    let mut slices = [IoSliceMut::new(buffer)];
    let mut space = nix::cmsg_space!(libc::c_int);
    let message = recvmsg::<SockaddrStorage>(
        socket.as_raw_fd(),
        &mut slices,
        Some(&mut space),
        MsgFlags::empty(),
    )?;
    let size = message.cmsgs()?.find_map(|control| match control {
        ControlMessageOwned::UdpGroSegments(size) => usize::try_from(size).ok(),
        _ => None,
    });
    let from = message.address.as_ref().and_then(|address| {
        let ipv4 = address.as_sockaddr_in().map(|v4| SocketAddr::V4((*v4).into()));
        ipv4.or_else(|| address.as_sockaddr_in6().map(|v6| SocketAddr::V6((*v6).into())))
    });
    let count = message.bytes;
    Ok((Received { count, segment: size.filter(|size| *size > 0).unwrap_or(count) }, from))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (UdpSocket, UdpSocket) {
        let at = ([127, 0, 0, 1], 0).into();
        let (a, b) = (bind(at).unwrap(), bind(at).unwrap());
        a.connect(b.local_addr().unwrap()).unwrap();
        b.connect(a.local_addr().unwrap()).unwrap();
        (a, b)
    }

    #[test]
    fn datagrams_are_sent_and_received_together() {
        let (a, b) = pair();
        receive_batches(&b);
        let bytes: Vec<u8> = (0..3000u16).map(|n| n as u8).collect();
        send_segments(&a, &bytes, 1200, None).unwrap();
        let (mut buffer, mut received) = (vec![0; 65_536], Vec::new());
        while received.len() < bytes.len() {
            let (part, from) = receive_segments_from(&b, &mut buffer).unwrap();
            assert_eq!(from, a.local_addr().unwrap());
            assert!(part.segment == 1200 || part.count == 600, "{part:?}");
            received.extend_from_slice(&buffer[..part.count]);
        }
        assert_eq!(received, bytes);
    }

    #[test]
    fn without_batches_each_datagram_is_received_alone() {
        let (a, b) = pair();
        send_segments(&a, &[7; 2500], 1000, Some(b.local_addr().unwrap())).unwrap();
        let mut buffer = vec![0; 65_536];
        for size in [1000, 1000, 500] {
            let received = receive_segments(&b, &mut buffer).unwrap();
            assert_eq!(received, Received { count: size, segment: size });
        }
    }

    #[test]
    fn a_datagram_that_the_path_does_not_carry_is_lost() {
        let (a, _b) = pair();
        // More than a UDP datagram can have.
        send_segments(&a, &[0; 65_530], 65_530, None).unwrap();
    }
}
