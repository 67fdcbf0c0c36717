//! One end of a QUIC connection, without I/O and without a clock: datagrams and the time go in,
//! datagrams come out.

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

/// Datagrams of a short message, which fits into a slot of the air twice, and octets of one that
/// has nothing in it but acknowledgements.
const FEW: usize = 1;
const SMALL: usize = 80;
/// Datagrams behind the end of a long message on a path that loses some: with the last one's
/// double, three, as many as have to come behind a lost one for it to be known (RFC 9002, 6.1.1).
const BEHIND: usize = 2;
/// A round trip from which on a lost message costs more than a second copy of each.
const FAR: Duration = Duration::from_millis(5);
/// How long an answer is waited for with the radio awake.
const AWAKE: Duration = Duration::from_millis(250);
/// How long the radio is kept awake when a part of the answer is there: its last part may have to
/// be repeated on the air, and a grant that is lost by then costs the next message more than these
/// words.
const SOON: Duration = Duration::from_millis(20);
/// The code of a close without an error.
const DONE: VarInt = VarInt::from_u32(0);

/// Where datagrams go.
pub(super) type Out<'a> = dyn FnMut(&[u8]) -> Result<(), ChannelError> + 'a;

/// What tells whose a datagram is: of one connection, or of all that share a socket.
pub(super) type SharedEndpoint = Arc<Mutex<Endpoint>>;

pub(super) fn lock(endpoint: &Mutex<Endpoint>) -> MutexGuard<'_, Endpoint> {
    endpoint.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One end.
pub(super) struct Session {
    endpoint: SharedEndpoint,
    /// The endpoint has forgotten the connection.
    drained: bool,
    handle: ConnectionHandle,
    connection: Connection,
    peer: SocketAddr,
    stream: Option<StreamId>,
    output: Vec<u8>,
    connected: bool,
    lost: Option<ConnectionError>,
    /// The peer finished its side of the stream.
    finished: bool,
    /// How it came up.
    resumed: bool,
    early: bool,
    /// The path has lost something.
    lossy: bool,
    /// It has, or the other end is far.
    careful: bool,
    /// How often a UE that waits for an answer says a word; zero: never.
    rouse: Duration,
    /// When it says the next, and until when.
    rousing: Option<(Instant, Instant)>,
}

impl Session {
    /// A UE's, which is not connected yet; nothing is sent before [`Session::turn`].
    pub(super) fn connect(
        now: Instant,
        to: SocketAddr,
        name: &str,
        config: ClientConfig,
        endpoint: EndpointConfig,
    ) -> Result<Self, ChannelError> {
        let mut endpoint = Endpoint::new(Arc::new(endpoint), None, false, None);
        let (handle, connection) =
            endpoint.connect(now, config, to, name).map_err(ChannelError::tls)?;
        let mut session = Session::new(Arc::new(Mutex::new(endpoint)), handle, connection, to);
        session.resumed = session.connection.has_0rtt();
        Ok(session)
    }

