//! One end of a QUIC connection without I/O: datagrams and the time go in, datagrams come out.

use super::transport::RECEIVE_WINDOW;
use crate::{ChannelError, Description, Resumption};
use bytes::BytesMut;
use quinn_proto::{
    ClientConfig, Connection, ConnectionError, ConnectionEvent, ConnectionHandle, DatagramEvent,
    Dir, Endpoint, EndpointConfig, EndpointEvent, Event, ReadError, ReadableError, ServerConfig,
    StreamEvent, StreamId, VarInt, WriteError,
};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Maximum number of datagrams of a short message, which is sent twice.
const SHORT_MESSAGE: usize = 1;
/// Maximum size of a datagram with acknowledgements only, bytes.
const ACK_ONLY: usize = 80;
/// Probes after a long message on a lossy path. With the repeated last datagram these are three,
/// the packet threshold of loss detection (RFC 9002, 6.1.1).
const TAIL_PROBES: usize = 2;
/// Round-trip time above which a lost message costs more than sending each twice.
const DISTANT_RTT: Duration = Duration::from_millis(5);
/// Bytes read after which the flow control update is sent without other data. It leaves the peer
/// half of the window.
const MAX_UNANNOUNCED: usize = RECEIVE_WINDOW as usize / 2;
/// Maximum duration of keep-alive probes after a message.
const KEEP_ALIVE_LIMIT: Duration = Duration::from_millis(250);
/// Duration of keep-alive probes after the first part of an answer, whose rest may be retransmitted
/// by the radio.
const KEEP_ALIVE_AFTER_ANSWER: Duration = Duration::from_millis(20);
/// Application error code of a graceful close.
const NO_ERROR: VarInt = VarInt::from_u32(0);

/// Maximum number of datagrams that are passed to the socket at once: fewer than the kernel's limit
/// for segmentation offload (`UDP_MAX_SEGMENTS`).
const MAX_SEGMENTS: usize = 60;
/// Maximum number of bytes that are passed to the socket at once.
const MAX_BATCH: usize = 65_000;

/// Sends one or more datagrams: their bytes one after the other, and the size of each. The last one
/// may be shorter.
pub(super) type Out<'a> = dyn FnMut(&[u8], usize) -> Result<(), ChannelError> + 'a;

/// Sends one datagram.
fn send_one(out: &mut Out<'_>, bytes: &[u8]) -> Result<(), ChannelError> {
    out(bytes, bytes.len())
}

/// The endpoint that dispatches datagrams, of one connection or of all that share a socket.
pub(super) type SharedEndpoint = Arc<Mutex<Endpoint>>;

pub(super) fn lock(endpoint: &Mutex<Endpoint>) -> MutexGuard<'_, Endpoint> {
    endpoint.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One end of a connection.
pub(super) struct Session {
    endpoint: SharedEndpoint,
    /// The endpoint has removed the connection.
    drained: bool,
    handle: ConnectionHandle,
    connection: Connection,
    peer: SocketAddr,
    stream: Option<StreamId>,
    output: Vec<u8>,
    connected: bool,
    lost: Option<ConnectionError>,
    /// The peer finished the stream.
    finished: bool,
    /// How it was established.
    resumed: bool,
    early: bool,
    /// The path has lost packets.
    lossy: bool,
    /// The path has lost packets, or its RTT is above [`DISTANT_RTT`].
    careful: bool,
    /// Bytes read since datagrams were last sent.
    unannounced: usize,
    /// Interval of keep-alive probes; zero: none.
    keep_alive: Duration,
    /// Time of the next keep-alive probe, and end of the probes.
    probing: Option<(Instant, Instant)>,
}

impl Session {
    /// A UE's session. Nothing is sent before [`Session::drive`].
    pub(super) fn connect(
        now: Instant,
        to: SocketAddr,
        name: &str,
        config: ClientConfig,
        endpoint: EndpointConfig,
    ) -> Result<Self, ChannelError> {
        let mut endpoint = Endpoint::new(Arc::new(endpoint), None, true, None);
        let (handle, connection) =
            endpoint.connect(now, config, to, name).map_err(ChannelError::tls)?;
        let mut session = Session::new(Arc::new(Mutex::new(endpoint)), handle, connection, to);
        session.resumed = session.connection.has_0rtt();
        Ok(session)
    }

