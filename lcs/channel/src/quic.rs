//! QUIC by quinn-proto: one connection with one stream for both directions.

use crate::raw::shared_udp;
use crate::wait::{sleep, until_done};
use crate::{Channel, ChannelError, Description, Identity, Listener, Options, Resumption, Trust, rustls as tls};
use bytes::BytesMut;
use nix::poll::PollFlags;
use quinn_proto::congestion::NewRenoConfig;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{
    ClientConfig, Connection, ConnectionError, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event,
    MtuDiscoveryConfig, ReadError, ReadableError, ServerConfig, StreamEvent, StreamId, TransportConfig, VarInt,
    WriteError,
};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The application protocol: QUIC has to have one (RFC 9001, 8.1).
const ALPN: &[u8] = b"lcs-upp";
/// A server may not answer more than three times what an unknown client sent, 1,200 octets at first (RFC 9000, 8.1): its
/// first packet has to fit that.
const FIRST: u16 = 3500;
/// Octets on their way before the first acknowledgement: one message, 65,795 octets, with its headers.
const WINDOW: u64 = 80_000;
/// Datagrams of a short message, and octets of one that has nothing in it but acknowledgements.
const FEW: usize = 2;
const SMALL: usize = 80;
/// The code of a close without an error.
const DONE: VarInt = VarInt::from_u32(0);

fn transport(options: &Options) -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    // One stream, which the UE opens.
    transport.max_concurrent_bidi_streams(1u8.into()).max_concurrent_uni_streams(0u8.into());
    transport.datagram_receive_buffer_size(None);
    // A phone is asked now and then: that nothing is said for long is no sign that it is gone.
    transport.max_idle_timeout(None);
    // The path is known: its packets are as large as it says from the first on, or soon after.
    let payload = options.mtu.saturating_sub(28).max(1200);
    transport.initial_mtu(payload.min(FIRST));
    let mut discovery = MtuDiscoveryConfig::default();
    discovery.upper_bound(payload);
    transport.mtu_discovery_config((payload > FIRST).then_some(discovery));
    // The largest message goes at once, and a lost packet costs little of that: on radio it is no sign that somebody else
    // needs the path, and a phone that is located has no more than a message on its way.
    let mut congestion = NewRenoConfig::default();
    congestion.initial_window(WINDOW).loss_reduction_factor(0.9);
    transport.congestion_controller_factory(Arc::new(congestion));
    transport.initial_rtt(Duration::from_millis(50));
    transport.enable_segmentation_offload(false);
    Arc::new(transport)
}

/// What the connections of a UE have in common.
pub(crate) fn client_config(trust: &Trust, options: &Options) -> Result<ClientConfig, ChannelError> {
    let mut crypto = tls::client_config(trust)?;
    crypto.alpn_protocols = vec![ALPN.to_vec()];
    crypto.enable_early_data = true;
    let crypto = QuicClientConfig::try_from(crypto).map_err(ChannelError::tls)?;
    let mut config = ClientConfig::new(Arc::new(crypto));
    config.transport_config(transport(options));
    Ok(config)
}

fn endpoint_config(options: &Options) -> Result<Arc<EndpointConfig>, ChannelError> {
    let mut config = EndpointConfig::default();
    config.max_udp_payload_size(options.mtu.saturating_sub(28).max(1452)).map_err(ChannelError::tls)?;
    Ok(Arc::new(config))
}

/// One end of a QUIC connection.
pub(crate) struct Quic {
    socket: UdpSocket,
    peer: SocketAddr,
    options: Options,
    endpoint: Endpoint,
    handle: ConnectionHandle,
    connection: Connection,
    stream: Option<StreamId>,
    input: Vec<u8>,
    output: Vec<u8>,
    connected: bool,
    lost: Option<ConnectionError>,
    /// The peer finished its side of the stream.
    finished: bool,
    /// How it came up.
    resumed: bool,
    early: bool,
}

impl Quic {
    pub(crate) fn connect(to: SocketAddr, trust: &Trust, options: &Options) -> Result<Self, ChannelError> {
        Self::connect_with(to, client_config(trust, options)?, &trust.name, options, &[])
    }

