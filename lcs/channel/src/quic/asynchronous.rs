//! QUIC on tokio: the connections of an LMF share one socket, and a UE has its own.

use super::session::{Session, SharedEndpoint, lock};
use super::transport::{endpoint_config, server_config};
use crate::asynchronous::GIVE_UP;
use crate::udp;
use crate::wait::until;
use crate::{AsyncChannel, ChannelError, Description, Identity, Options, Resumption};
use bytes::BytesMut;
use quinn_proto::{ClientConfig, ConnectionEvent, ConnectionHandle, DatagramEvent, Endpoint};
use socket2::SockRef;
use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::UdpSocket;
use tokio::sync::mpsc;

/// Datagrams of a connection that wait to be looked at: more than those of the largest message on a
/// path of small packets. What is more is lost, as on any path, and comes again.
const WAITING: usize = 256;
/// Handshakes under way from which on a UE has to show that its address is its own before anything
/// is kept for it (RFC 9000, 8.1.2).
const SHAKING: usize = 64;
/// How long an end that closes waits for what it sent to arrive.
const FLUSH: Duration = Duration::from_secs(2);
/// Octets of the largest datagram.
const DATAGRAM: usize = 65_536;

type Routes = Mutex<HashMap<ConnectionHandle, mpsc::Sender<ConnectionEvent>>>;

/// What the connections of an LMF share.
struct Shared {
    socket: UdpSocket,
    endpoint: SharedEndpoint,
    /// Where what comes for a connection goes.
    routes: Routes,
    /// Handshakes under way.
    shaking: AtomicUsize,
}

impl Shared {
    fn routes(&self) -> MutexGuard<'_, HashMap<ConnectionHandle, mpsc::Sender<ConnectionEvent>>> {
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, octets: &[u8], peer: SocketAddr) -> Result<(), ChannelError> {
        done(SockRef::from(&self.socket).send_to(octets, &peer.into()))
    }
}

/// A datagram that the kernel has no room for, or that nobody takes, is lost, as on any path: QUIC
/// repeats it, and gives up by itself.
fn done(sent: std::io::Result<usize>) -> Result<(), ChannelError> {
    match sent {
        Err(error)
            if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionRefused) =>
        {
            Err(error.into())
        }
        _ => Ok(()),
    }
}

/// Where the datagrams of a connection come from and go to.
enum Path {
    /// A UE's socket, connected to its LMF.
    Own(UdpSocket),
    Shared {
        shared: Arc<Shared>,
        peer: SocketAddr,
        handle: ConnectionHandle,
        tell: mpsc::Sender<ConnectionEvent>,
        events: mpsc::Receiver<ConnectionEvent>,
    },
}

impl Path {
    fn send(&self, octets: &[u8]) -> Result<(), ChannelError> {
        match self {
            Path::Own(socket) => done(SockRef::from(socket).send(octets)),
            Path::Shared { shared, peer, .. } => shared.send(octets, *peer),
        }
    }

    /// Nothing is lost where this is dropped.
    async fn next(&mut self, input: &mut [u8]) -> std::io::Result<Came> {
        match self {
            Path::Own(socket) => socket.recv(input).await.map(Came::Datagram),
            // It never ends: this has a sender, too.
            Path::Shared { events, .. } => Ok(events.recv().await.map_or(Came::Time, Came::Event)),
        }
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        if let Path::Shared { shared, handle, tell, .. } = self {
            let mut routes = shared.routes();
            // The handle may be another connection's by now.
            if routes.get(handle).is_some_and(|route| route.same_channel(tell)) {
                routes.remove(handle);
            }
        }
    }
}

enum Came {
    Datagram(usize),
    Event(ConnectionEvent),
    Time,
}

/// One end of a connection.
pub(crate) struct AsyncQuic {
    // Before the session, whose end lets its handle go to another connection.
    path: Path,
    session: Session,
    input: Vec<u8>,
    /// Since when something was written and nothing came.
    unanswered: Option<Instant>,
}

impl AsyncQuic {
    /// A UE's, over a socket that is connected to its LMF.
    pub(crate) async fn connect(
        socket: std::net::UdpSocket,
        config: ClientConfig,
        name: &str,
        options: &Options,
    ) -> Result<Self, ChannelError> {
        socket.set_nonblocking(true)?;
        let (to, socket) = (socket.peer_addr()?, UdpSocket::from_std(socket)?);
        let mut session =
            Session::connect(Instant::now(), to, name, config, endpoint_config(options)?)?;
        session.rouse(options.rouse);
        let mut quic = AsyncQuic::new(Path::Own(socket), session, vec![0; DATAGRAM]);
        quic.bring_up(options.timeout).await?;
        quic.session.open_stream();
        Ok(quic)
    }

