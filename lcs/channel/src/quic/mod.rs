//! QUIC by quinn-proto: one connection with one bidirectional stream.

mod asynchronous;
mod congestion;
mod session;
#[cfg(test)]
mod simulation;
mod transport;

pub(crate) use asynchronous::AsyncQuic;
pub use asynchronous::{AsyncListener, IdentityRenewal, Incoming};
pub(crate) use transport::client_config;

use crate::udp;
use crate::wait::{sleep, until_done};
use crate::{Channel, ChannelError, Description, Identity, Listener, Options, Resumption, Trust};
use nix::poll::PollFlags;
use quinn_proto::{ClientConfig, ServerConfig};
use session::Session;
use std::collections::VecDeque;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};
use transport::{endpoint_config, server_config};

/// One end of a QUIC connection.
pub(crate) struct Quic {
    socket: UdpSocket,
    options: Options,
    session: Session,
    input: Vec<u8>,
}

fn send(
    socket: &UdpSocket,
    options: &Options,
    bytes: &[u8],
    segment: usize,
) -> Result<(), ChannelError> {
    match until_done(socket, PollFlags::POLLOUT, options.spin, options.timeout, || {
        udp::send_segments(socket, bytes, segment, None)
    }) {
        // The peer is not listening: QUIC retransmits, and times out by itself.
        Err(ChannelError::Io(error)) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
            Ok(())
        }
        sent => sent,
    }
}

/// Calls a session method that may send.
macro_rules! with {
    ($quic:expr, $call:ident) => {{
        let Quic { socket, options, session, .. } = &mut *$quic;
        session.$call(Instant::now(), &mut |bytes, size| send(socket, options, bytes, size))
    }};
}

impl Quic {
    pub(crate) fn connect(
        to: SocketAddr,
        trust: &Trust,
        options: &Options,
    ) -> Result<Self, ChannelError> {
        Self::connect_with(to, client_config(trust, options)?, &trust.name, options, &[])
    }

    /// Connects with a client configuration, whose tickets resume. `first` is sent as 0-RTT data if
    /// permitted, else after the handshake.
    pub(crate) fn connect_with(
        to: SocketAddr,
        config: ClientConfig,
        name: &str,
        options: &Options,
        first: &[u8],
    ) -> Result<Self, ChannelError> {
        let local: SocketAddr = udp::any_for(to);
        let socket = udp::bind_shared(local)?;
        socket.connect(to)?;
        let mut session =
            Session::connect(Instant::now(), to, name, config, endpoint_config(options)?)?;
        session.set_keep_alive(options.keep_alive);
        let mut quic = Self::new(socket, options, session)?;
        let early = quic.session.may_be_early() && !first.is_empty();
        if early {
            quic.session.open_stream();
            quic.send(first)?;
        }
        quic.handshake()?;
        if !(early && quic.session.settle_early()) {
            // Rejected 0-RTT data has to be sent again.
            quic.session.open_stream();
            quic.send(first)?;
        }
        Ok(quic)
    }

    fn new(socket: UdpSocket, options: &Options, session: Session) -> Result<Self, ChannelError> {
        socket.set_nonblocking(true)?;
        udp::receive_batches(&socket);
        Ok(Quic { socket, options: options.clone(), session, input: vec![0; 65_536] })
    }

    fn handshake(&mut self) -> Result<(), ChannelError> {
        let until = Instant::now() + self.options.timeout;
        with!(self, drive)?;
        // 0-RTT data may be answered before the end of the handshake.
        while !self.session.is_up() {
            self.wait(until, None)?;
        }
        Ok(())
    }

    /// Processes the next datagram or timer; returns early if `other` becomes readable.
    fn wait(&mut self, until: Instant, other: Option<BorrowedFd<'_>>) -> Result<(), ChannelError> {
        let Quic { socket, options, session, input } = self;
        let mut out = |bytes: &[u8], size| send(socket, options, bytes, size);
        let mut now = Instant::now();
        let spinning = now + options.spin;
        loop {
            match udp::receive_segments(socket, input) {
                Ok(received) => {
                    let bytes = &input[..received.count];
                    return session.datagrams(now, bytes, received.segment, &mut out);
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {}
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            }
            now = Instant::now();
            if session.handle_timeout(now, &mut out)? {
                return Ok(());
            }
            if now >= until {
                return Err(ChannelError::Timeout);
            }
            if now < spinning {
                std::hint::spin_loop();
                continue;
            }
            let next = session.deadline().map_or(until, |timer| timer.min(until));
            if sleep(socket, PollFlags::POLLIN, next.saturating_duration_since(now), other)? {
                return Ok(());
            }
            now = Instant::now();
        }
    }
}

impl Channel for Quic {
    fn send(&mut self, mut bytes: &[u8]) -> Result<(), ChannelError> {
        let until = Instant::now() + self.options.timeout;
        while !bytes.is_empty() {
            // The LMF has the stream after the UE's first bytes.
            let wrote = match self.session.has_stream() {
                true => {
                    let Quic { socket, options, session, .. } = self;
                    session.write(Instant::now(), bytes, &mut |bytes, size| {
                        send(socket, options, bytes, size)
                    })?
                }
                false => 0,
            };
            bytes = &bytes[wrote..];
            if wrote == 0 {
                self.wait(until, None)?;
            }
        }
        Ok(())
    }