    /// An LMF's session, from a UE's first datagram. None if the datagram starts no connection.
    pub(super) fn accept(
        now: Instant,
        peer: SocketAddr,
        first: &[u8],
        config: Arc<ServerConfig>,
        endpoint: EndpointConfig,
        out: &mut Out<'_>,
    ) -> Result<Option<Self>, ChannelError> {
        let mut endpoint = Endpoint::new(Arc::new(endpoint), Some(config), true, None);
        let mut output = Vec::new();
        match endpoint.handle(now, peer, None, None, BytesMut::from(first), &mut output) {
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = endpoint.accept(incoming, now, &mut output, None);
                let (handle, connection) =
                    accepted.map_err(|error| ChannelError::tls(error.cause))?;
                Ok(Some(Session::new(Arc::new(Mutex::new(endpoint)), handle, connection, peer)))
            }
            Some(DatagramEvent::Response(transmit)) => {
                send_one(out, &output[..transmit.size]).map(|()| None)
            }
            // Late datagrams of a connection that is over.
            _ => Ok(None),
        }
    }

    /// For a connection of an endpoint.
    pub(super) fn new(
        endpoint: SharedEndpoint,
        handle: ConnectionHandle,
        connection: Connection,
        peer: SocketAddr,
    ) -> Self {
        Session {
            endpoint,
            drained: false,
            handle,
            connection,
            peer,
            stream: None,
            output: Vec::with_capacity(65_536),
            connected: false,
            lost: None,
            finished: false,
            resumed: false,
            early: false,
            lossy: false,
            careful: false,
            unannounced: 0,
            keep_alive: Duration::ZERO,
            probing: None,
        }
    }

    /// Sets the interval of keep-alive probes while a UE waits for an answer. A radio sends only
    /// with an uplink grant, which an idle UE has not; requesting one takes longer than a short
    /// message.
    pub(super) fn set_keep_alive(&mut self, interval: Duration) {
        self.keep_alive = interval;
    }

    /// Whether data can be exchanged: after the handshake, or after accepted 0-RTT data.
    pub(super) fn is_up(&self) -> bool {
        self.connected || self.connection.side().is_server() && self.stream.is_some()
    }

    /// Whether the stream is open.
    pub(super) fn has_stream(&self) -> bool {
        self.stream.is_some()
    }

    /// Opens the stream, at the UE. Bytes written before the end of the handshake are 0-RTT data.
    pub(super) fn open_stream(&mut self) {
        self.stream = self.connection.streams().open(Dir::Bi);
    }

    /// Whether 0-RTT data may be sent.
    pub(super) fn may_be_early(&self) -> bool {
        self.connection.has_0rtt()
    }

    /// After the handshake: whether the 0-RTT data was accepted. If not, the stream is discarded.
    pub(super) fn settle_early(&mut self) -> bool {
        self.early = self.connection.accepted_0rtt();
        self.early
    }

    /// Sends pending datagrams and processes events.
    pub(super) fn drive(&mut self, now: Instant, out: &mut Out<'_>) -> Result<(), ChannelError> {
        self.unannounced = 0;
        self.lossy = self.lossy || self.connection.stats().path.lost_packets > 0;
        // Before it is connected, nothing is known of it; and a handshake for which a program was
        // loaded says little of the path.
        self.careful = self.lossy || self.connected && self.connection.rtt() > DISTANT_RTT;
        let (mut flight, mut count) = (Vec::new(), 0);
        // Where single datagrams are repeated, they are sent one by one.
        let fitting = MAX_BATCH / usize::from(self.connection.current_mtu());
        let batch = if self.careful { 1 } else { fitting.clamp(1, MAX_SEGMENTS) };
        loop {
            while let Some(event) = self.connection.poll_endpoint_events() {
                self.drained |= event.is_drained();
                if let Some(event) = lock(&self.endpoint).handle_event(self.handle, event) {
                    self.connection.handle_event(event);
                }
            }
            let mut idle = true;
            while let Some(event) = self.connection.poll() {
                idle = false;
                match event {
                    Event::Connected => self.connected = true,
                    Event::ConnectionLost { reason } => self.lost = Some(reason),
                    Event::Stream(StreamEvent::Opened { dir }) => {
                        self.stream = self.connection.streams().accept(dir)
                    }
                    _ => {}
                }
            }
            self.output.clear();
            while let Some(transmit) = self.connection.poll_transmit(now, batch, &mut self.output) {
                idle = false;
                let segment = transmit.segment_size.unwrap_or(transmit.size).max(1);
                out(&self.output[..transmit.size], segment)?;
                if transmit.size > ACK_ONLY {
                    count += transmit.size.div_ceil(segment);
                    if self.careful {
                        flight.truncate(SHORT_MESSAGE);
                        flight.push(self.output[..transmit.size].to_vec());
                    }
                }
                self.output.clear();
            }
            if idle {
                break;
            }
        }
        if self.careful && self.connected && self.lost.is_none() {
            self.protect_tail(now, &flight, count, out)?;
        }
        match &self.lost {
            Some(ConnectionError::ApplicationClosed(close)) if close.error_code == NO_ERROR => {
                Ok(())
            }
            Some(ConnectionError::LocallyClosed) | None => Ok(()),
            Some(ConnectionError::TimedOut) => Err(ChannelError::Timeout),
            Some(reason) => Err(ChannelError::tls(reason)),
        }
    }

    /// Protects the end of a message against loss, on a lossy or distant path: nothing follows it
    /// that would reveal its loss, so it would be retransmitted only after a timeout. A short
    /// message is sent twice; the last datagram of a long one is sent twice and followed by two
    /// probes. The peer ignores duplicates (RFC 9000, 12.3).
    fn protect_tail(
        &mut self,
        now: Instant,
        flight: &[Vec<u8>],
        count: usize,
        out: &mut Out<'_>,
    ) -> Result<(), ChannelError> {
        if count <= SHORT_MESSAGE {
            return flight.iter().try_for_each(|datagram| send_one(out, datagram));
        }
        flight.last().map_or(Ok(()), |last| send_one(out, last))?;
        for _ in 0..TAIL_PROBES {
            self.connection.ping();
            self.output.clear();
            if let Some(transmit) = self.connection.poll_transmit(now, 1, &mut self.output) {
                send_one(out, &self.output[..transmit.size])?;
            }
        }
        Ok(())
    }

    /// Datagrams of `segment` bytes each arrived; the last one may be shorter. All are processed
    /// before anything is sent, so that they are acknowledged together.
    pub(super) fn datagrams(
        &mut self,
        now: Instant,
        bytes: &[u8],
        segment: usize,
        out: &mut Out<'_>,
    ) -> Result<(), ChannelError> {
        for bytes in bytes.chunks(segment.max(1)) {
            self.output.clear();
            let mut endpoint = lock(&self.endpoint);
            let (bytes, output) = (BytesMut::from(bytes), &mut self.output);
            match endpoint.handle(now, self.peer, None, None, bytes, output) {
                Some(DatagramEvent::ConnectionEvent(_, event)) => {
                    self.connection.handle_event(event);
                }
                Some(DatagramEvent::Response(transmit)) => {
                    send_one(out, &self.output[..transmit.size])?;
                }
                Some(DatagramEvent::NewConnection(incoming)) => endpoint.ignore(incoming),
                None => {}
            }
        }
        self.drive(now, out)
    }

    /// Events from the shared endpoint for this connection, processed as by
    /// [`Session::datagrams`].
    pub(super) fn events(
        &mut self,
        now: Instant,
        events: impl IntoIterator<Item = ConnectionEvent>,
        out: &mut Out<'_>,
    ) -> Result<(), ChannelError> {
        for event in events {
            self.connection.handle_event(event);
        }
        self.drive(now, out)
    }

    /// When [`Session::handle_timeout`] is to be called, unless something happens before.
    pub(super) fn deadline(&mut self) -> Option<Instant> {
        let probe = self.probing.map(|(next, _)| next);
        self.connection.poll_timeout().into_iter().chain(probe).min()
    }

    /// Handles expired timers. Returns whether there were any.
    pub(super) fn handle_timeout(
        &mut self,
        now: Instant,
        out: &mut Out<'_>,
    ) -> Result<bool, ChannelError> {
        if self.deadline().is_none_or(|at| at > now) {
            return Ok(false);
        }
        if let Some((next, until)) = self.probing.filter(|(next, _)| *next <= now) {
            self.probing = (now < until).then_some((next.max(now) + self.keep_alive, until));
            if self.probing.is_some() && self.connected && self.lost.is_none() {
                self.connection.ping();
            }
        }
        if self.connection.poll_timeout().is_some_and(|at| at <= now) {
            self.connection.handle_timeout(now);
        }
        self.drive(now, out).map(|()| true)
    }

    /// Writes to the stream. Returns the number of accepted bytes, limited by flow control.
    pub(super) fn write(
        &mut self,
        now: Instant,
        bytes: &[u8],
        out: &mut Out<'_>,
    ) -> Result<usize, ChannelError> {
        // An empty write would send an empty frame.
        let Some(stream) = self.stream.filter(|_| !bytes.is_empty()) else { return Ok(0) };
        if self.lost.is_some() {
            return Err(ChannelError::Cut);
        }
        match self.connection.send_stream(stream).write(bytes) {
            Ok(wrote) => {
                if !self.keep_alive.is_zero() {
                    self.probing = Some((now + self.keep_alive, now + KEEP_ALIVE_LIMIT));
                }
                self.drive(now, out).map(|()| wrote)
            }
            Err(WriteError::Blocked) => Ok(0),
            Err(error) => Err(ChannelError::tls(error)),
        }
    }

    /// Appends the received bytes to `into`.
    pub(super) fn read(
        &mut self,
        now: Instant,
        into: &mut Vec<u8>,
        out: &mut Out<'_>,
    ) -> Result<(), ChannelError> {
        let Some(stream) = self.stream else { return Ok(()) };
        let before = into.len();
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
                Ok(Some(chunk)) => into.extend_from_slice(&chunk.bytes),
                Ok(None) => {
                    self.finished = true;
                    break Ok(());
                }
                Err(ReadError::Blocked) => break Ok(()),
                Err(error) => break Err(ChannelError::tls(error)),
            }
        };
        // The flow control update is sent with the answer, unless that is late.
        let update = chunks.finalize().should_transmit();
        self.unannounced += into.len() - before;
        if update && self.unannounced >= MAX_UNANNOUNCED {
            self.drive(now, out)?;
        }
        if into.len() > before
            && let Some((_, until)) = &mut self.probing
        {
            // The rest of it, and what answers it, comes soon, or nothing does.
            *until = now + KEEP_ALIVE_AFTER_ANSWER;
        }
        outcome
    }

    /// Finishes the stream. False if it was finished before.
    pub(super) fn finish(&mut self, now: Instant, out: &mut Out<'_>) -> Result<bool, ChannelError> {
        self.probing = None;
        let Some(stream) = self.stream.filter(|_| self.lost.is_none()) else { return Ok(false) };
        if self.connection.send_stream(stream).finish().is_ok() {
            self.drive(now, out)?;
        }
        Ok(true)
    }

    /// Whether the peer has acknowledged everything, or closed.
    pub(super) fn is_flushed(&mut self) -> bool {
        let gone = self.finished && self.connection.side().is_server();
        gone || self.lost.is_some() || self.connection.streams().send_streams() == 0
    }

    /// Closes the connection. On a lossy path CONNECTION_CLOSE is sent twice, since it is not
    /// retransmitted.
    pub(super) fn close(&mut self, now: Instant, out: &mut Out<'_>) -> Result<(), ChannelError> {
        self.connection.close(now, NO_ERROR, bytes::Bytes::new());
        let mut reply = Vec::new();
        self.drive(now, &mut |bytes, segment| {
            reply = bytes.to_vec();
            out(bytes, segment)
        })?;
        match self.careful && !reply.is_empty() {
            true => send_one(out, &reply),
            false => Ok(()),
        }
    }

    /// Whether the connection is over.
    pub(super) fn is_over(&self) -> bool {
        self.finished || self.lost.is_some()
    }

    pub(super) fn resumption(&self) -> Resumption {
        match (self.early, self.resumed) {
            (true, _) => Resumption::Early,
            (false, true) => Resumption::Resumed,
            _ => Resumption::Full,
        }
    }

    /// The protection, after the handshake.
    pub(super) fn describe(&self) -> Description {
        Description {
            protocol: "QUIC v1, TLSv1.3".into(),
            cipher_suite: "TLS_AES_128_GCM_SHA256".into(),
            library: "quinn-proto 0.11, rustls 0.23, AWS-LC".into(),
        }
    }

    /// Bytes of the largest datagram that the path is known to carry.
    #[cfg(test)]
    pub(super) fn mtu(&self) -> u16 {
        self.connection.current_mtu()
    }

    #[cfg(test)]
    pub(super) fn rtt(&self) -> Duration {
        self.connection.rtt()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // After draining, its handle may belong to another connection.
        if !self.drained {
            let _ = lock(&self.endpoint).handle_event(self.handle, EndpointEvent::drained());
        }
    }
}
