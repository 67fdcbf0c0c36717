//! The network of Ethernet sessions of one data network (TS 23.501, 5.8.2.5.3): frames go from
//! session to session, and to a TAP device, by the addresses that were learned.
use super::lock::lock;
use super::netlink::Netlink;
use super::{netns, tun};
use martlet_upf_config::{EthernetConfig, UeToUe, UpfConfig, mac_address};
use martlet_upf_datapath::{InterfaceError, OpenError};
use nix::ifaddrs::getifaddrs;
use nix::net::if_::if_nametoindex;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// An address that was not seen for this time may be learned from another session (IEEE 802.1Q,
/// 8.8.3).
const AGE: Duration = Duration::from_secs(300);
/// Minimum interval between purges of old addresses.
const PURGE_INTERVAL: Duration = Duration::from_secs(1);
/// Stands for the device among the owners of addresses: no session has this SEID.
pub(super) const DEVICE: u64 = 0;
/// Limit of addresses behind the device.
const MAX_BEHIND_DEVICE: usize = 8192;

/// One such network, with sessions of a type.
pub(super) struct Lan<S> {
    /// The network instance.
    pub name: Vec<u8>,
    /// What happens to frames between UEs.
    pub ue_to_ue: UeToUe,
    /// The TAP device, if there is one.
    pub device: Option<File>,
    /// Limit of addresses of one session.
    max_addresses: usize,
    /// Addresses of the device and of gateways behind it, which no session gets.
    reserved: Vec<[u8; 6]>,
    members: Mutex<BTreeMap<u64, Arc<S>>>,
    learned: Mutex<LearnedAddresses>,
}

#[derive(Default)]
struct LearnedAddresses {
    /// The session that owns each address, and when it was last seen.
    owners: HashMap<[u8; 6], (u64, Instant)>,
    /// How many each session has.
    counts: HashMap<u64, usize>,
    /// When old ones were last purged.
    purged: Option<Instant>,
}

