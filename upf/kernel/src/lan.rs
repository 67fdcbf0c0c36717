//! The network of Ethernet sessions of one data network (TS 23.501, 5.8.2.5.3): frames go from
//! session to session, and to a TAP device, by the addresses that were learnt.
use super::egress::Egress;
use super::entry::Entry;
use super::forwarder::{Forwarder, lock};
use super::frame::{Frame, HEADROOM};
use super::netlink::Netlink;
use super::{netns, tun};
use martlet_upf_config::{UeToUe, UpfConfig};
use martlet_upf_datapath::DatapathError;
use martlet_upf_datapath::OpenError;
use martlet_upf_datapath::counters::DropReason;
use martlet_upf_rules::{Flow, Session, SessionKind};
use nix::net::if_::if_nametoindex;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// An address that was not seen for this time may be learned from another session (IEEE 802.1Q,
/// 8.8.3).
const AGE: Duration = Duration::from_secs(300);
/// Minimum interval between purges of old addresses.
const CLEANING: Duration = Duration::from_secs(1);

/// One such network.
pub(super) struct Lan {
    /// The network instance.
    name: Vec<u8>,
    /// What happens to frames between UEs.
    ue_to_ue: UeToUe,
    /// The TAP device, if there is one.
    pub device: Option<File>,
    /// Addresses that one session may have.
    most: usize,
    members: Mutex<BTreeMap<u64, Arc<Entry>>>,
    learnt: Mutex<LearnedNames>,
}

#[derive(Default)]
struct LearnedNames {
    /// The session that owns each address, and when it was last seen.
    owners: HashMap<[u8; 6], (u64, Instant)>,
    /// How many each session has.
    counts: HashMap<u64, usize>,
    /// When old ones were last looked for.
    cleaned: Option<Instant>,
}

impl LearnedNames {
    fn forget(&mut self, mut gone: impl FnMut(u64, Instant) -> bool) {
        let counts = &mut self.counts;
        self.owners.retain(|_, (of, seen)| {
            let expires = gone(*of, *seen);
            if let (true, Some(count)) = (expires, counts.get_mut(of)) {
                *count = count.saturating_sub(1);
            }
            !expires
        });
        counts.retain(|_, count| *count > 0);
    }

    fn count(&self, seid: u64) -> usize {
        self.counts.get(&seid).copied().unwrap_or(0)
    }
}

/// Creates the TAP devices.
pub(super) fn open(config: &UpfConfig) -> Result<Vec<Arc<Lan>>, OpenError> {
    let one = |lan: &martlet_upf_config::EthernetConfig| {
        let device = netns::within(config.n6.netns.as_deref(), || {
            let device = tun::create_tap(&lan.interface)?;
            // The device itself sends nothing of its own to the UEs' network.
            let _ = std::fs::write(
                format!("/proc/sys/net/ipv6/conf/{}/disable_ipv6", lan.interface),
                "1",
            );
            let failed = |error: std::io::Error| {
                OpenError::Interface(format!(
                    "the interface {} cannot be set up: {error}",
                    lan.interface
                ))
            };
            let index =
                if_nametoindex(lan.interface.as_str()).map_err(|error| failed(error.into()))?;
            let netlink = Netlink::open().map_err(failed)?;
            netlink.up(index, u32::from(config.n6.mtu)).map_err(failed)?;
            Ok(device)
        })?;
        tracing::info!(interface = lan.interface, dnn = lan.dnn, "N6 interface for Ethernet up");
        let name = martlet_pfcp::ie::NetworkInstance::new(&lan.dnn).0;
        let ue_to_ue = config.ue_to_ue().of(Some(&name));
        Ok(Arc::new(Lan::new(name, ue_to_ue, Some(device), config.kernel.link_addresses)))
    };
    config.n6.ethernet.iter().map(one).collect()
}

impl Lan {
    fn new(name: Vec<u8>, ue_to_ue: UeToUe, device: Option<File>, most: usize) -> Self {
        Lan { name, ue_to_ue, device, most, members: Mutex::default(), learnt: Mutex::default() }
    }

    pub fn join(&self, entry: &Arc<Entry>) {
        lock(&self.members).insert(entry.seid, entry.clone());
    }

    pub fn leave(&self, seid: u64) {
        lock(&self.members).remove(&seid);
        lock(&self.learnt).forget(|of, _| of == seid);
    }