    fn new(path: Path, session: Session, input: Vec<u8>) -> Self {
        AsyncQuic { path, session, input, unanswered: None }
    }

    async fn bring_up(&mut self, limit: Duration) -> Result<(), ChannelError> {
        let up = async {
            let AsyncQuic { path, session, .. } = self;
            session.turn(Instant::now(), &mut |octets| path.send(octets))?;
            while !self.session.is_up() {
                self.turn().await?;
            }
            Ok(())
        };
        tokio::time::timeout(limit, up).await.unwrap_or(Err(ChannelError::Timeout))
    }

    /// A datagram or a timer of the connection, whichever comes first. Nothing is lost where this
    /// is dropped.
    async fn turn(&mut self) -> Result<(), ChannelError> {
        let AsyncQuic { path, session, input, unanswered } = self;
        let given_up = unanswered.map(|since| since + GIVE_UP);
        let deadline = session.deadline().into_iter().chain(given_up).min();
        let came = tokio::select! {
            biased;
            came = path.next(input) => came,
            () = until(deadline) => Ok(Came::Time),
        };
        let (now, up) = (Instant::now(), session.is_up());
        let mut out = |octets: &[u8]| path.send(octets);
        match came {
            Ok(Came::Datagram(count)) => {
                *unanswered = None;
                session.datagram(now, &input[..count], &mut out)
            }
            Ok(Came::Event(event)) => {
                *unanswered = None;
                session.event(now, event, &mut out)
            }
            Ok(Came::Time) if given_up.is_some_and(|at| at <= now) => Err(ChannelError::Timeout),
            Ok(Came::Time) => session.timeout(now, &mut out).map(|_| ()),
            // Nobody is there. Later, anybody on the path could say so (RFC 9000, 14.2.1).
            Err(error) if error.kind() == ErrorKind::ConnectionRefused && up => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) async fn receive(&mut self, out: &mut Vec<u8>) -> Result<bool, ChannelError> {
        let before = out.len();
        loop {
            let AsyncQuic { path, session, .. } = self;
            session.read(Instant::now(), out, &mut |octets| path.send(octets))?;
            if out.len() > before {
                return Ok(true);
            }
            if self.session.is_over() {
                return Ok(false);
            }
            self.turn().await?;
        }
    }

    pub(crate) async fn send(&mut self, mut octets: &[u8]) -> Result<(), ChannelError> {
        while !octets.is_empty() {
            let AsyncQuic { path, session, unanswered, .. } = self;
            let now = Instant::now();
            // The LMF's side has its stream from the first octets of the UE on.
            let wrote = match session.has_stream() {
                true => session.write(now, octets, &mut |octets| path.send(octets))?,
                false => 0,
            };
            octets = &octets[wrote..];
            match wrote {
                0 => self.turn().await?,
                _ => _ = unanswered.get_or_insert(now),
            }
        }
        Ok(())
    }

    pub(crate) async fn close(mut self) {
        let flushed = async {
            let AsyncQuic { path, session, .. } = &mut self;
            let waits = session.finish(Instant::now(), &mut |octets| path.send(octets))?;
            while waits && !self.session.is_flushed() {
                let AsyncQuic { path, session, .. } = &mut self;
                session.read(Instant::now(), &mut Vec::new(), &mut |octets| path.send(octets))?;
                if !self.session.is_flushed() {
                    self.turn().await?;
                }
            }
            Ok::<(), ChannelError>(())
        };
        // The peer may have gone already.
        let _ = tokio::time::timeout(FLUSH, flushed).await;
        let AsyncQuic { path, session, .. } = &mut self;
        let _ = session.close(Instant::now(), &mut |octets| path.send(octets));
    }

    pub(crate) fn resumption(&self) -> Resumption {
        self.session.resumption()
    }

    pub(crate) fn describe(&self) -> Description {
        self.session.describe()
    }
}

/// Waits for QUIC connections of UEs, all on one socket.
pub struct AsyncListener {
    shared: Arc<Shared>,
    input: Vec<u8>,
    output: Vec<u8>,
}

impl AsyncListener {
    /// Begins to listen.
    ///
    /// # Errors
    /// The address is taken, or the identity cannot be used.
    pub fn bind(
        at: SocketAddr,
        identity: &Identity,
        options: &Options,
    ) -> Result<Self, ChannelError> {
        let config = Arc::new(server_config(identity, options)?);
        let socket = udp::bind(at)?;
        socket.set_nonblocking(true)?;
        let endpoint =
            Endpoint::new(Arc::new(endpoint_config(options)?), Some(config), false, None);
        let shared = Shared {
            socket: UdpSocket::from_std(socket)?,
            endpoint: Arc::new(Mutex::new(endpoint)),
            routes: Mutex::default(),
            shaking: AtomicUsize::new(0),
        };
        Ok(AsyncListener { shared: Arc::new(shared), input: vec![0; DATAGRAM], output: Vec::new() })
    }

