//! IP address pools of data networks. A released address is assigned again as late as possible.
use crate::config::{
    DnnConfig, Ipv4Network, Ipv6Network, PoolError, parse_ipv4, parse_ipv6, range_of_ipv4,
    range_of_ipv6,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard};

/// The IP addresses of a session. Field names are part of the stored format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Addresses {
    pub ipv4: Option<Ipv4Addr>,
    /// The /64 prefix: upper half of its addresses.
    pub prefix: Option<u64>,
}

impl Addresses {
    /// First address of the IPv6 prefix.
    pub fn ipv6(&self) -> Option<Ipv6Addr> {
        self.prefix.map(|prefix| Ipv6Addr::from(u128::from(prefix) << 64))
    }

    /// Whether there is no address.
    pub fn is_empty(&self) -> bool {
        *self == Addresses::default()
    }

    /// Whether both have the same IPv4 address, or the same prefix.
    pub fn overlap(&self, other: &Addresses) -> bool {
        self.ipv4.is_some() && self.ipv4 == other.ipv4
            || self.prefix.is_some() && self.prefix == other.prefix
    }

    /// Those that `other` does not have.
    pub fn without(&self, other: &Addresses) -> Addresses {
        Addresses {
            ipv4: self.ipv4.filter(|ipv4| other.ipv4 != Some(*ipv4)),
            prefix: self.prefix.filter(|prefix| other.prefix != Some(*prefix)),
        }
    }
}

impl std::fmt::Display for Addresses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.ipv4, self.ipv6()) {
            (Some(ipv4), Some(ipv6)) => write!(f, "{ipv4}, {ipv6}/64"),
            (Some(ipv4), None) => write!(f, "{ipv4}"),
            (None, Some(ipv6)) => write!(f, "{ipv6}/64"),
            (None, None) => f.write_str("none"),
        }
    }
}

/// Addresses that a killed process may have assigned without storing them.
const UNSTORED: u64 = 64;

struct Pool {
    /// First and last address that is assigned.
    first: u64,
    last: u64,
    /// First and last address that only static addresses are of.
    reserved: Option<(u64, u64)>,
    /// The next address that was never assigned.
    next: u64,
    /// Released addresses, the oldest first: the first and the last one of each run.
    released: VecDeque<(u64, u64)>,
    used: HashSet<u64>,
    /// Those in use that are static ones of the sessions that have them.
    fixed: HashSet<u64>,
    /// Static addresses in use that are also among the released ones.
    queued: HashSet<u64>,
}

impl Pool {
    fn new(first: u64, last: u64) -> Self {
        Pool {
            first,
            last,
            reserved: None,
            next: first,
            released: VecDeque::new(),
            used: HashSet::new(),
            fixed: HashSet::new(),
            queued: HashSet::new(),
        }
    }

    fn of_ipv4(network: Ipv4Network) -> Self {
        let (network, broadcast) = range_of_ipv4(network);
        // The first address is the gateway's.
        Pool::new(network + 2, broadcast - 1)
    }

    /// A pool of /64 prefixes, each as the upper half of its addresses.
    fn of_ipv6(network: Ipv6Network) -> Self {
        let (network, last) = range_of_ipv6(network);
        // The first prefix is the gateway's.
        Pool::new(network + 1, last)
    }

    /// Reserves a range for static addresses.
    fn reserving(mut self, range: Option<(u64, u64)>) -> Self {
        self.reserved = range;
        self
    }

    /// The last address of the reserved range that has an address.
    fn end_of_reserved(&self, address: u64) -> Option<u64> {
        let (first, last) = self.reserved?;
        (first..=last).contains(&address).then_some(last)
    }

    fn allocate(&mut self) -> Option<u64> {
        loop {
            let address = match self.next <= self.last {
                true => {
                    if let Some(end) = self.end_of_reserved(self.next) {
                        self.next = end.saturating_add(1);
                        continue;
                    }
                    self.next += 1;
                    self.next - 1
                }
                false => self.pop_released()?,
            };
            // It may be in use as a static address.
            if self.used.insert(address) {
                return Some(address);
            }
            self.queued.remove(&address);
        }
    }