    /// Learns a source address. False if it belongs to another session, is a group address, or the
    /// limit is reached.
    pub fn learn(&self, source: [u8; 6], seid: u64, now: Instant) -> bool {
        if source[0] & 1 != 0 {
            return false;
        }
        let mut learnt = lock(&self.learnt);
        if let Some((of, seen)) = learnt.owners.get_mut(&source) {
            let before = *of;
            if before != seid && now.saturating_duration_since(*seen) < AGE {
                return false;
            }
            (*of, *seen) = (seid, now);
            if before != seid {
                *learnt.counts.entry(seid).or_default() += 1;
                if let Some(count) = learnt.counts.get_mut(&before) {
                    *count = count.saturating_sub(1);
                }
            }
            return true;
        }
        let waited = |since: Instant| now.saturating_duration_since(since) >= CLEANING;
        if learnt.count(seid) >= self.most && learnt.cleaned.is_none_or(waited) {
            learnt.cleaned = Some(now);
            learnt.forget(|_, seen| now.saturating_duration_since(seen) >= AGE);
        }
        if learnt.count(seid) >= self.most {
            return false;
        }
        learnt.owners.insert(source, (seid, now));
        *learnt.counts.entry(seid).or_default() += 1;
        true
    }

    /// The session that has an address.
    fn owner(&self, address: [u8; 6]) -> Option<u64> {
        lock(&self.learnt).owners.get(&address).map(|(seid, _)| *seid)
    }
}

impl<O: Egress> Forwarder<O> {
    /// The network of an Ethernet session.
    pub(super) fn lan_of(&self, session: &Session) -> Result<Option<Arc<Lan>>, DatapathError> {
        if session.kind != SessionKind::Ethernet {
            return Ok(None);
        }
        let name = session.network().unwrap_or_default();
        let found = self.lans.iter().find(|lan| lan.name == name).cloned();
        found.map(Some).ok_or_else(|| {
            let name = String::from_utf8_lossy(name).into_owned();
            DatapathError::NoResources(format!(
                "{name:?} is not a network of Ethernet sessions: see upf.n6.ethernet"
            ))
        })
    }

    /// A frame from the TAP device.
    pub(super) fn take_from_lan(&self, lan: &Lan, frame: &Frame<'_>, now: Instant) {
        let Some(flow) = Flow::of_frame(frame.packet()) else {
            return self.counters.dropped(DropReason::Malformed);
        };
        self.to_lan(lan, None, frame, &flow, now);
    }

    /// Forwards a frame to the session that owns the address, else floods it. `from` is the source
    /// session or the device.
    pub(super) fn to_lan(
        &self,
        lan: &Lan,
        from: Option<u64>,
        frame: &Frame<'_>,
        flow: &Flow,
        now: Instant,
    ) {
        let Some(header) = &flow.ethernet else {
            return self.counters.dropped(DropReason::Malformed);
        };
        let owner = lan.owner(header.destination).filter(|_| !header.is_group());
        let members: Vec<Arc<Entry>> = {
            let members = lock(&lan.members);
            match owner {
                Some(owner) => members.get(&owner).cloned().into_iter().collect(),
                // A frame of the device to an unknown address may be for a UE that has not sent
                // yet.
                None => {
                    members.values().filter(|entry| Some(entry.seid) != from).cloned().collect()
                }
            }
        };
        // A session's frames to itself, or from one to another that is not to be switched here.
        let switched = self.limits.local_switching && lan.ue_to_ue == UeToUe::Allow;
        let local = from.is_none() || switched;
        if !local && lan.ue_to_ue == UeToUe::Deny && owner.is_some() {
            return self.counters.dropped(DropReason::UeToUe);
        }
        for entry in members.iter().filter(|entry| local && Some(entry.seid) != from) {
            let packet = frame.packet();
            let mut copy = vec![0; HEADROOM + packet.len()];
            copy[HEADROOM..].copy_from_slice(packet);
            self.to_ue(entry, &mut Frame::new(&mut copy, HEADROOM), flow, now);
        }
        let further = from.is_some() && (owner.is_none() || !local);
        if further && lan.device.is_some() && !self.perimeter.permits_frame(flow, frame.packet()) {
            return self.counters.dropped(DropReason::N6Isolation);
        }
        if let Some(mut device) = lan.device.as_ref().filter(|_| further)
            && device.write(frame.packet()).is_err()
        {
            self.counters.dropped(DropReason::N6);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_one_sessions_until_it_is_old() {
        let lan = Lan::new(vec![], UeToUe::Allow, None, 2);
        let (now, a, b) = (Instant::now(), [2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
        assert!(
            lan.learn(a, 1, now) && lan.learn(b, 1, now) && !lan.learn([2, 0, 0, 0, 0, 3], 1, now)
        );
        assert!(!lan.learn(a, 2, now) && !lan.learn([1, 0, 0x5e, 0, 0, 1], 2, now));
        assert!(lan.learn(a, 2, now + AGE) && lan.owner(a) == Some(2));
        // One more once the old ones are forgotten.
        assert!(lan.learn([2, 0, 0, 0, 0, 3], 1, now + AGE) && lan.owner(b).is_some());
        lan.leave(2);
        assert_eq!((lan.owner(a), lan.owner(b)), (None, Some(1)));
    }
}
