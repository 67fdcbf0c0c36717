//! Sessions that programs pass to user space, tunnels to the socket and downlink packets to the
//! ring: Ethernet and unstructured ones, and IP sessions with rare rules ([`Session::is_rare`]). An
//! IP session that has had such a rule stays in user space.
use super::Forwarder;
use super::apply::bits_of;
use super::compile::LookupKey;
use super::packet_socket::PacketSocket;
use super::socket::teid_of;
use crate::loader::LINK_MAC;
use crate::loader::types::{rule, rule_cold, rule_flag};
use martlet_upf_config::UeToUe;
use martlet_upf_datapath::OpenError;
use martlet_upf_datapath::signalling::Reply;
use martlet_upf_datapath::{Change, DatapathError, PdrError, ResourceError, Usage};
use martlet_upf_kernel::frame::HEADROOM;
use martlet_upf_kernel::non_ip::{NonIpSessions, ToNetwork};
use martlet_upf_rules::{Prefix, Session, SessionKind, UeAddress};
use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

/// The lookup keys of a session: its tunnels, its addresses, and networks behind it.
#[derive(Debug, Default, Clone)]
struct LookupKeys {
    teids: BTreeSet<u32>,
    addresses: BTreeSet<Ipv4Addr>,
    prefixes: BTreeSet<u64>,
    routes: BTreeSet<Prefix>,
}

/// The non-IP sessions, and their lookup keys.
pub(super) struct NonIpRules {
    non_ip: Arc<NonIpSessions>,
    lookup_keys: HashMap<u64, LookupKeys>,
    /// The rule that all their tunnels refer to.
    up: u32,
    /// The rules that their addresses refer to, by [`UeToUe`] of their network.
    down: [u32; 3],
}

/// Packets of a UE are passed to the kernel from the programs' ends of the links: the default one,
/// then those of the network instances.
pub(super) fn to_network(frames: Arc<PacketSocket>, inner: Vec<u32>) -> ToNetwork {
    Box::new(move |packet: &[u8], instance: usize| {
        let end = inner.get(instance).copied().ok_or(std::io::ErrorKind::NotConnected)?;
        let kind: [u8; 2] = match packet.first().map(|first| first >> 4) {
            Some(4) => [8, 0],
            _ => [0x86, 0xdd],
        };
        let frame = [&LINK_MAC[..], &LINK_MAC, &kind, packet].concat();
        frames.send(end, &frame)
    })
}

impl LookupKeys {
    fn of(session: &Session) -> Self {
        let teids = session.teids().into_iter().collect();
        let mut keys = LookupKeys { teids, ..LookupKeys::default() };
        // Frames have no address of the data network.
        if session.kind == SessionKind::Ethernet {
            return keys;
        }
        for address in session.pdrs.values().flat_map(|pdr| &pdr.ue) {
            match address {
                UeAddress::V4(address) => drop(keys.addresses.insert(*address)),
                UeAddress::V6(prefix) => drop(keys.prefixes.insert(*prefix)),
            }
        }
        keys.routes = session.routes();
        keys
    }

    /// Those whose tables can be full.
    fn limited(&self) -> BTreeSet<LookupKey> {
        let prefixes = self.prefixes.iter().map(|prefix| LookupKey::Ue(UeAddress::V6(*prefix)));
        prefixes.chain(self.routes.iter().map(LookupKey::of_route)).collect()
    }
}

impl NonIpRules {
    /// Allocates the rules that pass packets to the socket and to the ring buffer.
    pub fn open(forwarder: &Forwarder, non_ip: NonIpSessions) -> Result<Self, OpenError> {
        let state = &mut *forwarder.lock();
        let mut rule_of = |direction: u32, ue_to_ue: UeToUe| {
            let rule_slots = (state.rule_slots.take_other(), state.rest_slots.take(1));
            let (Some(at), Some(rest)) = rule_slots else {
                return Err(OpenError::RuleTableFull);
            };
            let cold = rule_cold { ue_to_ue: bits_of(ue_to_ue), ..rule_cold::default() };
            forwarder.programs.cold_rules.write(rest, cold);
            let flags = rule_flag::RULE_USER_SPACE.0 | direction;
            forwarder
                .programs
                .rules
                .write(at, rule { flags, rest, mark: u32::MAX, ..rule::default() });
            Ok(at)
        };
        let up = rule_of(rule_flag::RULE_UPLINK.0, UeToUe::Allow)?;
        let down =
            [rule_of(0, UeToUe::Allow)?, rule_of(0, UeToUe::Hairpin)?, rule_of(0, UeToUe::Deny)?];
        let non_ip = Arc::new(non_ip);
        let _ = forwarder.non_ip.set(non_ip.clone());
        Ok(NonIpRules { non_ip, lookup_keys: HashMap::new(), up, down })
    }

