//! Unprotected channels, as the baseline.

use martlet_lcs_channel::tcp::Wire;
use martlet_lcs_channel::udp;
use martlet_lcs_channel::wait::until_done;
use martlet_lcs_channel::{Channel, ChannelError, Description, Listener, Options};
use nix::poll::PollFlags;
use std::net::{SocketAddr, TcpListener, UdpSocket};

fn plain(library: &str) -> Description {
    Description { protocol: "none".into(), cipher_suite: "none".into(), library: library.into() }
}

/// TCP.
pub(crate) struct RawTcp {
    wire: Wire,
    input: Vec<u8>,
}

impl RawTcp {
    pub(crate) fn new(wire: Wire) -> Self {
        RawTcp { wire, input: vec![0; 131_072] }
    }
}

impl Channel for RawTcp {
    fn send(&mut self, bytes: &[u8]) -> Result<(), ChannelError> {
        self.wire.write(bytes)
    }

    fn receive(&mut self, out: &mut Vec<u8>) -> Result<bool, ChannelError> {
        let count = self.wire.read(&mut self.input)?;
        out.extend_from_slice(&self.input[..count]);
        Ok(count > 0)
    }

    fn close(&mut self) -> Result<(), ChannelError> {
        self.wire.end();
        Ok(())
    }

    fn describe(&self) -> Description {
        plain("the kernel's TCP")
    }
}

/// Listens for TCP.
pub(crate) struct RawTcpListener(pub(crate) TcpListener, pub(crate) Options);

impl Listener for RawTcpListener {
    fn local_addr(&self) -> SocketAddr {
        self.0.local_addr().unwrap_or_else(|_| SocketAddr::from(([0, 0, 0, 0], 0)))
    }

    fn accept(&mut self) -> Result<Box<dyn Channel>, ChannelError> {
        let (stream, _) = self.0.accept()?;
        Ok(Box::new(RawTcp::new(Wire::new(stream, &self.1)?)))
    }
}

/// Bytes of the largest datagram if the path has no smaller MTU.
const DATAGRAM: usize = 65_000;

/// UDP datagrams without retransmission or ordering. An empty datagram opens a connection,
/// acknowledges that, and closes it.
pub(crate) struct RawUdp {
    socket: UdpSocket,
    options: Options,
    input: Vec<u8>,
    max: usize,
}

impl RawUdp {
    fn new(socket: UdpSocket, options: &Options) -> Result<Self, ChannelError> {
        socket.set_nonblocking(true)?;
        // IPv4 and UDP headers.
        let max = usize::from(options.mtu).saturating_sub(28).clamp(512, DATAGRAM);
        Ok(RawUdp { socket, options: options.clone(), input: vec![0; 65_536], max })
    }

    pub(crate) fn connect(to: SocketAddr, options: &Options) -> Result<Self, ChannelError> {
        let local: SocketAddr = udp::any_for(to);
        let socket = UdpSocket::bind(local)?;
        socket.connect(to)?;
        let channel = Self::new(socket, options)?;
        channel.datagram(&[])?;
        let mut answer = [0; 1];
        let Options { spin, timeout, .. } = *options;
        until_done(&channel.socket, PollFlags::POLLIN, spin, timeout, || {
            channel.socket.recv(&mut answer)
        })?;
        Ok(channel)
    }

    fn datagram(&self, bytes: &[u8]) -> Result<(), ChannelError> {
        let Options { spin, timeout, .. } = self.options;
        until_done(&self.socket, PollFlags::POLLOUT, spin, timeout, || self.socket.send(bytes))?;
        Ok(())
    }
}

impl Channel for RawUdp {
    fn send(&mut self, bytes: &[u8]) -> Result<(), ChannelError> {
        bytes.chunks(self.max).try_for_each(|piece| self.datagram(piece))
    }

    fn receive(&mut self, out: &mut Vec<u8>) -> Result<bool, ChannelError> {
        let Options { spin, timeout, .. } = self.options;
        let (socket, input) = (&self.socket, &mut self.input);
        let count = until_done(socket, PollFlags::POLLIN, spin, timeout, || socket.recv(input))?;
        out.extend_from_slice(&self.input[..count]);
        Ok(count > 0)
    }

    fn close(&mut self) -> Result<(), ChannelError> {
        self.datagram(&[])
    }

    fn describe(&self) -> Description {
        plain("the kernel's UDP")
    }
}

/// Listens for UDP. Each peer gets a connected socket of its own, on the same port.
pub(crate) struct RawUdpListener(UdpSocket, Options);

impl RawUdpListener {
    pub(crate) fn bind(at: SocketAddr, options: &Options) -> Result<Self, ChannelError> {
        Ok(RawUdpListener(udp::bind_shared(at)?, options.clone()))
    }
}

impl Listener for RawUdpListener {
    fn local_addr(&self) -> SocketAddr {
        self.0.local_addr().unwrap_or_else(|_| SocketAddr::from(([0, 0, 0, 0], 0)))
    }

    fn accept(&mut self) -> Result<Box<dyn Channel>, ChannelError> {
        let mut bytes = vec![0; 65_536];
        let (_, peer) = self.0.recv_from(&mut bytes)?;
        let socket = udp::bind_shared(self.local_addr())?;
        socket.connect(peer)?;
        let channel = RawUdp::new(socket, &self.1)?;
        channel.datagram(&[])?;
        Ok(Box::new(channel))
    }
}
