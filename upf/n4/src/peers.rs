//! The nodes that may be SMFs, and the peers of N3 that the datapath knows.
use super::{Moment, N4};
use crate::metrics;
use martlet_pfcp::ie::Interface;
use martlet_upf_datapath::Datapath;
use martlet_upf_rules::{Prefix, Session, Tunnel};
use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

/// How long a peer of N3 stays known after its last tunnel: packets of a UE that has left its gNB
/// are still in flight, and data that it forwards to the next one.
const HOLD: Duration = Duration::from_secs(10);

/// The default addresses of SMFs: this machine.
pub(super) fn loopback() -> Vec<Prefix> {
    vec![
        Prefix::of(Ipv4Addr::LOCALHOST.into(), 8),
        Prefix { network: Ipv6Addr::LOCALHOST.into(), length: 128 },
    ]
}

/// Adds the peers of a session to the datapath, before its rules send to them.
pub(super) fn introduce(
    known: &mut HashSet<IpAddr>,
    session: &Session,
    datapath: &mut dyn Datapath,
) {
    let tunnels = session.fars.values().filter_map(|far| far.tunnel);
    let new: Vec<(IpAddr, bool)> = tunnels
        .filter(|tunnel| known.insert(tunnel.peer))
        .map(|tunnel| (tunnel.peer, true))
        .collect();
    if !new.is_empty() {
        datapath.set_peers(&new);
    }
}

impl N4 {
    /// Whether a sender is one of the configured SMFs. At a loopback address it also has their
    /// port: any user of the machine can send from the address, but a port belongs to one process.
    pub(super) fn is_allowed(&self, from: SocketAddr) -> bool {
        self.settings.allow.iter().any(|network| network.contains(from.ip()))
            && (!from.ip().is_loopback() || from.port() == self.settings.peer_port)
    }

    /// Counts and logs new tunnels to the access whose far end another session has, too. A gNB, or
    /// the CU-UP of several gNBs, has a TEID for each session. So the other session has left the
    /// gNB, which the SMF does not know yet, or a gNB names the tunnel of another one, to which it
    /// redirects its UE's packets. The UPF cannot tell these apart, so that it accepts both.
    pub(super) fn report_shared_tunnels(&self, old: Option<&Session>, session: &Session) {
        let had = |tunnel: Tunnel| {
            old.is_some_and(|old| old.fars.values().any(|far| far.tunnel == Some(tunnel)))
        };
        let to_access =
            session.fars.values().filter(|far| far.destination == Some(Interface::Access));
        for tunnel in to_access.filter_map(|far| far.tunnel).filter(|tunnel| !had(*tunnel)) {
            let sessions = self.remote.sessions((tunnel.peer, tunnel.teid));
            let Some(other) = sessions.into_iter().find(|seid| *seid != session.seid) else {
                continue;
            };
            metrics::N4_SHARED_TUNNELS.inc();
            if let Some(suppressed) = martlet_log_limit::line("shared_tunnel", tunnel.peer) {
                tracing::warn!(
                    seid = session.seid, other, gnb = %tunnel.peer, teid = tunnel.teid, suppressed,
                    "two sessions have one tunnel to the access: check the gNB if it repeats"
                );
            }
        }
    }

    /// Schedules the end of peers without a tunnel: each is held from the loss of its last one on.
    pub(super) fn schedule_lost_peers(&mut self, now: Moment) {
        let due = now.instant + HOLD;
        let vacated = self.remote.take_vacated();
        self.leaving.extend(vacated.into_iter().map(|peer| (peer, due)));
        // Peers that were added for rejected rules have lost no tunnel.
        if self.leaving.is_empty() && self.known_peers.len() > self.remote.peers() {
            let unused = self.known_peers.iter().filter(|peer| !self.remote.has_peer(**peer));
            self.leaving.extend(unused.map(|peer| (*peer, due)));
        }
        if self.peers_due.is_none() {
            self.peers_due = self.leaving.values().min().copied();
        }
    }

    /// Removes the peers whose time has expired.
    pub(super) fn forget_lost_peers(&mut self, now: Instant) {
        if self.peers_due.is_none_or(|due| due > now) {
            return;
        }
        let (remote, known) = (&self.remote, &mut self.known_peers);
        let mut lost = Vec::new();
        self.leaving.retain(|peer, due| {
            if *due <= now && !remote.has_peer(*peer) && known.remove(peer) {
                lost.push((*peer, false));
            }
            *due > now
        });
        self.peers_due = self.leaving.values().min().copied();
        if !lost.is_empty() {
            self.datapath.set_peers(&lost);
        }
    }
}