    /// Whether a session may be carried here: the programs translate no addresses, and its tunnels
    /// and addresses are not those of a session that they carry.
    fn check(&self, forwarder: &Forwarder, change: &Change<'_>) -> Result<(), DatapathError> {
        let session = change.session;
        let first = session.pdrs.keys().next().copied().unwrap_or_default();
        let refuse = |why: PdrError| Err(DatapathError::Pdr { pdr: first, why });
        if session.kind == SessionKind::Ip && forwarder.nat.addresses > 0 {
            return refuse(PdrError::Translation);
        }
        let state = forwarder.lock();
        let other = |owner: Option<&u64>| owner.is_some_and(|owner| *owner != session.seid);
        let taken = session.teids().iter().any(|teid| other(state.by_teid.get(teid)))
            || session.ue_addresses().iter().any(|address| other(state.by_ue.get(address)));
        let taken = taken || self.has_keys_of(session);
        if taken {
            return refuse(PdrError::InUse);
        }
        let known = self.lookup_keys.get(&session.seid).map(LookupKeys::limited);
        let known = known.unwrap_or_default();
        let of_programs = state.sessions.get(&session.seid);
        let has = |key: &LookupKey| {
            known.contains(key)
                || of_programs.is_some_and(|entry| entry.lookup_keys.contains_key(key))
        };
        let keys = LookupKeys::of(session).limited().into_iter();
        forwarder.room_for(&state, keys.filter(|key| !has(key)))
    }

    /// Whether some session here has one of these tunnels or addresses.
    pub fn has_keys_of(&self, session: &Session) -> bool {
        if self.lookup_keys.is_empty() {
            return false;
        }
        let (teids, addresses) = (session.teids(), session.ue_addresses());
        let has = |keys: &LookupKeys| {
            teids.iter().any(|teid| keys.teids.contains(teid))
                || addresses.iter().any(|address| match address {
                    UeAddress::V4(address) => keys.addresses.contains(address),
                    UeAddress::V6(prefix) => keys.prefixes.contains(prefix),
                })
        };
        self.lookup_keys.iter().any(|(seid, keys)| *seid != session.seid && has(keys))
    }

    /// The datapath of a session, if it is carried here.
    pub fn of(&self, seid: u64) -> Option<&NonIpSessions> {
        self.lookup_keys.contains_key(&seid).then_some(&*self.non_ip)
    }

    /// Processes a datagram of GTP-U, received on `local`, if it is of a tunnel of these sessions;
    /// `None` if it is not. It starts at [`HEADROOM`] of the buffer.
    pub fn take(
        &self,
        buffer: &mut [u8],
        from: SocketAddr,
        local: IpAddr,
        now: Instant,
    ) -> Option<Reply> {
        let teid = teid_of(buffer.get(HEADROOM..).unwrap_or_default())?;
        let is_here = self.non_ip.has_tunnel(teid);
        is_here.then(|| self.non_ip.take(buffer, HEADROOM, from, local, now))
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
        self.check(forwarder, change)?;
        let seid = change.session.seid;
        self.non_ip.apply(change)?;
        // A session that the programs carried until now: its counters and buffer continue here.
        if !self.lookup_keys.contains_key(&seid)
            && let Some(handed) = forwarder.hand_over(seid)
        {
            forwarder.send_end_markers(change.end_markers);
            self.non_ip.take_over(seid, handed, change.drop_buffered);
        }
        let now = LookupKeys::of(change.session);
        let down = self.down[forwarder.ue_to_ue.of(change.session.network()) as usize];
        let before = self.lookup_keys.insert(seid, now.clone()).unwrap_or_default();
        // The lock guards these tables.
        let state = &mut *forwarder.lock();
        let (keys_before, keys_now) = (before.limited(), now.limited());
        keys_before.difference(&keys_now).for_each(|key| state.count_key(*key, false));
        keys_now.difference(&keys_before).for_each(|key| state.count_key(*key, true));
        let programs = &forwarder.programs;
        before.teids.difference(&now.teids).for_each(|teid| programs.clear_teid(*teid));
        before
            .prefixes
            .difference(&now.prefixes)
            .for_each(|prefix| programs.clear_ue6(prefix.to_be_bytes()));
        let gone = before.addresses.difference(&now.addresses);
        gone.for_each(|address| programs.clear_ue4(address.octets()));
        for route in before.routes.difference(&now.routes) {
            forwarder.enter_route(seid, *route, Some(down), None);
        }
        for route in now.routes.difference(&before.routes) {
            forwarder.enter_route(seid, *route, None, Some(down));
        }
        let addresses = now.addresses.difference(&before.addresses);
        let addresses = addresses.map(|address| programs.set_ue4(address.octets(), down));
        let teids =
            now.teids.difference(&before.teids).map(|teid| programs.set_teid(*teid, self.up));
        let prefixes = now.prefixes.difference(&before.prefixes);
        let prefixes = prefixes.map(|prefix| programs.set_ue6(prefix.to_be_bytes(), down));
        let set: Result<(), _> = teids.chain(prefixes).chain(addresses).collect();
        Ok(set.map_err(|error| ResourceError::Lookup(error.into()))?)
    }

    /// See [`Datapath::remove`](martlet_upf_datapath::Datapath::remove); `None` for an IP session.
    pub fn remove(&mut self, forwarder: &Forwarder, seid: u64) -> Option<Vec<Usage>> {
        let keys = self.lookup_keys.remove(&seid)?;
        let mut state = forwarder.lock();
        keys.limited().into_iter().for_each(|key| state.count_key(key, false));
        let LookupKeys { teids, addresses, prefixes, routes } = keys;
        teids.iter().for_each(|teid| forwarder.programs.clear_teid(*teid));
        prefixes.iter().for_each(|prefix| forwarder.programs.clear_ue6(prefix.to_be_bytes()));
        addresses.iter().for_each(|address| forwarder.programs.clear_ue4(address.octets()));
        for route in &routes {
            forwarder.enter_route(seid, *route, Some(self.down[0]), None);
        }
        drop(state);
        Some(self.non_ip.remove(seid))
    }
}
