//! Packets without a checksum.
//!
//! The kernel's SCTP leaves the CRC32c to the interface where that offers to compute it. Loopback
//! and virtual interfaces offer it and compute nothing, since the packet stays in the memory of
//! this machine: it arrives with the checksum 0. Such packets are accepted, and only these: those
//! from an address of this machine, or to the address of a virtual interface.
use crate::ffi::interfaces;
use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long the list of local addresses is used.
const VALIDITY: Duration = Duration::from_secs(5);
/// Peers that are remembered.
const MAX_ENTRIES: usize = 1024;

static PEERS: Mutex<BTreeSet<IpAddr>> = Mutex::new(BTreeSet::new());

/// The local addresses, as last read.
#[derive(Default)]
pub(super) struct LocalAddresses(Mutex<Option<(Instant, HashMap<IpAddr, bool>)>>);

impl LocalAddresses {
    /// Whether a packet between these addresses may have no checksum.
    pub(super) fn explain_missing(
        &self,
        local: IpAddr,
        remote: IpAddr,
        socket: BorrowedFd<'_>,
    ) -> bool {
        // All of 127.0.0.0/8 is local, and no packet from a wire has such an address.
        if local.is_loopback() || remote.is_loopback() {
            return true;
        }
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let addresses = match last.take() {
            Some((at, addresses)) if at.elapsed() < VALIDITY => &last.insert((at, addresses)).1,
            _ => &last.insert((Instant::now(), interfaces::local_addresses(socket))).1,
        };
        addresses.contains_key(&remote) || addresses.get(&local).copied().unwrap_or_default()
    }
}

/// Remembers a peer whose packets have no checksum, and logs the first one.
pub(super) fn accepted(peer: IpAddr) {
    let mut peers = PEERS.lock().unwrap_or_else(PoisonError::into_inner);
    if peers.len() < MAX_ENTRIES && peers.insert(peer) {
        tracing::info!(
            %peer,
            "SCTP packets without a checksum accepted: the peer's stack leaves it to an interface \
             of this machine"
        );
    }
}

/// Logs a packet without a checksum that is dropped, at most once a second.
pub(super) fn dropped(peer: IpAddr) {
    static LAST: Mutex<Option<Instant>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if last.is_none_or(|at| at.elapsed() >= Duration::from_secs(1)) {
        *last = Some(Instant::now());
        tracing::warn!(
            %peer,
            "SCTP packet without a checksum dropped; if the peer's interface offloads it: ethtool \
             -K INTERFACE tx-checksum-sctp off"
        );
    }
}

/// Whether packets of a peer were accepted without a checksum.
pub(crate) fn is_known(peer: IpAddr) -> bool {
    PEERS.lock().unwrap_or_else(PoisonError::into_inner).contains(&peer)
}
