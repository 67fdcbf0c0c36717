//! Rate limits: a number of events per second in all, and for each peer.
use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Peers whose share of a second is known.
const PEERS: usize = 1024;

/// Counts in windows of one second.
pub struct Limiter {
    max: u32,
    used: u32,
    since: Option<Instant>,
}

impl Limiter {
    /// At most this many events per second.
    pub fn per_second(max: u32) -> Self {
        Limiter { max, used: 0, since: None }
    }

    /// Counts an event; false if it exceeds the limit.
    pub fn allows(&mut self, now: Instant) -> bool {
        let fresh = self
            .since
            .is_none_or(|since| now.saturating_duration_since(since) >= Duration::from_secs(1));
        if fresh {
            (self.since, self.used) = (Some(now), 0);
        }
        let allowed = self.used < self.max;
        self.used += u32::from(allowed);
        allowed
    }
}

/// Limits each peer and all of them together, in windows of one second.
pub struct PeerLimiter {
    total: Limiter,
    each: u32,
    used: HashMap<IpAddr, u32>,
    since: Option<Instant>,
}

impl PeerLimiter {
    /// At most `total` events per second, and `each` of one peer.
    pub fn per_second(total: u32, each: u32) -> Self {
        PeerLimiter { total: Limiter::per_second(total), each, used: HashMap::new(), since: None }
    }

    /// Counts an event of a peer. Returns whether it is within both limits.
    pub fn allows(&mut self, peer: IpAddr, now: Instant) -> bool {
        let fresh = self
            .since
            .is_none_or(|since| now.saturating_duration_since(since) >= Duration::from_secs(1));
        if fresh {
            self.since = Some(now);
            self.used.clear();
        }
        if self.used.len() >= PEERS && !self.used.contains_key(&peer) {
            return false;
        }
        let used = self.used.entry(peer).or_default();
        let allowed = *used < self.each && self.total.allows(now);
        *used += u32::from(allowed);
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_peer_has_its_share() {
        let mut limiter = PeerLimiter::per_second(3, 2);
        let (start, one, two) = (Instant::now(), IpAddr::from([1; 4]), IpAddr::from([2; 4]));
        let allowed = [one, one, one, two, two].map(|peer| limiter.allows(peer, start));
        assert_eq!(allowed, [true, true, false, true, false]);
        assert!(limiter.allows(one, start + Duration::from_secs(1)));
    }

    #[test]
    fn a_second_has_its_share() {
        let mut limiter = Limiter::per_second(2);
        let start = Instant::now();
        let allowed: Vec<bool> = (0..3).map(|_| limiter.allows(start)).collect();
        assert_eq!(allowed, [true, true, false]);
        assert!(limiter.allows(start + Duration::from_secs(1)));
    }
}
