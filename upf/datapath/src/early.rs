//! Uplink packets that arrive before the path switch that admits their sender: a target gNB sends
//! as soon as the UE has arrived, and the SMF modifies the session a moment later. A bounded number
//! of packets waits for the path switch, for a bounded time, so that none is lost and no other
//! sender's packets are accepted.
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// How long a packet waits.
const WAIT: Duration = Duration::from_millis(500);
/// Packets that wait in all, for one session, and from one sender.
const MAX_ENTRIES: usize = 1024;
const MAX_OF_ONE: usize = 256;
/// Packets of one session from senders to which no session has a tunnel.
const MAX_OF_UNKNOWN: usize = 64;

/// A datagram that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlyPacket {
    /// The session of its tunnel.
    pub seid: u64,
    /// Its sender.
    pub from: SocketAddr,
    /// Our address.
    pub local: IpAddr,
    /// The GTP-U message.
    pub datagram: Vec<u8>,
    /// When it arrived.
    pub since: Instant,
}

/// The waiting packets of a datapath, in the order of their arrival.
#[derive(Debug, Default)]
pub struct EarlyPackets(VecDeque<EarlyPacket>);

impl EarlyPackets {
    /// Adds a packet. False if there is no room for it.
    pub fn push(&mut self, packet: EarlyPacket, is_peer: bool) -> bool {
        let of_session = self.0.iter().filter(|other| other.seid == packet.seid).count();
        let of_sender = self.0.iter().filter(|other| other.from.ip() == packet.from.ip()).count();
        let max = if is_peer { MAX_OF_ONE } else { MAX_OF_UNKNOWN };
        let fits = self.0.len() < MAX_ENTRIES && of_session < max && of_sender < MAX_OF_ONE;
        if fits {
            self.0.push_back(packet);
        }
        fits
    }

    /// Removes packets that have waited too long. Returns their sessions.
    pub fn expire(&mut self, now: Instant) -> Vec<u64> {
        let old = |packet: &EarlyPacket| now.saturating_duration_since(packet.since) >= WAIT;
        let mut expired = Vec::new();
        while self.0.front().is_some_and(old) {
            expired.extend(self.0.pop_front().map(|packet| packet.seid));
        }
        expired
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes those of a session.
    pub fn take(&mut self, seid: u64) -> Vec<EarlyPacket> {
        if self.0.iter().all(|packet| packet.seid != seid) {
            return Vec::new();
        }
        let (taken, rest) = std::mem::take(&mut self.0).into_iter().partition(|p| p.seid == seid);
        self.0 = rest;
        taken.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_wait_in_order_in_bounded_number_and_time() {
        let now = Instant::now();
        let packet = |seid, from: [u8; 4], since| EarlyPacket {
            seid,
            from: (from, 2152).into(),
            local: [127, 0, 0, 8].into(),
            datagram: vec![1],
            since,
        };
        let mut early = EarlyPackets::default();
        let (a, b) = ([10, 0, 0, 1], [10, 0, 0, 2]);
        assert_eq!((0..300).filter(|_| early.push(packet(1, a, now), true)).count(), 256);
        // One sender, or one session, cannot use the room of others.
        assert!(!early.push(packet(2, a, now), true) && !early.push(packet(1, b, now), true));
        let later = now + WAIT / 2;
        assert_eq!((0..300).filter(|_| early.push(packet(2, b, later), false)).count(), 64);
        assert_eq!(early.expire(now + WAIT).len(), 256);
        assert_eq!((early.take(1).len(), early.take(2).len()), (0, 64));
        assert!(early.is_empty());
    }
}
