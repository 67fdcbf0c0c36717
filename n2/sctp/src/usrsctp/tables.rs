//! What connects the library to the network: which socket and which peer belong to the ports it
//! knows.
//!
//! The library looks an association up by address and ports, and is slow with many addresses. So it
//! gets to know one address only, and everything else by ports of our own making: one local port
//! for each endpoint (hence one port on the wire can be open on several addresses) and, within an
//! endpoint, one remote port for each peer. The ports on the wire are put in on the way out and
//! taken out on the way in.
use super::core::Core;
use super::raw::RawSocket;
use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

/// Peers of an endpoint that are remembered without an association, to answer handshakes.
const UNPINNED_LIMIT: usize = 4096;
/// First of the inner ports.
const FIRST_PORT: u16 = 1024;

static TABLES: LazyLock<Mutex<Tables>> = LazyLock::new(Default::default);

/// The tables, locked. Never call the library while holding them: its callbacks lock them.
pub(super) fn lock() -> MutexGuard<'static, Tables> {
    TABLES.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Default)]
pub(super) struct Tables {
    endpoints: Ports<Endpoint>,
    sockets: HashMap<usize, Weak<Core>>,
    ready: Vec<usize>,
    last_socket: usize,
    associations: usize,
}

struct Endpoint {
    raw: Arc<RawSocket>,
    /// Port on the wire.
    port: u16,
    peers: Ports<Peer>,
    peer_ports: HashMap<Path, u16>,
    /// Inner ports of peers in order of appearance, to forget the oldest one without an
    /// association.
    unpinned: VecDeque<u16>,
}

struct Peer {
    path: Path,
    pins: u32,
}

/// Both ends of an association as they are on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Path {
    pub(super) local: IpAddr,
    pub(super) remote: SocketAddr,
}

/// Things known by an inner port; a freed port is used again as late as possible.
struct Ports<T> {
    used: HashMap<u16, T>,
    last: u16,
}

impl<T> Default for Ports<T> {
    fn default() -> Self {
        Ports { used: HashMap::new(), last: u16::MAX }
    }
}

impl<T> Ports<T> {
    fn insert(&mut self, thing: T) -> Option<u16> {
        let mut port = self.last;
        for _ in FIRST_PORT..=u16::MAX {
            port = port.checked_add(1).unwrap_or(FIRST_PORT);
            if let std::collections::hash_map::Entry::Vacant(free) = self.used.entry(port) {
                free.insert(thing);
                self.last = port;
                return Some(port);
            }
        }
        None
    }
}

impl Endpoint {
    /// The inner port of a peer, which is remembered.
    fn peer(&mut self, path: Path) -> Option<u16> {
        if let Some(port) = self.peer_ports.get(&path) {
            return Some(*port);
        }
        while self.unpinned.len() >= UNPINNED_LIMIT {
            let oldest = self.unpinned.pop_front()?;
            if self.peers.used.get(&oldest).is_some_and(|peer| peer.pins == 0) {
                self.forget(oldest);
            }
        }
        let port = self.peers.insert(Peer { path, pins: 0 })?;
        self.peer_ports.insert(path, port);
        self.unpinned.push_back(port);
        Some(port)
    }

    fn forget(&mut self, port: u16) {
        if let Some(peer) = self.peers.used.remove(&port) {
            self.peer_ports.remove(&peer.path);
        }
    }
}

impl Tables {
    /// An inner port for an endpoint that has `port` on the wire.
    pub(super) fn add_endpoint(&mut self, raw: Arc<RawSocket>, port: u16) -> Option<u16> {
        self.endpoints.insert(Endpoint {
            raw,
            port,
            peers: Ports::default(),
            peer_ports: HashMap::new(),
            unpinned: VecDeque::new(),
        })
    }

    pub(super) fn remove_endpoint(&mut self, endpoint: u16) -> Option<Arc<RawSocket>> {
        self.endpoints.used.remove(&endpoint).map(|endpoint| endpoint.raw)
    }

    /// The inner port of an endpoint's peer; `None` if there are too many.
    pub(super) fn peer(&mut self, endpoint: u16, path: Path) -> Option<u16> {
        self.endpoints.used.get_mut(&endpoint)?.peer(path)
    }

    /// Keeps a peer for an association.
    pub(super) fn pin(&mut self, endpoint: u16, peer: u16) -> Option<Path> {
        let peer = self.endpoints.used.get_mut(&endpoint)?.peers.used.get_mut(&peer)?;
        peer.pins = peer.pins.saturating_add(1);
        self.associations += 1;
        Some(peer.path)
    }

    /// An association with this peer has gone.
    pub(super) fn unpin(&mut self, endpoint: u16, peer: u16) {
        self.associations = self.associations.saturating_sub(1);
        let Some(endpoint) = self.endpoints.used.get_mut(&endpoint) else { return };
        let Some(known) = endpoint.peers.used.get_mut(&peer) else { return };
        known.pins = known.pins.saturating_sub(1);
        if known.pins == 0 {
            endpoint.forget(peer);
        }
    }

    pub(super) fn has_associations(&self) -> bool {
        self.associations > 0
    }

    /// A number for a socket by which the library tells that it is ready.
    pub(super) fn next_socket(&mut self) -> usize {
        self.last_socket += 1;
        self.last_socket
    }

    pub(super) fn add_socket(&mut self, number: usize, core: Weak<Core>) {
        self.sockets.insert(number, core);
    }

    pub(super) fn remove_socket(&mut self, number: usize) {
        self.sockets.remove(&number);
    }

    pub(super) fn take_ready(&mut self) -> Vec<Arc<Core>> {
        let sockets = &self.sockets;
        self.ready
            .drain(..)
            .filter_map(|number| sockets.get(&number).and_then(Weak::upgrade))
            .collect()
    }
}

/// The library has a packet to send. Runs inside the gate.
pub(super) fn output(packet: &mut [u8]) {
    let tables = lock();
    let Some((header, _)) = packet.split_first_chunk_mut::<12>() else { return };
    let [s1, s2, d1, d2, ..] = header;
    let Some(endpoint) = tables.endpoints.used.get(&u16::from_be_bytes([*s1, *s2])) else { return };
    let Some(peer) = endpoint.peers.used.get(&u16::from_be_bytes([*d1, *d2])) else { return };
    let path = peer.path;
    [*s1, *s2] = endpoint.port.to_be_bytes();
    [*d1, *d2] = path.remote.port().to_be_bytes();
    endpoint.raw.output(packet, (path.local, path.remote.ip()));
}

/// Something happened on a socket. Runs inside the gate.
pub(super) fn ready(number: usize) {
    let mut tables = lock();
    if !tables.ready.contains(&number) {
        tables.ready.push(number);
    }
}