    /// Takes the address that was released first.
    fn pop_released(&mut self) -> Option<u64> {
        loop {
            let (first, last) = self.released.pop_front()?;
            let end = self.end_of_reserved(first);
            let taken = end.unwrap_or(first);
            if taken < last {
                self.released.push_front((taken + 1, last));
            }
            if end.is_none() {
                return Some(first);
            }
        }
    }

    fn allocate_static(&mut self, address: u64) -> bool {
        let is_free = self.take(address);
        if is_free {
            self.fixed.insert(address);
        }
        is_free
    }

    /// Takes an address that is free.
    fn take(&mut self, address: u64) -> bool {
        let is_free = (self.first..=self.last).contains(&address) && self.used.insert(address);
        if is_free && address < self.next {
            self.queued.insert(address);
        }
        is_free
    }

    /// Marks the address of a restored session as in use. Skips addresses after it, which may be
    /// assigned to sessions that were not stored.
    fn mark_used(&mut self, address: u64) -> bool {
        if !self.take(address) {
            return false;
        }
        if self.end_of_reserved(address).is_some() {
            return true;
        }
        let next =
            self.next.max(address.saturating_add(1 + UNSTORED)).min(self.last.saturating_add(1));
        let skipped = [(self.next, address), (self.next.max(address.saturating_add(1)), next)];
        let skipped = skipped.into_iter().filter(|(first, end)| first < end);
        self.released.extend(skipped.map(|(first, end)| (first, end - 1)));
        self.next = next;
        true
    }

    fn release(&mut self, address: u64) {
        self.fixed.remove(&address);
        let is_missing = self.used.remove(&address) && !self.queued.remove(&address);
        if is_missing && address < self.next && self.end_of_reserved(address).is_none() {
            self.released.push_back((address, address));
        }
    }
}

/// The pools of one data network.
#[derive(Default)]
struct Network {
    ipv4: Option<Pool>,
    ipv6: Option<Pool>,
}

/// The pools of all data networks.
pub struct Pools {
    networks: Mutex<HashMap<String, Network>>,
    /// Data network and addresses of sessions that other SMFs of the set have, by reference.
    retained: Mutex<BTreeMap<u64, (String, Addresses)>>,
}

impl Pools {
    /// Creates the configured pools.
    ///
    /// # Errors
    /// A pool is not a valid network.
    pub fn new(dnns: &[DnnConfig]) -> Result<Self, PoolError> {
        let one = |dnn: &DnnConfig| {
            let ipv4 = |text: &str| (!text.is_empty()).then(|| parse_ipv4(text)).transpose();
            let ipv6 = |text: &str| (!text.is_empty()).then(|| parse_ipv6(text)).transpose();
            let reserved = ipv4(&dnn.static_pool)?.map(range_of_ipv4);
            let reserved6 = ipv6(&dnn.static_pool6)?.map(range_of_ipv6);
            let network = Network {
                ipv4: ipv4(&dnn.pool)?.map(|pool| Pool::of_ipv4(pool).reserving(reserved)),
                ipv6: ipv6(&dnn.pool6)?.map(|pool| Pool::of_ipv6(pool).reserving(reserved6)),
            };
            Ok((dnn.name.to_ascii_lowercase(), network))
        };
        let networks = Mutex::new(dnns.iter().map(one).collect::<Result<_, PoolError>>()?);
        Ok(Pools { networks, retained: Mutex::default() })
    }

    fn pools(&self) -> MutexGuard<'_, HashMap<String, Network>> {
        self.networks.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn retained_addresses(&self) -> MutexGuard<'_, BTreeMap<u64, (String, Addresses)>> {
        self.retained.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Whether a data network has IPv4 and IPv6 addresses.
    pub fn families(&self, dnn: &str) -> (bool, bool) {
        let pools = self.pools();
        let network = pools.get(&dnn.to_ascii_lowercase());
        network.map_or((false, false), |network| (network.ipv4.is_some(), network.ipv6.is_some()))
    }