    /// With what connections before were given; `first` goes with the first flight where it may, and else when the handshake is
    /// done.
    pub(crate) fn connect_with(
        to: SocketAddr,
        config: ClientConfig,
        name: &str,
        options: &Options,
        first: &[u8],
    ) -> Result<Self, ChannelError> {
        let local: SocketAddr = if to.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0u16; 8], 0).into() };
        let socket = shared_udp(local)?;
        socket.connect(to)?;
        let mut endpoint = Endpoint::new(endpoint_config(options)?, None, false, None);
        let (handle, connection) = endpoint.connect(Instant::now(), config, to, name).map_err(ChannelError::tls)?;
        let mut quic = Self::new(socket, to, options, endpoint, handle, connection)?;
        quic.resumed = quic.connection.has_0rtt();
        let early = quic.resumed && !first.is_empty();
        if early {
            quic.stream = quic.connection.streams().open(Dir::Bi);
            quic.send(first)?;
        }
        quic.bring_up()?;
        quic.early = early && quic.connection.accepted_0rtt();
        if !quic.early {
            // What was sent early, if anything was, is forgotten.
            quic.stream = quic.connection.streams().open(Dir::Bi);
            quic.send(first)?;
        }
        Ok(quic)
    }

    fn new(
        socket: UdpSocket,
        peer: SocketAddr,
        options: &Options,
        endpoint: Endpoint,
        handle: ConnectionHandle,
        connection: Connection,
    ) -> Result<Self, ChannelError> {
        socket.set_nonblocking(true)?;
        Ok(Quic {
            socket,
            peer,
            options: options.clone(),
            endpoint,
            handle,
            connection,
            stream: None,
            input: vec![0; 65_536],
            output: Vec::with_capacity(65_536),
            connected: false,
            lost: None,
            finished: false,
            resumed: false,
            early: false,
        })
    }

    fn bring_up(&mut self) -> Result<(), ChannelError> {
        let until = Instant::now() + self.options.timeout;
        self.turn()?;
        // What a UE sends with its first flight is answered at once.
        while !self.connected && (self.connection.side().is_client() || self.stream.is_none()) {
            self.wait(until)?;
        }
        Ok(())
    }

    /// Send what there is to send, and see what happened.
    fn turn(&mut self) -> Result<(), ChannelError> {
        let mut flight: Vec<Vec<u8>> = Vec::new();
        loop {
            let now = Instant::now();
            while let Some(event) = self.connection.poll_endpoint_events() {
                if let Some(event) = self.endpoint.handle_event(self.handle, event) {
                    self.connection.handle_event(event);
                }
            }
            let mut idle = true;
            while let Some(event) = self.connection.poll() {
                idle = false;
                match event {
                    Event::Connected => self.connected = true,
                    Event::ConnectionLost { reason } => self.lost = Some(reason),
                    Event::Stream(StreamEvent::Opened { dir }) => self.stream = self.connection.streams().accept(dir),
                    _ => {}
                }
            }
            self.output.clear();
            while let Some(transmit) = self.connection.poll_transmit(now, 1, &mut self.output) {
                idle = false;
                self.datagram(transmit.size)?;
                if transmit.size > SMALL && flight.len() <= FEW {
                    flight.push(self.output[..transmit.size].to_vec());
                }
                self.output.clear();
            }
            if idle {
                self.send_again(flight)?;
                return match &self.lost {
                    Some(ConnectionError::ApplicationClosed(close)) if close.error_code == DONE => Ok(()),
                    Some(ConnectionError::LocallyClosed) | None => Ok(()),
                    Some(ConnectionError::TimedOut) => Err(ChannelError::Timeout),
                    Some(reason) => Err(ChannelError::tls(reason)),
                };
            }
        }
    }

    /// On a path that has lost something, a short message is sent twice: its end has nothing behind it that would show that it
    /// is missing, so that it would be repeated only after a time-out, which takes longer than the message. What comes twice,
    /// the peer passes over (RFC 9000, 12.3).
    fn send_again(&mut self, flight: Vec<Vec<u8>>) -> Result<(), ChannelError> {
        if flight.len() > FEW || self.connection.stats().path.lost_packets == 0 {
            return Ok(());
        }
        for datagram in flight {
            self.output.clear();
            self.output.extend_from_slice(&datagram);
            self.datagram(datagram.len())?;
        }
        Ok(())
    }

    fn datagram(&self, size: usize) -> Result<(), ChannelError> {
        let Options { spin, timeout, .. } = self.options;
        let sent =
            until_done(&self.socket, PollFlags::POLLOUT, spin, timeout, || self.socket.send(&self.output[..size]));
        match sent {
            // The peer is not there yet, or no more: QUIC repeats, and gives up by itself.
            Err(ChannelError::Io(error)) if error.kind() == std::io::ErrorKind::ConnectionRefused => Ok(()),
            sent => sent.map(|_| ()),
        }
    }

    /// A datagram, or a timer of the connection: whichever comes first.
    fn wait(&mut self, until: Instant) -> Result<(), ChannelError> {
        let mut now = Instant::now();
        let spinning = now + self.options.spin;
        loop {
            match self.socket.recv(&mut self.input) {
                Ok(count) => {
                    let data = BytesMut::from(&self.input[..count]);
                    self.output.clear();
                    let event = self.endpoint.handle(now, self.peer, None, None, data, &mut self.output);
                    match event {
                        Some(DatagramEvent::ConnectionEvent(_, event)) => self.connection.handle_event(event),
                        Some(DatagramEvent::Response(transmit)) => self.datagram(transmit.size)?,
                        Some(DatagramEvent::NewConnection(incoming)) => self.endpoint.ignore(incoming),
                        None => {}
                    }
                    return self.turn();
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {}
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            }
            now = Instant::now();
            if self.connection.poll_timeout().is_some_and(|timer| timer <= now) {
                self.connection.handle_timeout(now);
                return self.turn();
            }
            if now >= until {
                return Err(ChannelError::Timeout);
            }
            if now < spinning {
                std::hint::spin_loop();
                continue;
            }
            let next = self.connection.poll_timeout().map_or(until, |timer| timer.min(until));
            sleep(&self.socket, PollFlags::POLLIN, next.saturating_duration_since(now))?;
            now = Instant::now();
        }
    }

    /// What the stream has, added to `out`.
    fn read(&mut self, out: &mut Vec<u8>) -> Result<(), ChannelError> {
        let Some(stream) = self.stream else { return Ok(()) };
        let mut receive = self.connection.recv_stream(stream);
        let mut chunks = match receive.read(true) {
            Ok(chunks) => chunks,
            Err(ReadableError::ClosedStream) => {
                self.finished = true;
                return Ok(());
            }
            Err(error) => return Err(ChannelError::tls(error)),
        };
        let outcome = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => out.extend_from_slice(&chunk.bytes),
                Ok(None) => {
                    self.finished = true;
                    break Ok(());
                }
                Err(ReadError::Blocked) => break Ok(()),
                Err(error) => break Err(ChannelError::tls(error)),
            }
        };
        // The peer learns of the room that is there again.
        if chunks.finalize().should_transmit() {
            self.turn()?;
        }
        outcome
    }

    fn is_over(&self) -> bool {
        self.finished || self.lost.is_some()
    }
}