    /// Where.
    ///
    /// # Errors
    /// The socket is no more.
    pub fn local_addr(&self) -> Result<SocketAddr, ChannelError> {
        Ok(self.shared.socket.local_addr()?)
    }

    /// How many connections there are, with those that come up or go.
    pub fn connections(&self) -> usize {
        self.shared.routes().len()
    }

    /// The next UE that begins a connection. What comes for the others goes to them from here, so
    /// that this has to be waited for all the time; nothing is lost where the wait is given up.
    ///
    /// # Errors
    /// The socket broke.
    pub async fn accept(&mut self) -> Result<Incoming, ChannelError> {
        loop {
            let (count, peer) = match self.shared.socket.recv_from(&mut self.input).await {
                // What was sent before did not reach somebody.
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => continue,
                received => received?,
            };
            let (now, octets) = (Instant::now(), BytesMut::from(&self.input[..count]));
            self.output.clear();
            let mut endpoint = lock(&self.shared.endpoint);
            match endpoint.handle(now, peer, None, None, octets, &mut self.output) {
                Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                    drop(endpoint);
                    if let Some(route) = self.shared.routes().get(&handle) {
                        // Where there is no room, it is lost.
                        let _ = route.try_send(event);
                    }
                }
                Some(DatagramEvent::NewConnection(incoming)) => {
                    let busy = self.shared.shaking.load(Ordering::Relaxed) >= SHAKING;
                    if busy && incoming.may_retry() && !incoming.remote_address_validated() {
                        let answer = endpoint.retry(incoming, &mut self.output);
                        drop(endpoint);
                        if let Ok(transmit) = answer {
                            self.shared.send(&self.output[..transmit.size], peer)?;
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
                    self.shared.send(&self.output[..transmit.size], peer)?
                }
                None => {}
            }
        }
    }
}

/// A UE that begins a connection. Dropped, it is not answered.
pub struct Incoming {
    incoming: Option<quinn_proto::Incoming>,
    shared: Arc<Shared>,
    peer: SocketAddr,
}

/// A handshake under way is counted.
struct Shaking(Arc<Shared>);

impl Drop for Shaking {
    fn drop(&mut self) {
        self.0.shaking.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Incoming {
    /// Bring the connection up, within `limit`.
    ///
    /// # Errors
    /// The UE does not believe that this is its LMF, says what is no TLS, or says nothing.
    pub async fn accept(mut self, limit: Duration) -> Result<AsyncChannel, ChannelError> {
        let Some(incoming) = self.incoming.take() else { return Err(ChannelError::Cut) };
        let (shared, peer) = (self.shared.clone(), self.peer);
        shared.shaking.fetch_add(1, Ordering::Relaxed);
        let _shaking = Shaking(shared.clone());
        let mut output = Vec::new();
        let accepted = lock(&shared.endpoint).accept(incoming, Instant::now(), &mut output, None);
        let (handle, connection) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                if let Some(transmit) = error.response {
                    shared.send(&output[..transmit.size], peer)?;
                }
                return Err(ChannelError::tls(error.cause));
            }
        };
        let session = Session::new(shared.endpoint.clone(), handle, connection, peer);
        let (tell, events) = mpsc::channel(WAITING);
        shared.routes().insert(handle, tell.clone());
        let mut quic = AsyncQuic::new(
            Path::Shared { shared, peer, handle, tell, events },
            session,
            Vec::new(),
        );
        quic.bring_up(limit).await?;
        Ok(quic.into())
    }

    /// Tell the UE that there is no room for it.
    pub fn refuse(mut self) {
        let Some(incoming) = self.incoming.take() else { return };
        let mut output = Vec::new();
        let transmit = lock(&self.shared.endpoint).refuse(incoming, &mut output);
        let _ = self.shared.send(&output[..transmit.size], self.peer);
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if let Some(incoming) = self.incoming.take() {
            lock(&self.shared.endpoint).ignore(incoming);
        }
    }
}
