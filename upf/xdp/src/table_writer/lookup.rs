//! Lookup keys in the BPF maps: the rule cache, the cells and the framed routes.
use super::allocation::Allocation;
use super::compile::{KeyTable, LookupKey, Plan};
use super::filters;
use super::state::State;
use super::{Forwarder, lock};
use crate::loader::types::{self, rule_flag};
use martlet_upf_datapath::{DatapathError, InterfaceError, ResourceError};
use martlet_upf_kernel::netlink::Netlink;
use martlet_upf_kernel::netns;
use martlet_upf_rules::{Prefix, UeAddress};
use std::net::Ipv4Addr;

/// Target bit of a candidate list; equal to `bpf/structs.h`.
pub(super) const LIST: u32 = 0x8000_0000;
/// Target bit of a rule in the cache; used by user space only.
pub(super) const CACHED: u32 = 0x4000_0000;

impl Forwarder {
    /// Whether the tables have room for new keys.
    pub(super) fn room_for(
        &self,
        state: &State,
        keys: impl Iterator<Item = LookupKey>,
    ) -> Result<(), DatapathError> {
        let mut used = state.used_keys;
        for table in keys.filter_map(KeyTable::of) {
            used[table as usize] += 1;
            if used[table as usize] > self.limits.sessions {
                return Err(ResourceError::LookupFull { table: table.name() }.into());
            }
        }
        Ok(())
    }

    /// Allocates a cache slot for a rule that is the only target of a key.
    pub(super) fn cache_rule(
        &self,
        state: &mut State,
        plan: &Plan,
        n: usize,
    ) -> Option<(LookupKey, u32)> {
        let alone = |list: &[(usize, Vec<filters::Compiled>)]| {
            matches!(list, [(m, f)] if *m == n
            && f.is_empty())
        };
        plan.lookup_keys.iter().filter(|(_, list)| alone(list)).find_map(|(lookup_key, _)| {
            let slot = state.rule_slots.take_cached(self.cache_slots_of(*lookup_key)?)?;
            Some((*lookup_key, slot))
        })
    }

    /// Allocates a cache slot for a list, if one is free.
    pub(super) fn cache_list(
        &self,
        state: &mut State,
        lookup_key: LookupKey,
        first: u32,
        allocation: &mut Allocation,
    ) -> Option<u32> {
        let slot = state.rule_slots.take_cached(self.cache_slots_of(lookup_key)?)?;
        let flags = rule_flag::RULE_LIST.0;
        self.programs
            .rules
            .write(slot, types::rule { flags, rest: first, mark: u32::MAX, ..Default::default() });
        allocation.lists.push(slot);
        Some(slot)
    }

    /// The two cache slots of a key, if it has any.
    pub(super) fn cache_slots_of(&self, lookup_key: LookupKey) -> Option<[u32; 2]> {
        match lookup_key {
            // 0 stands for none.
            LookupKey::Teid(0) | LookupKey::Ue(UeAddress::V4(Ipv4Addr::UNSPECIFIED)) => None,
            LookupKey::Teid(teid) => Some(self.programs.cache_slots_of_teid(teid)),
            LookupKey::Ue(UeAddress::V4(address)) => {
                Some(self.programs.cache_slots_of_ue4(address))
            }
            LookupKey::Ue(UeAddress::V6(_)) | LookupKey::Route4(..) | LookupKey::Route6(..) => None,
        }
    }

    /// Whether a cache slot of a TEID is free.
    pub fn has_cache_slot(&self, teid: u32) -> bool {
        let slots = self.cache_slots_of(LookupKey::Teid(teid));
        slots.is_some_and(|slots| self.lock().rule_slots.has_cache_slot(slots))
    }

