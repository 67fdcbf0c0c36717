//! QUIC on tokio: the connections of an LMF share one socket, and a UE has its own.

use super::session::{Session, SharedEndpoint, lock};
use super::transport::{endpoint_config, server_config};
use crate::udp;
use crate::wait::PEER_TIMEOUT;
use crate::wait::until;
use crate::{ChannelError, Description, Identity, Options, Resumption};
use bytes::BytesMut;
use quinn_proto::{ClientConfig, ConnectionEvent, ConnectionHandle, DatagramEvent, Endpoint};
use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::Interest;
use tokio::net::UdpSocket;
use tokio::sync::mpsc;

/// Capacity of a connection's queue of received datagrams: more than the largest message needs.
/// More are dropped, and retransmitted.
const QUEUE: usize = 256;
/// Handshakes in progress above which a UE's address is validated with a Retry packet first (RFC
/// 9000,
/// 8.1.2).
const RETRY_THRESHOLD: usize = 64;
/// Time limit of a graceful close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// Bytes of the largest datagram.
const DATAGRAM: usize = 65_536;

type Routes = Mutex<HashMap<ConnectionHandle, mpsc::Sender<ConnectionEvent>>>;

/// The state that the connections of an LMF share.
struct Shared {
    socket: UdpSocket,
    endpoint: SharedEndpoint,
    /// The queue of each connection.
    routes: Routes,
    /// Handshakes in progress.
    handshaking: AtomicUsize,
}

impl Shared {
    fn routes(&self) -> MutexGuard<'_, HashMap<ConnectionHandle, mpsc::Sender<ConnectionEvent>>> {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends datagrams of `segment` bytes each.
    fn send(&self, bytes: &[u8], segment: usize, peer: SocketAddr) -> Result<(), ChannelError> {
        ignore_loss(udp::send_segments(&self.socket, bytes, segment, Some(peer)))
    }

    fn send_one(&self, bytes: &[u8], peer: SocketAddr) -> Result<(), ChannelError> {
        self.send(bytes, bytes.len(), peer)
    }

    /// Answers a datagram that belongs to no connection. Its sender may have an address to which
    /// nothing can be sent, such as port 0, which is no failure of the socket.
    fn answer(&self, bytes: &[u8], peer: SocketAddr) {
        let _ = self.send_one(bytes, peer);
    }
}

/// Ignores a full send buffer and an absent peer: QUIC retransmits, and times out by itself.
fn ignore_loss(sent: std::io::Result<()>) -> Result<(), ChannelError> {
    match sent {
        Err(error)
            if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionRefused) =>
        {
            Err(error.into())
        }
        _ => Ok(()),
    }
}

/// The socket of a connection.
enum Path {
    /// A UE's socket, connected to its LMF.
    Own(UdpSocket),
    Shared {
        shared: Arc<Shared>,
        peer: SocketAddr,
        handle: ConnectionHandle,
        events_tx: mpsc::Sender<ConnectionEvent>,
        events: mpsc::Receiver<ConnectionEvent>,
    },
}

impl Path {
    /// Sends datagrams of `segment` bytes each.
    fn send(&self, bytes: &[u8], segment: usize) -> Result<(), ChannelError> {
        match self {
            Path::Own(socket) => ignore_loss(udp::send_segments(socket, bytes, segment, None)),
            Path::Shared { shared, peer, .. } => shared.send(bytes, segment, *peer),
        }
    }

    /// The next input. Cancel safe.
    async fn next(&mut self, input: &mut [u8]) -> std::io::Result<Input> {
        match self {
            Path::Own(socket) => {
                let receive = || udp::receive_segments(socket, input);
                socket
                    .async_io(Interest::READABLE | Interest::ERROR, receive)
                    .await
                    .map(Input::Datagrams)
            }
            // The queue never ends, since `self` holds a sender.
            Path::Shared { events, .. } => {
                Ok(events.recv().await.map_or(Input::Timer, Input::Event))
            }
        }
    }
}

impl Path {
    /// Events that have arrived in the meantime.
    fn queued(&mut self) -> Vec<ConnectionEvent> {
        match self {
            Path::Own(_) => Vec::new(),
            Path::Shared { events, .. } => std::iter::from_fn(|| events.try_recv().ok()).collect(),
        }
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        if let Path::Shared { shared, handle, events_tx, .. } = self {
            let mut routes = shared.routes();
            // The handle may belong to another connection by now.
            if routes.get(handle).is_some_and(|route| route.same_channel(events_tx)) {
                routes.remove(handle);
            }
        }
    }
}

