//! Lookup of rules by tunnel, by address, and by network behind a UE; and the interfaces for
//! redirection.
use crate::loader::Programs;
use crate::loader::error::table_error;
use crate::loader::{XdpError, types};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use std::mem::offset_of;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::Ordering;

/// As in `bpf/classify.h`.
const CACHE_HASH: u32 = 0x2fda_d06b;

impl Programs {
    /// Sets the target of a tunnel: see `bpf/structs.h`.
    ///
    /// # Errors
    /// The table is full.
    pub fn set_teid(&self, teid: u32, lookup_key: u32) -> Result<(), XdpError> {
        self.by_teid.set(teid.to_be_bytes(), lookup_key)
    }

    /// The first slot for rules outside the cache.
    pub fn overflow_start(&self) -> u32 {
        self.cache_slots * 2 + 2
    }

    /// The two slots in which a rule is found by its TEID.
    pub fn cache_slots_of_teid(&self, teid: u32) -> [u32; 2] {
        self.cache_slots_of(teid, 2)
    }

    /// The same by the IPv4 address of its UE.
    pub fn cache_slots_of_ue4(&self, address: Ipv4Addr) -> [u32; 2] {
        self.cache_slots_of(address.to_bits(), self.cache_slots + 2)
    }

    /// As `cache_slot_of` in `bpf/classify.h`.
    fn cache_slots_of(&self, key: u32, first: u32) -> [u32; 2] {
        let hash = u64::from(key.wrapping_mul(CACHE_HASH));
        let slot = ((hash * u64::from(self.cache_slots)) >> 32) as u32 + first;
        [slot, slot ^ 1]
    }

    /// Makes the rule in one of the two slots of its TEID visible to packets.
    pub fn set_cached_teid(&self, slot: u32, teid: u32) {
        self.publish(slot, teid.to_be_bytes(), types::rule_flag::RULE_BY_TEID.0);
    }

    /// The same for the IPv4 address of its UE.
    pub fn set_cached_ue4(&self, slot: u32, address: [u8; 4]) {
        self.widen(address);
        self.publish(slot, address, 0);
    }

    fn publish(&self, slot: u32, key: [u8; 4], more: u32) {
        // The key and the flags after it are written by one store.
        let flags =
            self.rules.u32(slot, offset_of!(types::rule, flags)).load(Ordering::Relaxed) | more;
        let first = u64::from(flags) << 32 | u64::from(u32::from_ne_bytes(key));
        self.rules.u64(slot, 0).store(first, Ordering::Release);
    }

    /// Hides the rule in a slot from packets.
    pub fn clear_cached(&self, slot: u32) {
        self.rules.u32(slot, offset_of!(types::rule, key)).store(0, Ordering::Release);
    }

    /// Sets the target of a UE's IPv4 address.
    ///
    /// # Errors
    /// The table is full.
    pub fn set_ue4(&self, address: [u8; 4], lookup_key: u32) -> Result<(), XdpError> {
        self.widen(address);
        self.by_ue4.set(address, lookup_key)
    }

    /// The range only grows: it saves lookups, and has no other effect.
    fn widen(&self, address: [u8; 4]) {
        let value = u32::from_be_bytes(address);
        self.globals
            .u32(0, offset_of!(types::globals, ue4_high))
            .fetch_max(value, Ordering::Relaxed);
        self.low().fetch_min(value, Ordering::Relaxed);
    }

    /// Sets the target of a UE's 64-bit IPv6 prefix.
    ///
    /// # Errors
    /// The table is full.
    pub fn set_ue6(&self, prefix: [u8; 8], lookup_key: u32) -> Result<(), XdpError> {
        set("by_ue6", &self.by_ue6, &prefix, lookup_key)
    }

    /// Removes a tunnel.
    pub fn clear_teid(&self, teid: u32) {
        self.by_teid.clear(teid.to_be_bytes());
    }

    /// Removes an address.
    pub fn clear_ue4(&self, address: [u8; 4]) {
        self.by_ue4.clear(address);
    }

    /// Removes a prefix.
    pub fn clear_ue6(&self, prefix: [u8; 8]) {
        let _ = self.by_ue6.delete(&prefix);
    }

    /// Sets the target of a network behind a UE, given by address and prefix length. `known`: it
    /// has a target already.
    ///
    /// # Errors
    /// The table is full.
    pub fn set_route(
        &self,
        network: IpAddr,
        length: u8,
        lookup_key: u32,
        known: bool,
    ) -> Result<(), XdpError> {
        let (map, key) = self.route(network, length);
        set("routes", map, &key, lookup_key)?;
        if !known {
            self.globals.u32(0, offset_of!(types::globals, routes)).fetch_add(1, Ordering::Release);
        }
        Ok(())
    }

    /// Removes the network.
    pub fn clear_route(&self, network: IpAddr, length: u8) {
        let (map, key) = self.route(network, length);
        if map.delete(&key).is_ok() {
            self.globals.u32(0, offset_of!(types::globals, routes)).fetch_sub(1, Ordering::Release);
        }
    }

    fn route(&self, network: IpAddr, length: u8) -> (&MapHandle, Vec<u8>) {
        let (map, bytes) = match network {
            IpAddr::V4(ip) => (&self.routes[0], ip.octets().to_vec()),
            IpAddr::V6(ip) => (&self.routes[1], ip.octets().to_vec()),
        };
        (map, [&u32::from(length).to_ne_bytes()[..], &bytes].concat())
    }

    /// Allows redirection to an interface.
    ///
    /// # Errors
    /// At the limit of interfaces.
    pub fn allow_port(&self, ifindex: u32) -> Result<(), XdpError> {
        set("ports", &self.ports, &ifindex.to_ne_bytes(), 1)
    }

    fn low(&self) -> &std::sync::atomic::AtomicU32 {
        self.globals.u32(0, offset_of!(types::globals, ue4_low))
    }
}

fn set(name: &'static str, map: &MapHandle, key: &[u8], value: u32) -> Result<(), XdpError> {
    map.update(key, &value.to_ne_bytes(), MapFlags::ANY).map_err(|error| table_error(name, error))
}
