//! Sessions by the far ends of their tunnels, of which hardly any two have the same.
use super::by_peer::ByPeer;
use std::collections::{HashMap, HashSet, VecDeque};
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// A tunnel's far end: peer and TEID.
type End = (IpAddr, u32);

#[derive(Default)]
pub(super) struct Remote {
    first: ByPeer<u32>,
    /// Further sessions of an end.
    others: HashMap<End, Vec<u64>>,
    /// Peers that have lost their last tunnel since [`Remote::take_vacated`].
    vacated: Vec<IpAddr>,
}

impl Remote {
    pub fn insert(&mut self, end: End, seid: u64) {
        let first = self.first.get_or_insert(end.0, end.1, seid);
        if first != seid {
            let others = self.others.entry(end).or_default();
            if !others.contains(&seid) {
                others.push(seid);
            }
        }
    }

    pub fn remove(&mut self, end: End, seid: u64) {
        if let Some(others) = self.others.get_mut(&end) {
            others.retain(|other| *other != seid);
            if self.first.get(end.0, &end.1) == Some(seid)
                && let Some(next) = others.pop()
            {
                self.first.insert(end.0, end.1, next);
            }
            if others.is_empty() {
                self.others.remove(&end);
            }
        }
        if self.first.get(end.0, &end.1) == Some(seid) {
            self.first.remove(end.0, &end.1);
            if !self.first.has_peer(end.0) {
                self.vacated.push(end.0);
            }
        }
    }

    /// Peers that have lost their last tunnel since the last call; some may have one again.
    pub fn take_vacated(&mut self) -> Vec<IpAddr> {
        std::mem::take(&mut self.vacated)
    }

    /// How many peers have tunnels.
    pub fn peers(&self) -> usize {
        self.first.peers()
    }

    /// Whether a peer has a tunnel.
    pub fn has_peer(&self, peer: IpAddr) -> bool {
        self.first.has_peer(peer)
    }

    /// Sessions that send there.
    pub fn sessions(&self, end: End) -> Vec<u64> {
        let others = self.others.get(&end).into_iter().flatten().copied();
        self.first.get(end.0, &end.1).into_iter().chain(others).collect()
    }

    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.first.len() + self.others.len()
    }
}

/// Tunnels of sessions whose Error Indication was reported lately: a peer sends one per packet.
#[derive(Default)]
pub(super) struct ReportedErrors {
    tunnels: HashSet<(u64, End)>,
    order: VecDeque<(Instant, (u64, End))>,
}

impl ReportedErrors {
    /// Notes an Error Indication. Returns whether it is the first one within an interval.
    pub fn is_first(&mut self, seid: u64, end: End, now: Instant, interval: Duration) -> bool {
        let is_old = |at: Instant| now.saturating_duration_since(at) >= interval;
        while self.order.front().is_some_and(|(at, _)| is_old(*at)) {
            let Some((_, tunnel)) = self.order.pop_front() else { break };
            self.tunnels.remove(&tunnel);
        }
        let is_first = self.tunnels.insert((seid, end));
        if is_first {
            self.order.push_back((now, (seid, end)));
        }
        is_first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn the_index_matches_a_model(
            steps in proptest::collection::vec((any::<bool>(), 0u32..3, 0u64..4), 0..60)) {
            let (mut ours, mut theirs) = (Remote::default(), HashMap::<u32, BTreeSet<u64>>::new());
            let end = |teid| (IpAddr::from([127, 0, 0, 1]), teid);
            for (inserts, teid, seid) in steps {
                if inserts {
                    ours.insert(end(teid), seid);
                    theirs.entry(teid).or_default().insert(seid);
                } else {
                    ours.remove(end(teid), seid);
                    theirs.entry(teid).or_default().remove(&seid);
                }
                for teid in 0..3 {
                    let sessions: BTreeSet<u64> = ours.sessions(end(teid)).into_iter().collect();
                    prop_assert_eq!(sessions, theirs.get(&teid).cloned().unwrap_or_default());
                }
            }
        }
    }
}
