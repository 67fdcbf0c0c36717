//! Sessions by peer and by the peer's SEID or TEID. One table per peer, so that entries do not
//! repeat its address.
use martlet_pfcp::ie::FSeid;
use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv4Addr};

/// The address of the CP function's end of a session.
pub(super) fn cp_address(cp: &FSeid) -> IpAddr {
    cp.ipv4.map(IpAddr::V4).or(cp.ipv6.map(IpAddr::V6)).unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
}

/// Sessions by a number of a peer.
pub(super) struct ByPeer<K>(HashMap<IpAddr, HashMap<K, u64>>);

impl<K> Default for ByPeer<K> {
    fn default() -> Self {
        ByPeer(HashMap::new())
    }
}

impl<K: Eq + Hash> ByPeer<K> {
    pub fn get(&self, peer: IpAddr, key: &K) -> Option<u64> {
        self.0.get(&peer)?.get(key).copied()
    }

    pub fn insert(&mut self, peer: IpAddr, key: K, seid: u64) {
        self.0.entry(peer).or_default().insert(key, seid);
    }

    /// Returns the existing session, or inserts this one.
    pub fn get_or_insert(&mut self, peer: IpAddr, key: K, seid: u64) -> u64 {
        *self.0.entry(peer).or_default().entry(key).or_insert(seid)
    }

    pub fn remove(&mut self, peer: IpAddr, key: &K) {
        let Some(of_peer) = self.0.get_mut(&peer) else { return };
        of_peer.remove(key);
        if of_peer.is_empty() {
            self.0.remove(&peer);
        }
    }

    /// How many peers there are.
    pub fn peers(&self) -> usize {
        self.0.len()
    }

    /// Whether a peer has an entry.
    pub fn has_peer(&self, peer: IpAddr) -> bool {
        self.0.contains_key(&peer)
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.0.values().map(HashMap::len).sum()
    }
}
