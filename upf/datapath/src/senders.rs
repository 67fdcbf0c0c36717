//! The gNBs from which a session's uplink packets are accepted.
use martlet_upf_rules::Session;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// How long packets of the previous gNB are accepted after a path switch: they are in flight.
pub const PREVIOUS: Duration = Duration::from_secs(1);

/// The gNBs of a session: those to which its downlink goes.
#[derive(Debug, Clone, Default)]
pub struct Senders {
    current: Box<[IpAddr]>,
    previous: Box<[IpAddr]>,
    until: Option<Instant>,
}

impl Senders {
    /// The rules of the session change. While it has no tunnel to a gNB, the last one stays.
    pub fn update(&mut self, session: &Session, now: Instant) {
        let peers: Box<[IpAddr]> = session.access_peers().into_iter().collect();
        if peers.is_empty() || peers == self.current {
            return;
        }
        let before = std::mem::replace(&mut self.current, peers);
        self.previous = before.iter().copied().filter(|gnb| !self.current.contains(gnb)).collect();
        self.until = Some(now + PREVIOUS);
    }

    /// Whether the session has had a tunnel to a gNB.
    pub fn are_known(&self) -> bool {
        !self.current.is_empty()
    }

    /// The accepted senders; the previous ones are accepted until this time.
    pub fn accepted(&self) -> impl Iterator<Item = (IpAddr, Option<Instant>)> + '_ {
        let current = self.current.iter().map(|gnb| (*gnb, None));
        current.chain(self.previous.iter().map(|gnb| (*gnb, self.until)))
    }

    /// Whether one of them has this address.
    pub fn has(&self, from: IpAddr, now: Instant) -> bool {
        self.current.contains(&from)
            || self.previous.contains(&from) && self.until.is_some_and(|until| now < until)
    }
}