impl LearnedAddresses {
    fn forget(&mut self, mut is_expired: impl FnMut(u64, Instant) -> bool) {
        let counts = &mut self.counts;
        self.owners.retain(|_, (of, seen)| {
            let expires = is_expired(*of, *seen);
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
pub(super) fn open<S>(config: &UpfConfig) -> Result<Vec<Arc<Lan<S>>>, OpenError> {
    let one = |lan: &EthernetConfig| {
        let (device, own) = netns::within(config.n6.netns.as_deref(), || {
            let device = tun::create_tap(&lan.interface)?;
            // The kernel sends no packets of its own to the UEs' network.
            let _ = std::fs::write(
                format!("/proc/sys/net/ipv6/conf/{}/disable_ipv6", lan.interface),
                "1",
            );
            let failed = |source: std::io::Error| InterfaceError::SetUp {
                interface: lan.interface.clone(),
                source,
            };
            let index =
                if_nametoindex(lan.interface.as_str()).map_err(|error| failed(error.into()))?;
            let netlink = Netlink::open().map_err(failed)?;
            netlink.up(index, u32::from(config.n6.mtu)).map_err(failed)?;
            let own = address_of(&lan.interface).map_err(failed)?;
            Ok((device, own))
        })?;
        tracing::info!(interface = lan.interface, dnn = lan.dnn, "N6 interface for Ethernet up");
        let name = martlet_pfcp::ie::NetworkInstance::new(&lan.dnn).0;
        let ue_to_ue = config.ue_to_ue().of(Some(&name));
        let new = Lan::new(name, ue_to_ue, Some(device), config.kernel.link_addresses);
        let reserved = gateways_of(lan).chain(own).collect();
        Ok(Arc::new(Lan { reserved, ..new }))
    };
    config.n6.ethernet.iter().map(one).collect()
}

fn gateways_of(lan: &EthernetConfig) -> impl Iterator<Item = [u8; 6]> {
    lan.gateways.iter().filter_map(|text| mac_address(text))
}

/// The MAC address of an interface.
fn address_of(interface: &str) -> std::io::Result<Option<[u8; 6]>> {
    let mut all = getifaddrs()?.filter(|entry| entry.interface_name == interface);
    Ok(all.find_map(|entry| entry.address?.as_link_addr()?.addr()))
}

/// The networks without TAP devices.
#[cfg(any(test, feature = "testing"))]
pub(super) fn without_devices<S>(config: &UpfConfig) -> Vec<Arc<Lan<S>>> {
    let one = |lan: &EthernetConfig| {
        let name = martlet_pfcp::ie::NetworkInstance::new(&lan.dnn).0;
        let ue_to_ue = config.ue_to_ue().of(Some(&name));
        let new = Lan::new(name, ue_to_ue, None, config.kernel.link_addresses);
        Arc::new(Lan { reserved: gateways_of(lan).collect(), ..new })
    };
    config.n6.ethernet.iter().map(one).collect()
}

impl<S> Lan<S> {
    fn new(name: Vec<u8>, ue_to_ue: UeToUe, device: Option<File>, max_addresses: usize) -> Self {
        let (members, learned) = (Mutex::default(), Mutex::default());
        let reserved = Vec::new();
        Lan { name, ue_to_ue, device, max_addresses, reserved, members, learned }
    }

    /// Adds a session.
    pub fn join(&self, seid: u64, session: &Arc<S>) {
        lock(&self.members).insert(seid, session.clone());
    }

    /// Removes a session and its addresses.
    pub fn leave(&self, seid: u64) {
        lock(&self.members).remove(&seid);
        lock(&self.learned).forget(|of, _| of == seid);
    }

    /// Learns the source address of a session's frame. False if it belongs to another session, is
    /// reserved or a group address, or the limit is reached. A host behind the device may move to a
    /// session.
    pub fn learn(&self, source: [u8; 6], seid: u64, now: Instant) -> bool {
        !self.reserved.contains(&source) && self.learn_up_to(self.max_addresses, source, seid, now)
    }

    /// Learns the source address of a frame from the device. That of a session stays the session's,
    /// since a bridge may return its frames.
    pub fn learn_behind_device(&self, source: [u8; 6], now: Instant) {
        self.learn_up_to(MAX_BEHIND_DEVICE, source, DEVICE, now);
    }

    fn learn_up_to(&self, max: usize, source: [u8; 6], seid: u64, now: Instant) -> bool {
        if source[0] & 1 != 0 {
            return false;
        }
        let mut learned = lock(&self.learned);
        let has_room = learned.count(seid) < max;
        if let Some((of, seen)) = learned.owners.get_mut(&source) {
            let before = *of;
            let is_recent = now.saturating_duration_since(*seen) < AGE;
            let may_move = if before == DEVICE { has_room } else { !is_recent };
            if before != seid && !may_move {
                return false;
            }
            (*of, *seen) = (seid, now);
            if before != seid {
                *learned.counts.entry(seid).or_default() += 1;
                if let Some(count) = learned.counts.get_mut(&before) {
                    *count = count.saturating_sub(1);
                }
            }
            return true;
        }
        let waited = |since: Instant| now.saturating_duration_since(since) >= PURGE_INTERVAL;
        if learned.count(seid) >= max && learned.purged.is_none_or(waited) {
            learned.purged = Some(now);
            learned.forget(|_, seen| now.saturating_duration_since(seen) >= AGE);
        }
        if learned.count(seid) >= max {
            return false;
        }
        learned.owners.insert(source, (seid, now));
        *learned.counts.entry(seid).or_default() += 1;
        true
    }

    /// One session.
    pub fn member(&self, seid: u64) -> Option<Arc<S>> {
        lock(&self.members).get(&seid).cloned()
    }

    /// All sessions but one.
    pub fn members_except(&self, seid: Option<u64>) -> Vec<Arc<S>> {
        let members = lock(&self.members);
        let others = members.iter().filter(|(member, _)| Some(**member) != seid);
        others.map(|(_, session)| session.clone()).collect()
    }

    /// The session that has an address, or [`DEVICE`].
    pub fn owner(&self, address: [u8; 6]) -> Option<u64> {
        if self.reserved.contains(&address) {
            return Some(DEVICE);
        }
        lock(&self.learned).owners.get(&address).map(|(seid, _)| *seid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_one_sessions_until_it_is_old() {
        let lan = Lan::<()>::new(vec![], UeToUe::Allow, None, 2);
        let (now, a, b) = (Instant::now(), [2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
        assert!(
            lan.learn(a, 1, now) && lan.learn(b, 1, now) && !lan.learn([2, 0, 0, 0, 0, 3], 1, now)
        );
        assert!(!lan.learn(a, 2, now) && !lan.learn([1, 0, 0x5e, 0, 0, 1], 2, now));
        assert!(lan.learn(a, 2, now + AGE) && lan.owner(a) == Some(2));
        // One more after the old ones are removed.
        assert!(lan.learn([2, 0, 0, 0, 0, 3], 1, now + AGE) && lan.owner(b).is_some());
        lan.leave(2);
        assert_eq!((lan.owner(a), lan.owner(b)), (None, Some(1)));
    }

    #[test]
    fn no_session_gets_the_address_of_a_gateway() {
        let (gateway, now) = ([2, 0, 0, 0, 0, 9], Instant::now());
        let new = Lan::<()>::new(vec![], UeToUe::Allow, None, 2);
        let lan = Lan { reserved: vec![gateway], ..new };
        assert_eq!(lan.owner(gateway), Some(DEVICE));
        lan.learn_behind_device(gateway, now);
        for at in [now, now + AGE, now + 2 * AGE] {
            assert!(!lan.learn(gateway, 1, at) && lan.owner(gateway) == Some(DEVICE));
        }
    }

    #[test]
    fn no_session_gets_the_address_of_the_device() {
        martlet_upf_testing::in_namespace(|| {
            let mut config = UpfConfig::default();
            let (dnn, interface) = ("lan".into(), "lan0".into());
            let gateways = vec!["02:00:00:00:00:09".into()];
            config.n6.ethernet = vec![EthernetConfig { dnn, interface, gateways }];
            let lans = open::<()>(&config).expect("the network");
            let own = address_of("lan0").expect("the addresses").expect("its address");
            for reserved in [own, [2, 0, 0, 0, 0, 9]] {
                assert!(!lans[0].learn(reserved, 1, Instant::now()), "{reserved:02x?}");
            }
        });
    }

    #[test]
    fn a_host_behind_the_device_may_move_to_a_session_and_not_back_at_once() {
        let lan = Lan::<()>::new(vec![], UeToUe::Allow, None, 2);
        let (now, host) = (Instant::now(), [2, 0, 0, 0, 0, 1]);
        lan.learn_behind_device([1, 0, 0x5e, 0, 0, 1], now);
        assert_eq!(lan.owner([1, 0, 0x5e, 0, 0, 1]), None);
        lan.learn_behind_device(host, now);
        assert_eq!(lan.owner(host), Some(DEVICE));
        assert!(lan.learn(host, 1, now) && lan.owner(host) == Some(1));
        lan.learn_behind_device(host, now);
        assert_eq!(lan.owner(host), Some(1));
        lan.learn_behind_device(host, now + AGE);
        assert_eq!(lan.owner(host), Some(DEVICE));
    }
}
