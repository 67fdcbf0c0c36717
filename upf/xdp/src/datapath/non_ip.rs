//! Ethernet and unstructured sessions, which programs pass to user space: tunnels to the socket,
//! downlink packets to the ring.
use super::Forwarder;
use super::packet_socket::PacketSocket;
use crate::loader::LINK_MAC;
use crate::loader::types::{rule, rule_cold, rule_flag};
use martlet_upf_datapath::OpenError;
use martlet_upf_datapath::{Change, DatapathError, Usage};
use martlet_upf_kernel::non_ip::{NonIpSessions, ToNetwork};
use martlet_upf_rules::{Session, SessionKind, UeAddress};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// The lookup keys of a session: its tunnels, and the IPv6 prefixes of its addresses.
#[derive(Debug, Default, Clone)]
struct LookupKeys {
    teids: BTreeSet<u32>,
    prefixes: BTreeSet<u64>,
}

/// The non-IP sessions, and their lookup keys.
pub(super) struct NonIpRules {
    non_ip: Arc<NonIpSessions>,
    lookup_keys: HashMap<u64, LookupKeys>,
    /// The rules that all their tunnels, and all their addresses, refer to.
    up: u32,
    down: u32,
}

/// Unstructured data of a UE is passed to the kernel from the programs' end of the link.
pub(super) fn to_network(frames: Arc<PacketSocket>, inner: u32) -> ToNetwork {
    Box::new(move |packet: &[u8]| {
        let frame = [&LINK_MAC[..], &LINK_MAC, &[0x86, 0xdd], packet].concat();
        frames.send(inner, &frame)
    })
}

impl LookupKeys {
    fn of(session: &Session) -> Self {
        let teids = session.teids().into_iter().collect();
        let addresses = session.pdrs.values().flat_map(|pdr| &pdr.ue);
        let prefixes = addresses.filter_map(|address| {
            if let UeAddress::V6(prefix) = address { Some(*prefix) } else { None }
        });
        // Frames have no address of the data network.
        let datagrams = session.kind == SessionKind::Unstructured;
        LookupKeys { teids, prefixes: prefixes.filter(|_| datagrams).collect() }
    }
}

impl NonIpRules {
    /// Allocates the rules that pass packets to the socket and to the ring buffer.
    pub fn open(forwarder: &Forwarder, non_ip: NonIpSessions) -> Result<Self, OpenError> {
        let state = &mut *forwarder.lock();
        let mut rule_of = |direction: u32| {
            let rule_slots = (state.rule_slots.take_other(), state.rest_slots.take(1));
            let (Some(at), Some(rest)) = rule_slots else {
                return Err(OpenError::Programs(
                    "the rule table is full: raise upf.xdp.rules".into(),
                ));
            };
            forwarder.programs.cold_rules.write(rest, rule_cold::default());
            let flags = rule_flag::RULE_USER_SPACE.0 | direction;
            forwarder
                .programs
                .rules
                .write(at, rule { flags, rest, mark: u32::MAX, ..rule::default() });
            Ok(at)
        };
        let (up, down) = (rule_of(rule_flag::RULE_UPLINK.0)?, rule_of(0)?);
        let non_ip = Arc::new(non_ip);
        let _ = forwarder.non_ip.set(non_ip.clone());
        Ok(NonIpRules { non_ip, lookup_keys: HashMap::new(), up, down })
    }

    /// The datapath of a session, if it is a non-IP one.
    pub fn of(&self, seid: u64) -> Option<&NonIpSessions> {
        self.lookup_keys.contains_key(&seid).then_some(&*self.non_ip)
    }

    /// All of them.
    pub fn all(&self) -> &NonIpSessions {
        &self.non_ip
    }

    /// See [`Datapath::apply`](martlet_upf_datapath::Datapath::apply).
    pub fn apply(
        &mut self,
        forwarder: &Forwarder,
        change: &Change<'_>,
    ) -> Result<(), DatapathError> {
        self.non_ip.apply(change)?;
        let now = LookupKeys::of(change.session);
        let before = self.lookup_keys.insert(change.session.seid, now.clone()).unwrap_or_default();
        // The lock guards these tables.
        let _state = forwarder.lock();
        let programs = &forwarder.programs;
        before.teids.difference(&now.teids).for_each(|teid| programs.clear_teid(*teid));
        before
            .prefixes
            .difference(&now.prefixes)
            .for_each(|prefix| programs.clear_ue6(prefix.to_be_bytes()));
        let teids =
            now.teids.difference(&before.teids).map(|teid| programs.set_teid(*teid, self.up));
        let prefixes = now.prefixes.difference(&before.prefixes);
        let prefixes = prefixes.map(|prefix| programs.set_ue6(prefix.to_be_bytes(), self.down));
        let set: Result<(), _> = teids.chain(prefixes).collect();
        set.map_err(|error| DatapathError::NoResources(error.to_string()))
    }

    /// See [`Datapath::remove`](martlet_upf_datapath::Datapath::remove); `None` for an IP session.
    pub fn remove(&mut self, forwarder: &Forwarder, seid: u64) -> Option<Vec<Usage>> {
        let LookupKeys { teids, prefixes } = self.lookup_keys.remove(&seid)?;
        let state = forwarder.lock();
        teids.iter().for_each(|teid| forwarder.programs.clear_teid(*teid));
        prefixes.iter().for_each(|prefix| forwarder.programs.clear_ue6(prefix.to_be_bytes()));
        drop(state);
        Some(self.non_ip.remove(seid))
    }
}