    /// Switches a lookup key from the target `before` to another one or to none: the new entry is
    /// written before the old one is removed.
    pub(super) fn enter(
        &self,
        state: &mut State,
        seid: u64,
        lookup_key: LookupKey,
        before: Option<u32>,
        leads_to: Option<u32>,
    ) {
        let programs = &self.programs;
        match (lookup_key, leads_to) {
            (LookupKey::Teid(teid), Some(_)) => drop(state.by_teid.insert(teid, seid)),
            (LookupKey::Teid(teid), None) => drop(state.by_teid.remove(&teid)),
            (LookupKey::Ue(address), Some(_)) => drop(state.by_ue.insert(address, seid)),
            (LookupKey::Ue(address), None) => drop(state.by_ue.remove(&address)),
            (route, Some(_)) => drop(state.by_route.insert(route, seid)),
            (route, None) => drop(state.by_route.remove(&route)),
        }
        if before.is_some() != leads_to.is_some() {
            state.count_key(lookup_key, leads_to.is_some());
        }
        if let Some(route) = lookup_key.route() {
            return self.enter_route(seid, route, before, leads_to);
        }
        let outcome = match (lookup_key, leads_to) {
            (_, None) => Ok(()),
            (LookupKey::Teid(teid), Some(to)) if to & LIST == 0 && to & CACHED != 0 => {
                programs.set_cached_teid(to & !CACHED, teid);
                Ok(())
            }
            (LookupKey::Ue(UeAddress::V4(address)), Some(to))
                if to & LIST == 0 && to & CACHED != 0 =>
            {
                programs.set_cached_ue4(to & !CACHED, address.octets());
                Ok(())
            }
            (LookupKey::Teid(teid), Some(to)) => programs.set_teid(teid, to),
            (LookupKey::Ue(UeAddress::V4(address)), Some(to)) => {
                programs.set_ue4(address.octets(), to)
            }
            (LookupKey::Ue(UeAddress::V6(prefix)), Some(to)) => {
                programs.set_ue6(prefix.to_be_bytes(), to)
            }
            (LookupKey::Route4(..) | LookupKey::Route6(..), Some(_)) => Ok(()),
        };
        if let Err(error) = outcome {
            tracing::error!(seid, %error, "lookup key not written");
        }
        let is_cached = |to: u32| to & LIST == 0 && to & CACHED != 0;
        match before {
            Some(slot) if is_cached(slot) => programs.clear_cached(slot & !CACHED),
            // An entry with another target has already replaced it.
            Some(_) if leads_to.is_some_and(|to| !is_cached(to)) => {}
            Some(_) => match lookup_key {
                LookupKey::Teid(teid) => programs.clear_teid(teid),
                LookupKey::Ue(UeAddress::V4(address)) => programs.clear_ue4(address.octets()),
                LookupKey::Ue(UeAddress::V6(prefix)) => programs.clear_ue6(prefix.to_be_bytes()),
                LookupKey::Route4(..) | LookupKey::Route6(..) => {}
            },
            None => {}
        }
    }

    /// The same for a network behind a UE, which the system routes to N6 meanwhile.
    pub(super) fn enter_route(
        &self,
        seid: u64,
        route: Prefix,
        before: Option<u32>,
        leads_to: Option<u32>,
    ) {
        match leads_to {
            Some(to) => {
                if let Err(error) =
                    self.programs.set_route(route.network, route.length, to, before.is_some())
                {
                    tracing::error!(seid, %error, "lookup key not written");
                }
            }
            None => self.programs.clear_route(route.network, route.length),
        }
        if before.is_some() == leads_to.is_some() {
            return;
        }
        let Some((netns, outer, mtu)) = &self.n6 else { return };
        lock(&self.left).routes.retain(|(left, _)| *left != route);
        let done = netns::within(netns.as_deref(), || {
            let netlink = Netlink::open().map_err(InterfaceError::Route)?;
            let mtu = leads_to.map(|_| *mtu);
            let set = netlink.route(*outer, route.network, route.length, mtu, mtu.is_some());
            Ok(set.map_err(InterfaceError::Route)?)
        });
        if let Err(error) = done {
            let here = leads_to.is_some();
            tracing::warn!(
                network = %route.network, length = route.length, here, %error,
                "framed route not set"
            );
        }
    }

    /// Removes addresses and routes of an earlier process, which its programs no longer need: of
    /// pools that are no longer configured, and of sessions that were not restored.
    pub(super) fn remove_left(&self) {
        // Meanwhile no session adds a route.
        let _state = self.lock();
        let left = std::mem::take(&mut *lock(&self.left));
        let Some((netns, outer, _)) = &self.n6 else { return };
        if left.routes.is_empty() && left.addresses.is_empty() {
            return;
        }
        let done = netns::within(netns.as_deref(), || {
            let netlink = Netlink::open().map_err(InterfaceError::Route)?;
            for (route, metric) in &left.routes {
                if let Err(error) = netlink.remove_route(*outer, *route, *metric) {
                    let (network, length) = (route.network, route.length);
                    tracing::warn!(%network, length, %error, "former route not removed");
                }
            }
            for (address, prefix) in &left.addresses {
                if let Err(error) = netlink.remove_address(*outer, *address, *prefix) {
                    tracing::warn!(%address, prefix, %error, "former address not removed");
                }
            }
            Ok(())
        });
        match done {
            Ok(()) => tracing::info!(
                routes = left.routes.len(),
                addresses = left.addresses.len(),
                "routes and addresses of an earlier process removed"
            ),
            Err(error) => tracing::warn!(%error, "routes of an earlier process not removed"),
        }
    }
}