impl Channel for Quic {
    fn send(&mut self, mut octets: &[u8]) -> Result<(), ChannelError> {
        let until = Instant::now() + self.options.timeout;
        // The LMF's side has its stream from the first octets of the UE on.
        while self.stream.is_none() {
            self.wait(until)?;
        }
        while let Some(stream) = self.stream.filter(|_| !octets.is_empty()) {
            if self.lost.is_some() {
                return Err(ChannelError::Cut);
            }
            match self.connection.send_stream(stream).write(octets) {
                Ok(wrote) => {
                    octets = &octets[wrote..];
                    self.turn()?;
                }
                Err(WriteError::Blocked) => self.wait(until)?,
                Err(error) => return Err(ChannelError::tls(error)),
            }
        }
        Ok(())
    }

    fn receive(&mut self, out: &mut Vec<u8>) -> Result<bool, ChannelError> {
        let (before, until) = (out.len(), Instant::now() + self.options.timeout);
        loop {
            self.read(out)?;
            if out.len() > before {
                return Ok(true);
            }
            if self.is_over() {
                return Ok(false);
            }
            self.wait(until)?;
        }
    }

    fn close(&mut self) -> Result<(), ChannelError> {
        let until = Instant::now() + self.options.timeout;
        if let Some(stream) = self.stream.filter(|_| self.lost.is_none()) {
            // What was sent has to arrive before the connection goes.
            if self.connection.send_stream(stream).finish().is_ok() {
                self.turn()?;
            }
            while self.lost.is_none() && self.connection.streams().send_streams() > 0 {
                let mut rest = Vec::new();
                self.read(&mut rest)?;
                if self.finished && self.connection.side().is_server() {
                    break;
                }
                self.wait(until)?;
            }
        }
        self.connection.close(Instant::now(), DONE, bytes::Bytes::new());
        self.turn()
    }