enum Input {
    Datagrams(udp::Received),
    Event(ConnectionEvent),
    Timer,
}

/// One end of a connection.
pub(crate) struct AsyncQuic {
    // Dropped before the session, which frees its handle for another connection.
    path: Path,
    session: Session,
    input: Vec<u8>,
    /// Since when written data has not been answered.
    unanswered: Option<Instant>,
}

impl AsyncQuic {
    /// A UE's connection, over a socket that is connected to the LMF.
    pub(crate) async fn connect(
        socket: std::net::UdpSocket,
        config: ClientConfig,
        name: &str,
        options: &Options,
    ) -> Result<Self, ChannelError> {
        socket.set_nonblocking(true)?;
        udp::receive_batches(&socket);
        let (to, socket) = (socket.peer_addr()?, UdpSocket::from_std(socket)?);
        let mut session =
            Session::connect(Instant::now(), to, name, config, endpoint_config(options)?)?;
        session.set_keep_alive(options.keep_alive);
        let mut quic = AsyncQuic::new(Path::Own(socket), session, vec![0; DATAGRAM]);
        quic.handshake(options.timeout).await?;
        quic.session.open_stream();
        Ok(quic)
    }

    fn new(path: Path, session: Session, input: Vec<u8>) -> Self {
        AsyncQuic { path, session, input, unanswered: None }
    }

    async fn handshake(&mut self, limit: Duration) -> Result<(), ChannelError> {
        let up = async {
            let AsyncQuic { path, session, .. } = self;
            session.drive(Instant::now(), &mut |bytes, size| path.send(bytes, size))?;
            while !self.session.is_up() {
                self.drive().await?;
            }
            Ok(())
        };
        tokio::time::timeout(limit, up).await.unwrap_or(Err(ChannelError::Timeout))
    }

    /// Processes the next datagram or timer. Cancel safe.
    async fn drive(&mut self) -> Result<(), ChannelError> {
        let AsyncQuic { path, session, input, unanswered } = self;
        let peer_timeout = unanswered.map(|since| since + PEER_TIMEOUT);
        let deadline = session.deadline().into_iter().chain(peer_timeout).min();
        let received = tokio::select! {
            biased;
            received = path.next(input) => received,
            () = until(deadline) => Ok(Input::Timer),
        };
        let (now, up) = (Instant::now(), session.is_up());
        let queued = path.queued();
        let mut out = |bytes: &[u8], size| path.send(bytes, size);
        match received {
            Ok(Input::Datagrams(received)) => {
                *unanswered = None;
                let bytes = &input[..received.count];
                session.datagrams(now, bytes, received.segment, &mut out)
            }
            Ok(Input::Event(event)) => {
                *unanswered = None;
                session.events(now, [event].into_iter().chain(queued), &mut out)
            }
            Ok(Input::Timer) if peer_timeout.is_some_and(|at| at <= now) => {
                Err(ChannelError::Timeout)
            }
            Ok(Input::Timer) => session.handle_timeout(now, &mut out).map(|_| ()),
            // An ICMP error ends only the handshake: later, an attacker could forge it (RFC 9000,
            // 14.2.1).
            Err(error) if error.kind() == ErrorKind::ConnectionRefused && up => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) async fn receive(&mut self, out: &mut Vec<u8>) -> Result<bool, ChannelError> {
        let before = out.len();
        loop {
            let AsyncQuic { path, session, .. } = self;
            session.read(Instant::now(), out, &mut |bytes, size| path.send(bytes, size))?;
            if out.len() > before {
                return Ok(true);
            }
            if self.session.is_over() {
                return Ok(false);
            }
            self.drive().await?;
        }
    }

    pub(crate) async fn send(&mut self, mut bytes: &[u8]) -> Result<(), ChannelError> {
        while !bytes.is_empty() {
            let AsyncQuic { path, session, unanswered, .. } = self;
            let now = Instant::now();
            // The LMF has the stream after the UE's first bytes.
            let wrote = match session.has_stream() {
                true => session.write(now, bytes, &mut |bytes, size| path.send(bytes, size))?,
                false => 0,
            };
            bytes = &bytes[wrote..];
            match wrote {
                0 => self.drive().await?,
                _ => _ = unanswered.get_or_insert(now),
            }
        }
        Ok(())
    }

    pub(crate) async fn close(mut self) {
        let flushed = async {
            let AsyncQuic { path, session, .. } = &mut self;
            let waits =
                session.finish(Instant::now(), &mut |bytes, size| path.send(bytes, size))?;
            while waits && !self.session.is_flushed() {
                let AsyncQuic { path, session, .. } = &mut self;
                session.read(Instant::now(), &mut Vec::new(), &mut |bytes, size| {
                    path.send(bytes, size)
                })?;
                if !self.session.is_flushed() {
                    self.drive().await?;
                }
            }
            Ok::<(), ChannelError>(())
        };
        // The peer may have disconnected.
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, flushed).await;
        let AsyncQuic { path, session, .. } = &mut self;
        let _ = session.close(Instant::now(), &mut |bytes, size| path.send(bytes, size));
    }