    /// An LMF's, by the first datagram of a UE; none where that is no beginning.
    pub(super) fn accept(
        now: Instant,
        peer: SocketAddr,
        first: &[u8],
        config: Arc<ServerConfig>,
        endpoint: EndpointConfig,
        out: &mut Out<'_>,
    ) -> Result<Option<Self>, ChannelError> {
        let mut endpoint = Endpoint::new(Arc::new(endpoint), Some(config), false, None);
        let mut output = Vec::new();
        match endpoint.handle(now, peer, None, None, BytesMut::from(first), &mut output) {
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = endpoint.accept(incoming, now, &mut output, None);
                let (handle, connection) =
                    accepted.map_err(|error| ChannelError::tls(error.cause))?;
                Ok(Some(Session::new(Arc::new(Mutex::new(endpoint)), handle, connection, peer)))
            }
            Some(DatagramEvent::Response(transmit)) => out(&output[..transmit.size]).map(|()| None),
            // Late datagrams of a connection that is over.
            _ => Ok(None),
        }
    }

    /// Of a connection that an endpoint began or accepted.
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
            rouse: Duration::ZERO,
            rousing: None,
        }
    }

    /// From now on a UE that waits for an answer says a word so often. A phone's radio may send
    /// only where it was granted to, and has no grant when it had nothing to send; to ask for
    /// one takes longer than a short message. So a UE that measures in a row keeps its
    /// grant while it waits for what it answers next.
    pub(super) fn rouse(&mut self, every: Duration) {
        self.rouse = every;
    }

    /// Whether the handshake is done, or what a UE sent with its first flight may be answered
    /// already.
    pub(super) fn is_up(&self) -> bool {
        self.connected || self.connection.side().is_server() && self.stream.is_some()
    }

    /// Whether octets can be written.
    pub(super) fn has_stream(&self) -> bool {
        self.stream.is_some()
    }

    /// A UE opens the stream; octets that are written before the handshake is done go with the
    /// first flight.
    pub(super) fn open_stream(&mut self) {
        self.stream = self.connection.streams().open(Dir::Bi);
    }

    /// Whether octets may go with the first flight.
    pub(super) fn may_be_early(&self) -> bool {
        self.connection.has_0rtt()
    }

    /// The handshake is done: whether what went with the first flight was taken. Where not, it is
    /// forgotten.
    pub(super) fn settle_early(&mut self) -> bool {
        self.early = self.connection.accepted_0rtt();
        self.early
    }

    /// Send what there is to send, and see what happened.
    pub(super) fn turn(&mut self, now: Instant, out: &mut Out<'_>) -> Result<(), ChannelError> {
        self.lossy = self.lossy || self.connection.stats().path.lost_packets > 0;
        // Before it is connected, nothing is known of it; and a handshake for which a program was
        // loaded says little of the path.
        self.careful = self.lossy || self.connected && self.connection.rtt() > FAR;
        let (mut flight, mut count) = (Vec::new(), 0);
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
            while let Some(transmit) = self.connection.poll_transmit(now, 1, &mut self.output) {
                idle = false;
                out(&self.output[..transmit.size])?;
                if transmit.size > SMALL {
                    count += 1;
                    if self.careful {
                        flight.truncate(FEW);
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
            self.make_sure(now, &flight, count, out)?;
        }
        match &self.lost {
            Some(ConnectionError::ApplicationClosed(close)) if close.error_code == DONE => Ok(()),
            Some(ConnectionError::LocallyClosed) | None => Ok(()),
            Some(ConnectionError::TimedOut) => Err(ChannelError::Timeout),
            Some(reason) => Err(ChannelError::tls(reason)),
        }
    }

    /// On a path that has lost something, or where it takes long to know that it has, the end of a
    /// message has nothing behind it that would show that it is missing, so that it
    /// would be repeated only after a time-out, which takes longer than the message. So a short
    /// message is sent twice; of a long one the last datagram is, and two words more. What
    /// comes twice, the peer passes over (RFC 9000, 12.3).
    fn make_sure(
        &mut self,
        now: Instant,
        flight: &[Vec<u8>],
        count: usize,
        out: &mut Out<'_>,
    ) -> Result<(), ChannelError> {
        if count <= FEW {
            return flight.iter().try_for_each(|datagram| out(datagram));
        }
        flight.last().map_or(Ok(()), |last| out(last))?;
        for _ in 0..BEHIND {
            self.connection.ping();
            self.output.clear();
            if let Some(transmit) = self.connection.poll_transmit(now, 1, &mut self.output) {
                out(&self.output[..transmit.size])?;
            }
        }
        Ok(())
    }

    /// A datagram came.
    pub(super) fn datagram(
        &mut self,
        now: Instant,
        octets: &[u8],
        out: &mut Out<'_>,
    ) -> Result<(), ChannelError> {
        self.output.clear();
        let mut endpoint = lock(&self.endpoint);
        match endpoint.handle(now, self.peer, None, None, BytesMut::from(octets), &mut self.output)
        {
            Some(DatagramEvent::ConnectionEvent(_, event)) => self.connection.handle_event(event),
            Some(DatagramEvent::Response(transmit)) => out(&self.output[..transmit.size])?,
            Some(DatagramEvent::NewConnection(incoming)) => endpoint.ignore(incoming),
            None => {}
        }
        drop(endpoint);
        self.turn(now, out)
    }

    /// What a datagram says that the endpoint has found to be this connection's.
    pub(super) fn event(
        &mut self,
        now: Instant,
        event: ConnectionEvent,
        out: &mut Out<'_>,
    ) -> Result<(), ChannelError> {
        self.connection.handle_event(event);
        self.turn(now, out)
    }

    /// When [`Session::timeout`] is to be called, if nothing comes before.
    pub(super) fn deadline(&mut self) -> Option<Instant> {
        let rouse = self.rousing.map(|(next, _)| next);
        self.connection.poll_timeout().into_iter().chain(rouse).min()
    }

    /// Whether it is time; if so, what is due is done.
    pub(super) fn timeout(
        &mut self,
        now: Instant,
        out: &mut Out<'_>,
    ) -> Result<bool, ChannelError> {
        if self.deadline().is_none_or(|at| at > now) {
            return Ok(false);
        }
        if let Some((next, until)) = self.rousing.filter(|(next, _)| *next <= now) {
            self.rousing = (now < until).then_some((next.max(now) + self.rouse, until));
            if self.rousing.is_some() && self.connected && self.lost.is_none() {
                self.connection.ping();
            }
        }
        if self.connection.poll_timeout().is_some_and(|at| at <= now) {
            self.connection.handle_timeout(now);
        }
        self.turn(now, out).map(|()| true)
    }

    /// Octets for the stream, and how many of them it took; what the peer has no room for yet is
    /// not taken.
    pub(super) fn write(
        &mut self,
        now: Instant,
        octets: &[u8],
        out: &mut Out<'_>,
    ) -> Result<usize, ChannelError> {
        // Of nothing an empty frame would be sent.
        let Some(stream) = self.stream.filter(|_| !octets.is_empty()) else { return Ok(0) };
        if self.lost.is_some() {
            return Err(ChannelError::Cut);
        }
        match self.connection.send_stream(stream).write(octets) {
            Ok(wrote) => {
                if !self.rouse.is_zero() {
                    self.rousing = Some((now + self.rouse, now + AWAKE));
                }
                self.turn(now, out).map(|()| wrote)
            }
            Err(WriteError::Blocked) => Ok(0),
            Err(error) => Err(ChannelError::tls(error)),
        }
    }

    /// What the stream has, added to `into`.
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
        // The peer learns of the room that is there again.
        if chunks.finalize().should_transmit() {
            self.turn(now, out)?;
        }
        if into.len() > before
            && let Some((_, until)) = &mut self.rousing
        {
            // The rest of it, and what answers it, comes soon, or nothing does.
            *until = now + SOON;
        }
        outcome
    }

    /// Nothing more is written; false where that was so before.
    pub(super) fn finish(&mut self, now: Instant, out: &mut Out<'_>) -> Result<bool, ChannelError> {
        self.rousing = None;
        let Some(stream) = self.stream.filter(|_| self.lost.is_none()) else { return Ok(false) };
        if self.connection.send_stream(stream).finish().is_ok() {
            self.turn(now, out)?;
        }
        Ok(true)
    }

    /// Whether what was written has arrived, or the peer has no more use for it.
    pub(super) fn is_flushed(&mut self) -> bool {
        let gone = self.finished && self.connection.side().is_server();
        gone || self.lost.is_some() || self.connection.streams().send_streams() == 0
    }

    /// The connection is over. Where the path loses some, it is said twice: nobody is there any
    /// more who could say it again, and the other end would wait in vain.
    pub(super) fn close(&mut self, now: Instant, out: &mut Out<'_>) -> Result<(), ChannelError> {
        self.connection.close(now, DONE, bytes::Bytes::new());
        let mut said = Vec::new();
        self.turn(now, &mut |octets| {
            said = octets.to_vec();
            out(octets)
        })?;
        match self.careful && !said.is_empty() {
            true => out(&said),
            false => Ok(()),
        }
    }

    /// Whether nothing more comes.
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

    /// What was negotiated is in force once the handshake is done.
    pub(super) fn describe(&self) -> Description {
        Description {
            protocol: "QUIC v1, TLSv1.3".into(),
            cipher_suite: "TLS_AES_128_GCM_SHA256".into(),
            library: "quinn-proto 0.11, rustls 0.23, AWS-LC".into(),
        }
    }

    #[cfg(test)]
    pub(super) fn rtt(&self) -> Duration {
        self.connection.rtt()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Once it is drained, its handle may be another's.
        if !self.drained {
            let _ = lock(&self.endpoint).handle_event(self.handle, EndpointEvent::drained());
        }
    }
}
