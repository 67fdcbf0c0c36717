//! Maps the addresses and ports on the wire to the inner ports that the library knows.
//!
//! The library looks associations up by address and port, and is slow with many addresses. It
//! therefore knows a single address, and inner ports of our own: a local one for each endpoint (so
//! one port on the wire can be open on several addresses) and, within an endpoint, a remote one
//! for each peer. Outgoing packets get the ports on the wire, incoming ones the inner ports.
use super::raw_socket::{Path, RawSocket};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

/// Peers of an endpoint that are stored without an association, to answer their handshakes.
const UNREFERENCED_LIMIT: usize = 4096;
/// First inner port.
const FIRST_PORT: u16 = 1024;

/// Chunk types of an association that exists (RFC 9260, 3.2).
const DATA: u8 = 0;
const SACK: u8 = 3;
const HEARTBEAT: u8 = 4;
const HEARTBEAT_ACK: u8 = 5;
const COOKIE_ACK: u8 = 11;

static TABLE: LazyLock<Mutex<AddressTable>> = LazyLock::new(Default::default);

/// The table, locked. Do not call the library meanwhile: its callbacks lock the table.
pub(super) fn lock() -> MutexGuard<'static, AddressTable> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Default)]
pub(super) struct AddressTable {
    endpoints: Ports<Endpoint>,
    associations: usize,
}

struct Endpoint {
    raw: Arc<RawSocket>,
    /// Port on the wire.
    port: u16,
    peers: Ports<Peer>,
    peer_ports: HashMap<Path, u16>,
    /// Inner ports of peers, oldest first, to remove the oldest one without an association.
    unreferenced: VecDeque<u16>,
}

struct Peer {
    path: Path,
    references: u32,
    /// The verification tag of packets to it; 0: none was sent.
    tag: u32,
}

/// Entries by inner port. A freed port is reused as late as possible.
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
    fn insert(&mut self, entry: T) -> Option<u16> {
        let mut port = self.last;
        for _ in FIRST_PORT..=u16::MAX {
            port = port.checked_add(1).unwrap_or(FIRST_PORT);
            if let std::collections::hash_map::Entry::Vacant(free) = self.used.entry(port) {
                free.insert(entry);
                self.last = port;
                return Some(port);
            }
        }
        None
    }
}

impl Endpoint {
    /// The inner port of a peer, which is added if it is new.
    fn peer(&mut self, path: Path) -> Option<u16> {
        if let Some(port) = self.peer_ports.get(&path) {
            return Some(*port);
        }
        while self.unreferenced.len() >= UNREFERENCED_LIMIT {
            let oldest = self.unreferenced.pop_front()?;
            if self.peers.used.get(&oldest).is_some_and(|peer| peer.references == 0) {
                self.remove(oldest);
            }
        }
        let port = self.peers.insert(Peer { path, references: 0, tag: 0 })?;
        self.peer_ports.insert(path, port);
        self.unreferenced.push_back(port);
        Some(port)
    }

    fn remove(&mut self, port: u16) {
        if let Some(peer) = self.peers.used.remove(&port) {
            self.peer_ports.remove(&peer.path);
        }
    }
}

impl AddressTable {
    /// An inner port for an endpoint that has `port` on the wire.
    pub(super) fn add_endpoint(&mut self, raw: Arc<RawSocket>, port: u16) -> Option<u16> {
        self.endpoints.insert(Endpoint {
            raw,
            port,
            peers: Ports::default(),
            peer_ports: HashMap::new(),
            unreferenced: VecDeque::new(),
        })
    }

    pub(super) fn remove_endpoint(&mut self, endpoint: u16) -> Option<Arc<RawSocket>> {
        self.endpoints.used.remove(&endpoint).map(|endpoint| endpoint.raw)
    }

    /// The inner port of an endpoint's peer; `None` if there are too many.
    pub(super) fn peer(&mut self, endpoint: u16, path: Path) -> Option<u16> {
        self.endpoints.used.get_mut(&endpoint)?.peer(path)
    }

    /// Adds a reference to a peer for an association.
    pub(super) fn reference(&mut self, endpoint: u16, peer: u16) -> Option<Path> {
        let peer = self.endpoints.used.get_mut(&endpoint)?.peers.used.get_mut(&peer)?;
        peer.references = peer.references.saturating_add(1);
        self.associations += 1;
        Some(peer.path)
    }

    /// Removes the reference of an ended association.
    pub(super) fn dereference(&mut self, endpoint: u16, peer: u16) {
        self.associations = self.associations.saturating_sub(1);
        let Some(endpoint) = self.endpoints.used.get_mut(&endpoint) else { return };
        let Some(known) = endpoint.peers.used.get_mut(&peer) else { return };
        known.references = known.references.saturating_sub(1);
        if known.references == 0 {
            endpoint.remove(peer);
        }
    }

    /// The verification tag of an endpoint's peer.
    pub(super) fn tag(&self, endpoint: u16, peer: u16) -> Option<u32> {
        let peer = self.endpoints.used.get(&endpoint)?.peers.used.get(&peer)?;
        Some(peer.tag).filter(|tag| *tag != 0)
    }

    pub(super) fn has_associations(&self) -> bool {
        self.associations > 0
    }
}

/// Callback of the library: it has a packet to send. The library's lock is held.
pub(super) fn output(packet: &mut [u8]) {
    let mut table = lock();
    let Some((header, chunks)) = packet.split_first_chunk_mut::<12>() else { return };
    let [s1, s2, d1, d2, tag @ .., _, _, _, _] = header;
    let Some(endpoint) = table.endpoints.used.get_mut(&u16::from_be_bytes([*s1, *s2])) else {
        return;
    };
    let Some(peer) = endpoint.peers.used.get_mut(&u16::from_be_bytes([*d1, *d2])) else { return };
    let path = peer.path;
    // The other chunks may carry the tag of an association that does not exist.
    if matches!(chunks.first(), Some(&(DATA | SACK | HEARTBEAT | HEARTBEAT_ACK | COOKIE_ACK))) {
        peer.tag = u32::from_be_bytes(*tag);
    }
    [*s1, *s2] = endpoint.port.to_be_bytes();
    [*d1, *d2] = path.remote.port().to_be_bytes();
    endpoint.raw.output(packet, (path.local, path.remote.ip()));
}
