//! The socket on N3 and the TUN device on N6.
use super::outlet::Outlet;
use super::tun::Tun;
use crate::UpfError;
use crate::config::UpfConfig;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

/// Where packets come from and go to. Nothing here waits.
pub(super) struct Io {
    pub n3: UdpSocket,
    pub tun: Option<Tun>,
    /// Port of GTP-U, here and at peers.
    port: u16,
}

impl Io {
    pub fn open(config: &UpfConfig, tun: Option<Tun>) -> Result<Io, UpfError> {
        let address = SocketAddr::new(config.n3.bind.into(), config.n3.port);
        let n3 = open(address, config.limits.socket_buffer).map_err(|error| UpfError::bind("n3", address, &error))?;
        Ok(Io { n3, tun, port: config.n3.port })
    }
}

fn open(address: SocketAddr, buffer: usize) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_nonblocking(true)?;
    // The kernel gives what its limits allow; less is no error.
    socket.set_recv_buffer_size(buffer)?;
    socket.set_send_buffer_size(buffer)?;
    socket.bind(&address.into())?;
    Ok(socket.into())
}

impl Outlet for Io {
    fn to_peer(&self, datagram: &[u8], peer: IpAddr) -> io::Result<()> {
        let to = SocketAddr::new(peer, self.port);
        match self.n3.send_to(datagram, to) {
            // The error is of a datagram before, sent to a peer without a socket; this one was not sent yet.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => self.n3.send_to(datagram, to).map(drop),
            other => other.map(drop),
        }
    }

    fn to_network(&self, packet: &[u8]) -> io::Result<()> {
        self.tun.as_ref().ok_or(io::ErrorKind::NotConnected)?.write(packet)
    }
}