    fn resumption(&self) -> Resumption {
        match (self.early, self.resumed) {
            (true, _) => Resumption::Early,
            (false, true) => Resumption::Resumed,
            _ => Resumption::Full,
        }
    }

    fn rest(&mut self, most: Duration) -> Result<(), ChannelError> {
        let until = Instant::now() + most;
        while !self.is_over() && Instant::now() < until {
            match self.wait(until) {
                Ok(()) | Err(ChannelError::Timeout) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn describe(&self) -> Description {
        Description {
            protocol: "QUIC v1, TLSv1.3".into(),
            cipher_suite: "TLS_AES_128_GCM_SHA256".into(),
            library: "quinn-proto 0.11, rustls 0.23, AWS-LC".into(),
        }
    }
}

/// Waits for QUIC: each peer gets a socket of its own, connected to it, on the same port.
pub(crate) struct QuicListener {
    socket: UdpSocket,
    config: Arc<ServerConfig>,
    options: Options,
}

impl QuicListener {
    pub(crate) fn new(at: SocketAddr, identity: &Identity, options: &Options) -> Result<Self, ChannelError> {
        let mut crypto = tls::server_config(identity)?;
        crypto.alpn_protocols = vec![ALPN.to_vec()];
        if options.early_data {
            // QUIC has its own limits of what may come (RFC 9001, 4.6.1).
            crypto.max_early_data_size = u32::MAX;
        }
        let crypto = QuicServerConfig::try_from(crypto).map_err(ChannelError::tls)?;
        let mut config = ServerConfig::with_crypto(Arc::new(crypto));
        config.transport_config(transport(options)).migration(false);
        Ok(QuicListener { socket: shared_udp(at)?, config: Arc::new(config), options: options.clone() })
    }
}

impl Listener for QuicListener {
    fn local_addr(&self) -> SocketAddr {
        self.socket.local_addr().unwrap_or_else(|_| SocketAddr::from(([0, 0, 0, 0], 0)))
    }

    fn accept(&mut self) -> Result<Box<dyn Channel>, ChannelError> {
        let mut octets = vec![0; 65_536];
        loop {
            let (count, peer) = self.socket.recv_from(&mut octets)?;
            // Before anything is answered, so that all that follows comes to it.
            let socket = shared_udp(self.local_addr())?;
            socket.connect(peer)?;
            let config = endpoint_config(&self.options)?;
            let mut endpoint = Endpoint::new(config, Some(self.config.clone()), false, None);
            let mut output = Vec::new();
            let now = Instant::now();
            match endpoint.handle(now, peer, None, None, BytesMut::from(&octets[..count]), &mut output) {
                Some(DatagramEvent::NewConnection(incoming)) => {
                    let accepted = endpoint.accept(incoming, now, &mut output, None);
                    let (handle, connection) = accepted.map_err(|error| ChannelError::tls(error.cause))?;
                    let mut quic = Quic::new(socket, peer, &self.options, endpoint, handle, connection)?;
                    quic.bring_up()?;
                    return Ok(Box::new(quic));
                }
                Some(DatagramEvent::Response(transmit)) => {
                    socket.send(&output[..transmit.size])?;
                }
                // Late datagrams of a connection that is over.
                _ => {}
            }
        }
    }
}