    pub(crate) fn resumption(&self) -> Resumption {
        self.session.resumption()
    }

    pub(crate) fn describe(&self) -> Description {
        self.session.describe()
    }
}

/// Listens for QUIC connections of UEs on one socket.
pub struct AsyncListener {
    shared: Arc<Shared>,
    input: Vec<u8>,
    /// The datagrams in `input` from `next` on have not been dispatched.
    received: udp::Received,
    next: usize,
    peer: SocketAddr,
    output: Vec<u8>,
}

impl AsyncListener {
    /// Opens the socket.
    ///
    /// # Errors
    /// The address is in use, or the certificate or key is invalid.
    pub fn bind(
        at: SocketAddr,
        identity: &Identity,
        options: &Options,
    ) -> Result<Self, ChannelError> {
        let config = Arc::new(server_config(identity, options)?);
        let socket = udp::bind(at)?;
        socket.set_nonblocking(true)?;
        udp::receive_batches(&socket);
        let endpoint = Endpoint::new(Arc::new(endpoint_config(options)?), Some(config), true, None);
        let shared = Shared {
            socket: UdpSocket::from_std(socket)?,
            endpoint: Arc::new(Mutex::new(endpoint)),
            routes: Mutex::default(),
            handshaking: AtomicUsize::new(0),
        };
        Ok(AsyncListener {
            shared: Arc::new(shared),
            input: vec![0; DATAGRAM],
            received: udp::Received::default(),
            next: 0,
            peer: at,
            output: Vec::new(),
        })
    }

    /// The local address.
    ///
    /// # Errors
    /// The socket failed.
    pub fn local_addr(&self) -> Result<SocketAddr, ChannelError> {
        Ok(self.shared.socket.local_addr()?)
    }

    /// Replaces the certificate and the key of new connections, from any task.
    pub fn renewal(&self, options: &Options) -> IdentityRenewal {
        IdentityRenewal { endpoint: self.shared.endpoint.clone(), options: options.clone() }
    }

    /// The number of connections, including those in handshake or closing.
    pub fn connections(&self) -> usize {
        self.shared.routes().len()
    }

    /// The next new connection. It also dispatches datagrams to the other connections, so it has to
    /// be polled all the time.
    ///
    /// # Cancel safety
    /// No datagram is lost.
    ///
    /// # Errors
    /// The socket failed.
    pub async fn accept(&mut self) -> Result<Incoming, ChannelError> {
        loop {
            if self.next >= self.received.count {
                let (socket, input) = (&self.shared.socket, &mut self.input);
                let receive = || udp::receive_segments_from(socket, input);
                (self.received, self.peer) =
                    match socket.async_io(Interest::READABLE | Interest::ERROR, receive).await {
                        // An ICMP error about an earlier datagram.
                        Err(error) if error.kind() == ErrorKind::ConnectionRefused => continue,
                        received => received?,
                    };
                self.next = 0;
            }
            let peer = self.peer;
            let end = (self.next + self.received.segment.max(1)).min(self.received.count);
            let (now, bytes) = (Instant::now(), BytesMut::from(&self.input[self.next..end]));
            self.next = end;
            self.output.clear();
            let mut endpoint = lock(&self.shared.endpoint);
            match endpoint.handle(now, peer, None, None, bytes, &mut self.output) {
                Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                    drop(endpoint);
                    if let Some(route) = self.shared.routes().get(&handle) {
                        // A full queue drops the datagram.
                        let _ = route.try_send(event);
                    }
                }
                Some(DatagramEvent::NewConnection(incoming)) => {
                    let busy = self.shared.handshaking.load(Ordering::Relaxed) >= RETRY_THRESHOLD;
                    if busy && incoming.may_retry() && !incoming.remote_address_validated() {
                        let answer = endpoint.retry(incoming, &mut self.output);
                        drop(endpoint);
                        if let Ok(transmit) = answer {
                            self.shared.answer(&self.output[..transmit.size], peer);
                        }
                        continue;
                    }
                    return Ok(Incoming {
                        incoming: Some(incoming),
                        shared: self.shared.clone(),
                        peer,
                    });
                }
                Some(DatagramEvent::Response(transmit)) => {
                    self.shared.answer(&self.output[..transmit.size], peer);
                }
                None => {}
            }
        }
    }
}

