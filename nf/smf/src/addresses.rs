//! Address pools: an address that is given back is used again as late as possible.
use crate::DnnConfig;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet, VecDeque};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard};

/// Network address and prefix length.
pub fn parse(text: &str) -> Result<(Ipv4Addr, u8), String> {
    let wrong = || format!("{text:?} is no IPv4 network: write for example 10.45.0.0/16");
    let (address, length) = text.split_once('/').ok_or_else(wrong)?;
    let (address, length): (Ipv4Addr, u8) =
        (address.parse().map_err(|_| wrong())?, length.parse().map_err(|_| wrong())?);
    if !(8..=30).contains(&length) {
        return Err(format!("{text}: a pool has a prefix of 8 to 30 bits"));
    }
    let network = Ipv4Addr::from(u32::from(address) & (u32::MAX << (32 - length)));
    if network != address {
        return Err(format!("{text}: the network's own address is {network}/{length}"));
    }
    Ok((address, length))
}

/// Network address and prefix length of an IPv6 pool.
pub fn parse6(text: &str) -> Result<(Ipv6Addr, u8), String> {
    let wrong = || format!("{text:?} is no IPv6 network: write for example fd45::/48");
    let (address, length) = text.split_once('/').ok_or_else(wrong)?;
    let (address, length): (Ipv6Addr, u8) =
        (address.parse().map_err(|_| wrong())?, length.parse().map_err(|_| wrong())?);
    if !(32..=62).contains(&length) {
        return Err(format!(
            "{text}: each session gets 64 bits of it, so a pool has a prefix of 32 to 62 bits"
        ));
    }
    let network = Ipv6Addr::from(u128::from(address) & (u128::MAX << (128 - length)));
    if network != address {
        return Err(format!("{text}: the network's own address is {network}/{length}"));
    }
    Ok((address, length))
}

/// The addresses of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Addresses {
    pub ipv4: Option<Ipv4Addr>,
    /// Upper half of the addresses of its IPv6 prefix.
    pub prefix: Option<u64>,
}