    /// Allocates an IPv4 address: the subscriber's static one if there is one. `None` if it, or
    /// every address, is in use.
    pub fn allocate_ipv4(&self, dnn: &str, static_address: Option<Ipv4Addr>) -> Option<Ipv4Addr> {
        let mut pools = self.pools();
        let pool = pools.get_mut(&dnn.to_ascii_lowercase())?.ipv4.as_mut()?;
        match static_address {
            Some(address) => pool.allocate_static(u32::from(address).into()).then_some(address),
            None => pool.allocate().map(|address| Ipv4Addr::from(address as u32)),
        }
    }

    /// Allocates a /64 prefix, returned as the upper half of its addresses: the one of the
    /// subscriber's static address if there is one.
    pub fn allocate_ipv6(&self, dnn: &str, static_address: Option<Ipv6Addr>) -> Option<u64> {
        let mut pools = self.pools();
        let pool = pools.get_mut(&dnn.to_ascii_lowercase())?.ipv6.as_mut()?;
        match static_address.map(|address| (u128::from(address) >> 64) as u64) {
            Some(prefix) => pool.allocate_static(prefix).then_some(prefix),
            None => pool.allocate(),
        }
    }

    /// Whether one of these addresses is in use as a dynamic one.
    pub fn has_dynamic(&self, dnn: &str, addresses: &Addresses) -> bool {
        let pools = self.pools();
        let Some(network) = pools.get(&dnn.to_ascii_lowercase()) else { return false };
        let has = |pool: &Option<Pool>, address: Option<u64>| {
            pool.as_ref().zip(address).is_some_and(|(pool, address)| {
                pool.used.contains(&address) && !pool.fixed.contains(&address)
            })
        };
        has(&network.ipv4, addresses.ipv4.map(|ipv4| u32::from(ipv4).into()))
            || has(&network.ipv6, addresses.prefix)
    }

    /// Marks the addresses of a restored session as in use, all or none. Returns `false` if one is
    /// not in a pool, or in use.
    pub fn mark_used(&self, dnn: &str, addresses: &Addresses) -> bool {
        let mut pools = self.pools();
        let Some(network) = pools.get_mut(&dnn.to_ascii_lowercase()) else { return false };
        if let Some(ipv4) = addresses.ipv4
            && !network.ipv4.as_mut().is_some_and(|pool| pool.mark_used(u32::from(ipv4).into()))
        {
            return false;
        }
        if let Some(prefix) = addresses.prefix
            && !network.ipv6.as_mut().is_some_and(|pool| pool.mark_used(prefix))
        {
            if let (Some(pool), Some(ipv4)) = (&mut network.ipv4, addresses.ipv4) {
                pool.release(u32::from(ipv4).into());
            }
            return false;
        }
        true
    }

    /// Marks addresses of a restored session, which are in use, as its static ones.
    pub fn mark_static(&self, dnn: &str, addresses: &Addresses) {
        let mut pools = self.pools();
        let Some(network) = pools.get_mut(&dnn.to_ascii_lowercase()) else { return };
        if let (Some(pool), Some(ipv4)) = (&mut network.ipv4, addresses.ipv4) {
            pool.fixed.insert(u32::from(ipv4).into());
        }
        if let (Some(pool), Some(prefix)) = (&mut network.ipv6, addresses.prefix) {
            pool.fixed.insert(prefix);
        }
    }

    /// Releases addresses.
    pub fn release(&self, dnn: &str, addresses: &Addresses) {
        let mut pools = self.pools();
        let Some(network) = pools.get_mut(&dnn.to_ascii_lowercase()) else { return };
        if let (Some(pool), Some(ipv4)) = (&mut network.ipv4, addresses.ipv4) {
            pool.release(u32::from(ipv4).into());
        }
        if let (Some(pool), Some(prefix)) = (&mut network.ipv6, addresses.prefix) {
            pool.release(prefix);
        }
    }

    /// Retains the addresses of a session, which are in use, while another SMF of the set has it.
    pub fn retain(&self, reference: u64, dnn: &str, addresses: &Addresses) {
        self.retained_addresses().insert(reference, (dnn.to_string(), *addresses));
    }