/// Replaces the identity of an [`AsyncListener`].
pub struct IdentityRenewal {
    endpoint: SharedEndpoint,
    options: Options,
}

impl IdentityRenewal {
    /// Uses another certificate and key for connections from now on. Established ones continue.
    ///
    /// # Errors
    /// The certificate or key is invalid.
    pub fn replace(&self, identity: &Identity) -> Result<(), ChannelError> {
        let config = Arc::new(server_config(identity, &self.options)?);
        lock(&self.endpoint).set_server_config(Some(config));
        Ok(())
    }
}

/// A UE that begins a connection. If dropped, it gets no response.
pub struct Incoming {
    incoming: Option<quinn_proto::Incoming>,
    shared: Arc<Shared>,
    peer: SocketAddr,
}

/// Counts a handshake in progress.
struct Handshaking(Arc<Shared>);

impl Drop for Handshaking {
    fn drop(&mut self) {
        self.0.handshaking.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Incoming {
    /// Performs the handshake within `limit`.
    ///
    /// # Errors
    /// The UE does not trust the LMF's certificate, violates the protocol, or does not respond.
    pub(crate) async fn handshake(mut self, limit: Duration) -> Result<AsyncQuic, ChannelError> {
        let Some(incoming) = self.incoming.take() else { return Err(ChannelError::Cut) };
        let (shared, peer) = (self.shared.clone(), self.peer);
        shared.handshaking.fetch_add(1, Ordering::Relaxed);
        let _handshaking = Handshaking(shared.clone());
        let mut output = Vec::new();
        let accepted = lock(&shared.endpoint).accept(incoming, Instant::now(), &mut output, None);
        let (handle, connection) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                if let Some(transmit) = error.response {
                    shared.send_one(&output[..transmit.size], peer)?;
                }
                return Err(ChannelError::tls(error.cause));
            }
        };
        let session = Session::new(shared.endpoint.clone(), handle, connection, peer);
        let (events_tx, events) = mpsc::channel(QUEUE);
        shared.routes().insert(handle, events_tx.clone());
        let mut quic = AsyncQuic::new(
            Path::Shared { shared, peer, handle, events_tx, events },
            session,
            Vec::new(),
        );
        quic.handshake(limit).await?;
        Ok(quic)
    }

    /// The UE's address and port.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Refuses the connection (CONNECTION_REFUSED).
    pub fn refuse(mut self) {
        let Some(incoming) = self.incoming.take() else { return };
        let mut output = Vec::new();
        let transmit = lock(&self.shared.endpoint).refuse(incoming, &mut output);
        self.shared.answer(&output[..transmit.size], self.peer);
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if let Some(incoming) = self.incoming.take() {
            lock(&self.shared.endpoint).ignore(incoming);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sender without a port, which gets a Version Negotiation packet as an answer.
    #[tokio::test]
    async fn a_peer_that_cannot_be_answered_is_no_failure_of_the_listener() {
        let identity = Identity::self_signed(&["lmf.example"]).unwrap();
        let here: SocketAddr = ([127, 0, 0, 1], 0).into();
        let mut listener = AsyncListener::bind(here, &identity, &Options::default()).unwrap();
        let mut datagram = vec![0u8; 1200];
        // A long header of an unknown version, with two connection IDs of eight bytes.
        datagram[..6].copy_from_slice(&[0xc0, 0x1a, 0x2a, 0x3a, 0x4a, 8]);
        datagram[14] = 8;
        listener.input[..datagram.len()].copy_from_slice(&datagram);
        listener.received = udp::Received { count: datagram.len(), segment: datagram.len() };
        listener.peer = here;
        let accepted = tokio::time::timeout(Duration::from_millis(200), listener.accept()).await;
        assert!(accepted.is_err(), "{:?}", accepted.map(|accepted| accepted.err()));
        assert!(!listener.output.is_empty(), "the datagram has no answer");
    }
}
