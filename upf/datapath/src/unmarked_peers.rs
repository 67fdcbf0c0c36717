//! Peers that send G-PDUs without a QFI.
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

/// Peers that send G-PDUs without a QFI, and how many of these were taken.
#[derive(Debug, Default)]
pub struct UnmarkedPeers(Mutex<BTreeMap<IpAddr, u64>>);

impl UnmarkedPeers {
    /// Peers that are counted; packets of further ones are counted in total only.
    pub const MAX_PEERS: usize = 1024;

    /// Adds packets of a peer. The first ones are logged.
    pub fn add(&self, peer: IpAddr, packets: u64) {
        let mut peers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(counted) = peers.get_mut(&peer) {
            *counted += packets;
            return;
        }
        if peers.len() >= Self::MAX_PEERS {
            return;
        }
        peers.insert(peer, packets);
        drop(peers);
        tracing::warn!(
            %peer,
            "gnb sends no qfi: its uplink packets match the default qos flow"
        );
    }

    /// The peers.
    pub fn all(&self) -> BTreeMap<IpAddr, u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