    /// This SMF has the session again. Returns whether its addresses were retained, and therefore
    /// are in use.
    pub fn regain(&self, reference: u64) -> bool {
        self.retained_addresses().remove(&reference).is_some()
    }

    /// The first `max` sessions after a reference whose addresses are retained.
    pub fn retained(&self, after: u64, max: usize) -> Vec<u64> {
        let retained = self.retained_addresses();
        let references = retained.range((Bound::Excluded(after), Bound::Unbounded));
        references.take(max).map(|(reference, _)| *reference).collect()
    }

    /// Releases the addresses of a session that has ended at another SMF of the set.
    pub fn release_retained(&self, reference: u64) {
        let retained = self.retained_addresses().remove(&reference);
        if let Some((dnn, addresses)) = retained {
            self.release(&dnn, &addresses);
        }
    }

    /// For `martlet status`.
    pub fn status(&self) -> serde_json::Value {
        let pools = self.pools();
        let of = |pool: &Pool| {
            let size = pool.last - pool.first + 1;
            serde_json::json!({"used": pool.used.len(), "of": size})
        };
        let one = |(name, network): (&String, &Network)| {
            let mut shown =
                network.ipv4.as_ref().map_or_else(|| serde_json::json!({"used": 0, "of": 0}), of);
            if let Some(pool) = &network.ipv6 {
                shown["ipv6"] = of(pool);
            }
            (name.clone(), shown)
        };
        serde_json::Value::Object(pools.iter().map(one).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pools(pool: &str) -> Pools {
        Pools::new(&[DnnConfig {
            name: "Internet".into(),
            pool: pool.into(),
            pool6: "fd45::/60".into(),
            ..Default::default()
        }])
        .unwrap()
    }

    #[test]
    fn each_address_is_assigned_once_and_released_ones_in_their_order() {
        let pools = pools("10.0.0.0/29");
        let all: Vec<_> = std::iter::from_fn(|| pools.allocate_ipv4("internet", None)).collect();
        let expected: Vec<Ipv4Addr> = (2..=6).map(|n| Ipv4Addr::new(10, 0, 0, n)).collect();
        assert_eq!(all, expected);
        for address in [all[3], all[1]] {
            pools.release("internet", &Addresses { ipv4: Some(address), ..Default::default() });
        }
        assert_eq!(pools.allocate_ipv4("internet", None), Some(all[3]));
        assert_eq!(pools.allocate_ipv4("internet", None), Some(all[1]));
        assert_eq!(pools.allocate_ipv4("internet", None), None);
    }

    #[test]
    fn a_restored_address_is_dynamic_unless_it_is_marked_as_static() {
        let network = |name: &str| DnnConfig {
            name: name.into(),
            pool: "10.0.0.0/24".into(),
            pool6: "fd45::/60".into(),
            ..Default::default()
        };
        let pools = Pools::new(&[network("internet"), network("ims")]).unwrap();
        let ipv4 = Some(Ipv4Addr::new(10, 0, 0, 9));
        let restored = Addresses { ipv4, prefix: Some(0xfd45_0000_0000_0002) };
        let fixed = Addresses { ipv4, prefix: None };
        assert!(pools.mark_used("internet", &restored));
        assert!(pools.has_dynamic("internet", &fixed) && !pools.has_dynamic("ims", &fixed));
        pools.mark_static("Internet", &fixed);
        assert!(!pools.has_dynamic("internet", &fixed));
        assert!(pools.has_dynamic("internet", &restored), "the prefix");
        // The next session has it as a dynamic one.
        pools.release("internet", &restored);
        assert!(pools.mark_used("internet", &fixed) && pools.has_dynamic("internet", &fixed));
    }

    #[test]
    fn addresses_of_both_ip_versions_are_compared_each() {
        let of = |ipv4: Option<u8>, prefix| {
            let ipv4 = ipv4.map(|last| Ipv4Addr::new(10, 0, 0, last));
            Addresses { ipv4, prefix }
        };
        let both = of(Some(7), Some(8));
        assert!(both.overlap(&of(Some(7), None)) && both.overlap(&of(Some(1), Some(8))));
        assert!(!both.overlap(&of(Some(8), Some(7))));
        assert!(!of(None, None).overlap(&of(None, None)));
        assert_eq!(both.without(&of(Some(7), None)), of(None, Some(8)));
        assert_eq!(both.without(&of(Some(1), Some(8))), of(Some(7), None));
        assert!(both.without(&both).is_empty() && !both.is_empty());
    }

    #[test]
    fn a_static_address_is_assigned_once() {
        let pools = pools("10.0.0.0/29");
        let fixed = Ipv4Addr::new(10, 0, 0, 3);
        assert_eq!(pools.allocate_ipv4("internet", Some(fixed)), Some(fixed));
        assert_eq!(pools.allocate_ipv4("internet", Some(fixed)), None);
        assert_eq!(pools.allocate_ipv4("internet", Some(Ipv4Addr::new(10, 0, 1, 3))), None);
        let others: Vec<_> = std::iter::from_fn(|| pools.allocate_ipv4("internet", None)).collect();
        assert!(!others.contains(&fixed) && others.len() == 4);
        pools.release("internet", &Addresses { ipv4: Some(fixed), ..Default::default() });
        assert_eq!(pools.allocate_ipv4("internet", None), Some(fixed));
    }

    #[test]
    fn reserved_addresses_are_assigned_as_static_ones_only() {
        let pools = Pools::new(&[DnnConfig {
            name: "internet".into(),
            pool: "10.0.0.0/28".into(),
            static_pool: "10.0.0.4/30".into(),
            pool6: "fd45::/60".into(),
            static_pool6: "fd45:0:0:8::/61".into(),
            ..Default::default()
        }])
        .unwrap();
        let v4 = |n| Ipv4Addr::new(10, 0, 0, n);
        let of = |ipv4| Addresses { ipv4: Some(ipv4), ..Addresses::default() };
        let all = || -> Vec<u8> {
            let all = std::iter::from_fn(|| pools.allocate_ipv4("internet", None));
            all.map(|address| address.octets()[3]).collect()
        };
        assert_eq!(pools.allocate_ipv4("internet", Some(v4(5))), Some(v4(5)));
        assert_eq!(all(), [2, 3, 8, 9, 10, 11, 12, 13, 14]);
        // A released one stays reserved, whether it was assigned before the others or after them.
        assert_eq!(pools.allocate_ipv4("internet", Some(v4(6))), Some(v4(6)));
        for address in [v4(5), v4(6), v4(9)] {
            assert_eq!(pools.has_dynamic("internet", &of(address)), address == v4(9));
            pools.release("internet", &of(address));
            assert!(!pools.has_dynamic("internet", &of(address)));
        }
        assert_eq!(all(), [9]);
        assert_eq!(pools.allocate_ipv4("internet", Some(v4(5))), Some(v4(5)));
        let prefixes = std::iter::from_fn(|| pools.allocate_ipv6("internet", None));
        assert_eq!(prefixes.count(), 7);
        let fixed: Ipv6Addr = "fd45:0:0:9::".parse().unwrap();
        assert_eq!(pools.allocate_ipv6("internet", Some(fixed)), Some(0xfd45_0000_0000_0009));
    }

    #[test]
    fn reserved_addresses_before_a_restored_one_are_not_assigned() {
        let mut pool = Pool::new(2, 100).reserving(Some((4, 7)));
        assert!(pool.mark_used(5) && pool.next == 2);
        assert!(pool.mark_used(30));
        pool.release(5);
        let first: Vec<_> = (0..36).filter_map(|_| pool.allocate()).collect();
        // After address 30 are the 64 that may be assigned and not stored.
        assert_eq!(first[..8], [95, 96, 97, 98, 99, 100, 2, 3]);
        assert_eq!(first[8], 8);
        assert!(!first.contains(&30) && (4..=7).all(|n| !first.contains(&n)), "{first:?}");
    }

    #[test]
    fn each_64_bit_prefix_is_assigned_once() {
        let pools = pools("10.0.0.0/29");
        let fixed: Ipv6Addr = "fd45:0:0:3::".parse().unwrap();
        assert_eq!(pools.allocate_ipv6("internet", Some(fixed)), Some(0xfd45_0000_0000_0003));
        let all: Vec<_> = std::iter::from_fn(|| pools.allocate_ipv6("internet", None)).collect();
        assert_eq!((all.len(), all[0], all[2]), (14, 0xfd45_0000_0000_0001, 0xfd45_0000_0000_0004));
        assert_eq!(pools.allocate_ipv6("internet", Some(fixed)), None);
        let back = Addresses { prefix: Some(all[0]), ..Default::default() };
        pools.release("internet", &back);
        assert_eq!(pools.allocate_ipv6("internet", None), Some(all[0]));
    }

    #[test]
    fn addresses_of_restored_sessions_are_skipped() {
        let pools = pools("10.0.0.0/16");
        let restored = Addresses {
            ipv4: Some(Ipv4Addr::new(10, 0, 0, 9)),
            prefix: Some(0xfd45_0000_0000_0002),
        };
        assert!(pools.mark_used("internet", &restored) && !pools.mark_used("internet", &restored));
        let next = pools.allocate_ipv4("internet", None).unwrap();
        assert!(u32::from(next) > u32::from(Ipv4Addr::new(10, 0, 0, 9)) + 64, "{next}");
    }

    #[test]
    fn addresses_of_sessions_at_other_smfs_are_retained_until_these_end() {
        let pools = pools("10.0.0.0/29");
        let one = |ipv4| Addresses { ipv4, ..Addresses::default() };
        let all: Vec<_> = (0..3).map(|_| one(pools.allocate_ipv4("internet", None))).collect();
        for (reference, addresses) in (5..).zip(&all) {
            pools.retain(reference, "internet", addresses);
        }
        assert_eq!((pools.retained(0, 2), pools.retained(6, 2)), (vec![5, 6], vec![7]));
        // This SMF has the second one again, whose address is in use.
        assert!(pools.regain(6) && !pools.regain(6));
        assert!(!pools.mark_used("internet", &all[1]));
        // Only what is retained is released.
        [5, 6, 8].into_iter().for_each(|reference| pools.release_retained(reference));
        assert_eq!(pools.retained(0, 9), [7]);
        let free: Vec<_> = std::iter::from_fn(|| pools.allocate_ipv4("internet", None)).collect();
        let free: Vec<_> = free.iter().map(|address| address.octets()[3]).collect();
        assert_eq!(free, [5, 6, 2]);
    }

    #[test]
    fn a_restored_address_needs_no_memory_for_the_addresses_before_it() {
        let network =
            DnnConfig { name: "internet".into(), pool6: "fd45::/32".into(), ..Default::default() };
        let pools = Pools::new(&[network]).unwrap();
        let last = Addresses { ipv4: None, prefix: Some(0xfd45_0000_ffff_ffff) };
        assert!(pools.mark_used("internet", &last));
        let next = || pools.allocate_ipv6("internet", None);
        assert_eq!([next(), next()], [1, 2].map(|n: u64| Some(0xfd45_0000_0000_0000 + n)));
        let mut pool = Pool::new(2, 1000);
        assert!(pool.mark_used(5) && pool.mark_used(7) && pool.mark_used(80));
        assert_eq!(pool.released, [(2, 4), (6, 69), (70, 71), (72, 79), (81, 144)]);
        assert_eq!(pool.next, 145);
    }

    #[test]
    fn a_static_address_is_released_once() {
        let mut pool = Pool::new(2, 6);
        let first: Vec<_> = (0..3).filter_map(|_| pool.allocate()).collect();
        assert_eq!(first, [2, 3, 4]);
        pool.release(3);
        for _ in 0..100 {
            assert!(pool.allocate_static(3));
            pool.release(3);
        }
        assert_eq!(pool.released, [(3, 3)]);
        assert!(pool.allocate_static(3));
        assert_eq!([pool.allocate(), pool.allocate(), pool.allocate()], [Some(5), Some(6), None]);
        pool.release(3);
        assert_eq!(pool.allocate(), Some(3));
    }
}