impl Addresses {
    /// The first address of the IPv6 prefix.
    pub fn ipv6(&self) -> Option<Ipv6Addr> {
        self.prefix.map(|prefix| Ipv6Addr::from(u128::from(prefix) << 64))
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

/// Addresses that may have been given in the moment before an SMF was killed.
const UNKNOWN: u64 = 64;

struct Pool {
    /// First and last address for UEs.
    first: u64,
    last: u64,
    /// The next one that was never used.
    next: u64,
    given_back: VecDeque<u64>,
    used: HashSet<u64>,
}

impl Pool {
    fn new(first: u64, last: u64) -> Self {
        Pool { first, last, next: first, given_back: VecDeque::new(), used: HashSet::new() }
    }

    fn of_ipv4((network, length): (Ipv4Addr, u8)) -> Self {
        let network = u32::from(network);
        let broadcast = network | (u32::MAX >> length);
        // The first is the gateway's.
        Pool::new((network + 2).into(), (broadcast - 1).into())
    }

    /// Of prefixes of 64 bits, each as the upper half of its addresses.
    fn of_ipv6((network, length): (Ipv6Addr, u8)) -> Self {
        let network = (u128::from(network) >> 64) as u64;
        // The first is the gateway's.
        Pool::new(network + 1, network | (u64::MAX >> length))
    }

    fn take(&mut self) -> Option<u64> {
        loop {
            let address = match self.next <= self.last {
                true => {
                    self.next += 1;
                    self.next - 1
                }
                false => self.given_back.pop_front()?,
            };
            // A fixed one may be in use.
            if self.used.insert(address) {
                return Some(address);
            }
        }
    }

    fn take_fixed(&mut self, address: u64) -> bool {
        (self.first..=self.last).contains(&address) && self.used.insert(address)
    }

    /// One that is in use already. Those before it that are not are free again; `next` goes on
    /// behind it, and a little further, since the last ones given may not be known.
    fn keep(&mut self, address: u64) -> bool {
        if !self.take_fixed(address) {
            return false;
        }
        let next =
            self.next.max(address.saturating_add(1 + UNKNOWN)).min(self.last.saturating_add(1));
        self.given_back.extend((self.next..next).filter(|skipped| *skipped != address));
        self.next = next;
        true
    }

    fn give_back(&mut self, address: u64) {
        if self.used.remove(&address) && address < self.next {
            self.given_back.push_back(address);
        }
    }
}

/// The pools of a data network.
#[derive(Default)]
struct Network {
    ipv4: Option<Pool>,
    ipv6: Option<Pool>,
}

/// The pools by data network.
pub struct Pools(Mutex<HashMap<String, Network>>);

impl Pools {
    pub fn new(dnns: &[DnnConfig]) -> Result<Self, String> {
        let one = |dnn: &DnnConfig| {
            let ipv4 = (!dnn.pool.is_empty()).then(|| parse(&dnn.pool)).transpose()?;
            let ipv6 = (!dnn.pool6.is_empty()).then(|| parse6(&dnn.pool6)).transpose()?;
            let network = Network { ipv4: ipv4.map(Pool::of_ipv4), ipv6: ipv6.map(Pool::of_ipv6) };
            Ok((dnn.name.to_ascii_lowercase(), network))
        };
        Ok(Pools(Mutex::new(dnns.iter().map(one).collect::<Result<_, String>>()?)))
    }

    fn pools(&self) -> MutexGuard<'_, HashMap<String, Network>> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Whether a data network has IPv4, and IPv6.
    pub fn families(&self, dnn: &str) -> (bool, bool) {
        let pools = self.pools();
        let network = pools.get(&dnn.to_ascii_lowercase());
        network.map_or((false, false), |network| (network.ipv4.is_some(), network.ipv6.is_some()))
    }

    /// An address in a data network: a fixed one where there is one; `None` where it is in use, or
    /// all are.
    pub fn take(&self, dnn: &str, fixed: Option<Ipv4Addr>) -> Option<Ipv4Addr> {
        let mut pools = self.pools();
        let pool = pools.get_mut(&dnn.to_ascii_lowercase())?.ipv4.as_mut()?;
        match fixed {
            Some(fixed) => pool.take_fixed(u32::from(fixed).into()).then_some(fixed),
            None => pool.take().map(|address| Ipv4Addr::from(address as u32)),
        }
    }

    /// A prefix of 64 bits in a data network, as the upper half of its addresses.
    pub fn take6(&self, dnn: &str, fixed: Option<Ipv6Addr>) -> Option<u64> {
        let mut pools = self.pools();
        let pool = pools.get_mut(&dnn.to_ascii_lowercase())?.ipv6.as_mut()?;
        match fixed.map(|address| (u128::from(address) >> 64) as u64) {
            Some(fixed) => pool.take_fixed(fixed).then_some(fixed),
            None => pool.take(),
        }
    }

    /// Takes the addresses that a session has from before this SMF was started again. New ones come
    /// from beyond them, as long as there are any. False where they are not to be had; then
    /// none is taken.
    pub fn keep(&self, dnn: &str, addresses: &Addresses) -> bool {
        let mut pools = self.pools();
        let Some(network) = pools.get_mut(&dnn.to_ascii_lowercase()) else { return false };
        if let Some(ipv4) = addresses.ipv4
            && !network.ipv4.as_mut().is_some_and(|pool| pool.keep(u32::from(ipv4).into()))
        {
            return false;
        }
        if let Some(prefix) = addresses.prefix
            && !network.ipv6.as_mut().is_some_and(|pool| pool.keep(prefix))
        {
            if let (Some(pool), Some(ipv4)) = (&mut network.ipv4, addresses.ipv4) {
                pool.give_back(u32::from(ipv4).into());
            }
            return false;
        }
        true
    }

    /// Gives addresses back.
    pub fn give_back(&self, dnn: &str, addresses: &Addresses) {
        let mut pools = self.pools();
        let Some(network) = pools.get_mut(&dnn.to_ascii_lowercase()) else { return };
        if let (Some(pool), Some(ipv4)) = (&mut network.ipv4, addresses.ipv4) {
            pool.give_back(u32::from(ipv4).into());
        }
        if let (Some(pool), Some(prefix)) = (&mut network.ipv6, addresses.prefix) {
            pool.give_back(prefix);
        }
    }

    /// For `martlet status`.
    pub fn status(&self) -> serde_json::Value {
        let pools = self.pools();
        let of = |pool: &Pool| serde_json::json!({"used": pool.used.len(), "of": pool.last - pool.first + 1});
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
    fn every_address_once_and_the_oldest_again() {
        let pools = pools("10.0.0.0/29");
        let all: Vec<_> = std::iter::from_fn(|| pools.take("internet", None)).collect();
        let expected: Vec<Ipv4Addr> = (2..=6).map(|n| Ipv4Addr::new(10, 0, 0, n)).collect();
        assert_eq!(all, expected);
        for address in [all[3], all[1]] {
            pools.give_back("internet", &Addresses { ipv4: Some(address), ..Default::default() });
        }
        assert_eq!(pools.take("internet", None), Some(all[3]));
        assert_eq!(pools.take("internet", None), Some(all[1]));
        assert_eq!(pools.take("internet", None), None);
    }

    #[test]
    fn a_fixed_address_is_given_to_one() {
        let pools = pools("10.0.0.0/29");
        let fixed = Ipv4Addr::new(10, 0, 0, 3);
        assert_eq!(pools.take("internet", Some(fixed)), Some(fixed));
        assert_eq!(pools.take("internet", Some(fixed)), None);
        assert_eq!(pools.take("internet", Some(Ipv4Addr::new(10, 0, 1, 3))), None);
        let others: Vec<_> = std::iter::from_fn(|| pools.take("internet", None)).collect();
        assert!(!others.contains(&fixed) && others.len() == 4);
        pools.give_back("internet", &Addresses { ipv4: Some(fixed), ..Default::default() });
        assert_eq!(pools.take("internet", None), Some(fixed));
    }

    #[test]
    fn networks_are_checked() {
        assert!(parse("10.45.0.0/16").is_ok());
        for wrong in ["10.45.0.1/16", "10.45.0.0", "10.45.0.0/31", "x/16", "10.0.0.0/7"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn prefixes_of_64_bits() {
        let pools = pools("10.0.0.0/29");
        let fixed: Ipv6Addr = "fd45:0:0:3::".parse().unwrap();
        assert_eq!(pools.take6("internet", Some(fixed)), Some(0xfd45_0000_0000_0003));
        let all: Vec<_> = std::iter::from_fn(|| pools.take6("internet", None)).collect();
        assert_eq!((all.len(), all[0], all[2]), (14, 0xfd45_0000_0000_0001, 0xfd45_0000_0000_0004));
        assert_eq!(pools.take6("internet", Some(fixed)), None);
        let back = Addresses { prefix: Some(all[0]), ..Default::default() };
        pools.give_back("internet", &back);
        assert_eq!(pools.take6("internet", None), Some(all[0]));
        for wrong in ["fd45::1/60", "fd45::/64", "fd45::/16", "10.0.0.0/8"] {
            assert!(parse6(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn addresses_of_before_are_passed_over() {
        let pools = pools("10.0.0.0/16");
        let kept = Addresses {
            ipv4: Some(Ipv4Addr::new(10, 0, 0, 9)),
            prefix: Some(0xfd45_0000_0000_0002),
        };
        assert!(pools.keep("internet", &kept) && !pools.keep("internet", &kept));
        let next = pools.take("internet", None).unwrap();
        assert!(u32::from(next) > u32::from(Ipv4Addr::new(10, 0, 0, 9)) + 64, "{next}");
    }
}