    fn receive(&mut self, out: &mut Vec<u8>) -> Result<bool, ChannelError> {
        let (before, until) = (out.len(), Instant::now() + self.options.timeout);
        loop {
            let Quic { socket, options, session, .. } = self;
            session
                .read(Instant::now(), out, &mut |bytes, size| send(socket, options, bytes, size))?;
            if out.len() > before {
                return Ok(true);
            }
            if self.session.is_over() {
                return Ok(false);
            }
            self.wait(until, None)?;
        }
    }

    fn close(&mut self) -> Result<(), ChannelError> {
        let until = Instant::now() + self.options.timeout;
        // Waits until the peer has acknowledged everything before closing.
        if with!(self, finish)? {
            while !self.session.is_flushed() {
                let Quic { socket, options, session, .. } = self;
                session.read(Instant::now(), &mut Vec::new(), &mut |bytes, size| {
                    send(socket, options, bytes, size)
                })?;
                if self.session.is_flushed() {
                    break;
                }
                self.wait(until, None)?;
            }
        }
        with!(self, close)
    }

    fn resumption(&self) -> Resumption {
        self.session.resumption()
    }

    fn idle(&mut self, limit: Duration, other: Option<BorrowedFd<'_>>) -> Result<(), ChannelError> {
        let until = Instant::now() + limit;
        while !self.session.is_over() && Instant::now() < until {
            match self.wait(until, other) {
                Ok(()) | Err(ChannelError::Timeout) => {}
                Err(error) => return Err(error),
            }
            if other.is_some_and(|other| crate::wait::is_readable(&other)) {
                break;
            }
        }
        Ok(())
    }

    fn describe(&self) -> Description {
        self.session.describe()
    }
}

/// Listens for QUIC. Each peer gets a connected socket of its own, on the same port.
pub(crate) struct QuicListener {
    socket: UdpSocket,
    config: Arc<ServerConfig>,
    options: Options,
    /// The destination connection IDs of recent first datagrams. A repeated first datagram that
    /// arrives before the connection's socket exists must not start another connection.
    recent: VecDeque<Vec<u8>>,
}

/// Capacity of `recent`.
const RECENT: usize = 64;

/// The destination connection ID of a long header (RFC 8999, 5.1).
fn destination(datagram: &[u8]) -> Option<&[u8]> {
    let long = datagram.first()? & 0x80 != 0;
    let identity = datagram.get(6..)?.get(..usize::from(*datagram.get(5)?))?;
    long.then_some(identity)
}

impl QuicListener {
    pub(crate) fn new(
        at: SocketAddr,
        identity: &Identity,
        options: &Options,
    ) -> Result<Self, ChannelError> {
        let config = Arc::new(server_config(identity, options)?);
        Ok(QuicListener {
            socket: udp::bind_shared(at)?,
            config,
            options: options.clone(),
            recent: VecDeque::new(),
        })
    }
}

impl Listener for QuicListener {
    fn local_addr(&self) -> SocketAddr {
        self.socket.local_addr().unwrap_or_else(|_| SocketAddr::from(([0, 0, 0, 0], 0)))
    }

    fn accept(&mut self) -> Result<Box<dyn Channel>, ChannelError> {
        let mut bytes = vec![0; 65_536];
        loop {
            let (count, peer) = self.socket.recv_from(&mut bytes)?;
            let connection_id =
                destination(&bytes[..count]).map(<[u8]>::to_vec).unwrap_or_default();
            if self.recent.contains(&connection_id) {
                continue;
            }
            // Connected before the response is sent, so that this socket receives all later
            // datagrams.
            let socket = udp::bind_shared(self.local_addr())?;
            socket.connect(peer)?;
            let config = endpoint_config(&self.options)?;
            let mut out = |bytes: &[u8], size| Ok(udp::send_segments(&socket, bytes, size, None)?);
            let accepted = Session::accept(
                Instant::now(),
                peer,
                &bytes[..count],
                self.config.clone(),
                config,
                &mut out,
            )?;
            if let Some(session) = accepted {
                self.recent.truncate(RECENT - 1);
                self.recent.push_front(connection_id);
                let mut quic = Quic::new(socket, &self.options, session)?;
                quic.handshake()?;
                return Ok(Box::new(quic));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Long messages are sent in the largest datagrams that the configured MTU allows.
    #[test]
    fn the_configured_mtu_is_used_soon_after_the_handshake() {
        let identity = Identity::self_signed(&["lmf.example"]).unwrap();
        let options = Options { mtu: 65_535, ..Options::default() };
        let mut listener =
            QuicListener::new(([127, 0, 0, 1], 0).into(), &identity, &options).unwrap();
        let at = listener.local_addr();
        let server = std::thread::spawn(move || {
            let mut channel = listener.accept().unwrap();
            let mut bytes = Vec::new();
            while channel.receive(&mut bytes).unwrap() {
                channel.send(&bytes).unwrap();
                bytes.clear();
            }
            channel.close().unwrap();
        });
        let mut quic = Quic::connect(at, &identity.trust("lmf.example"), &options).unwrap();
        for _ in 0..50 {
            quic.send(&[1; 10_000]).unwrap();
            let mut echo = Vec::new();
            while echo.len() < 10_000 {
                assert!(quic.receive(&mut echo).unwrap());
            }
        }
        assert_eq!(quic.session.mtu(), 65_507);
        quic.close().unwrap();
        server.join().unwrap();
    }
}
