//! Address pools: an address that is given back is used again as late as possible.
use crate::DnnConfig;
use std::collections::{HashMap, HashSet, VecDeque};
use std::net::Ipv4Addr;
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

/// Addresses that may have been given in the moment before an SMF was killed.
const UNKNOWN: u32 = 64;

struct Pool {
    /// First and last address for UEs.
    first: u32,
    last: u32,
    /// The next one that was never used.
    next: u32,
    given_back: VecDeque<u32>,
    used: HashSet<u32>,
}

impl Pool {
    fn new((network, length): (Ipv4Addr, u8)) -> Self {
        let network = u32::from(network);
        let broadcast = network | (u32::MAX >> length);
        // The first is the gateway's.
        let first = network + 2;
        Pool { first, last: broadcast - 1, next: first, given_back: VecDeque::new(), used: HashSet::new() }
    }

    fn take(&mut self) -> Option<u32> {
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

    fn take_fixed(&mut self, address: u32) -> bool {
        (self.first..=self.last).contains(&address) && self.used.insert(address)
    }

    /// One that is in use already. Those before it that are not are free again; `next` goes on behind it, and a little
    /// further, since the last ones given may not be known.
    fn keep(&mut self, address: u32) -> bool {
        if !self.take_fixed(address) {
            return false;
        }
        let next = self.next.max(address.saturating_add(1 + UNKNOWN)).min(self.last.saturating_add(1));
        self.given_back.extend((self.next..next).filter(|skipped| *skipped != address));
        self.next = next;
        true
    }

    fn give_back(&mut self, address: u32) {
        if self.used.remove(&address) && address < self.next {
            self.given_back.push_back(address);
        }
    }
}

/// The pools by data network.
pub struct Pools(Mutex<HashMap<String, Pool>>);

impl Pools {
    pub fn new(dnns: &[DnnConfig]) -> Result<Self, String> {
        let one = |dnn: &DnnConfig| Ok((dnn.name.to_ascii_lowercase(), Pool::new(parse(&dnn.pool)?)));
        Ok(Pools(Mutex::new(dnns.iter().map(one).collect::<Result<_, String>>()?)))
    }

    fn pools(&self) -> MutexGuard<'_, HashMap<String, Pool>> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// An address in a data network: a fixed one where there is one; `None` where it is in use, or all are.
    pub fn take(&self, dnn: &str, fixed: Option<Ipv4Addr>) -> Option<Ipv4Addr> {
        let mut pools = self.pools();
        let pool = pools.get_mut(&dnn.to_ascii_lowercase())?;
        match fixed {
            Some(fixed) => pool.take_fixed(fixed.into()).then_some(fixed),
            None => pool.take().map(Ipv4Addr::from),
        }
    }

    /// Takes an address that a session has from before this SMF was started again. New ones come from beyond it, as long as
    /// there are any.
    pub fn keep(&self, dnn: &str, address: Ipv4Addr) -> bool {
        let mut pools = self.pools();
        pools.get_mut(&dnn.to_ascii_lowercase()).is_some_and(|pool| pool.keep(address.into()))
    }

    /// Gives an address back.
    pub fn give_back(&self, dnn: &str, address: Ipv4Addr) {
        if let Some(pool) = self.pools().get_mut(&dnn.to_ascii_lowercase()) {
            pool.give_back(address.into());
        }
    }

    /// For `martlet status`.
    pub fn status(&self) -> serde_json::Value {
        let pools = self.pools();
        let one = |(name, pool): (&String, &Pool)| {
            (name.clone(), serde_json::json!({"used": pool.used.len(), "of": pool.last - pool.first + 1}))
        };
        serde_json::Value::Object(pools.iter().map(one).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pools(pool: &str) -> Pools {
        Pools::new(&[DnnConfig { name: "Internet".into(), pool: pool.into(), dns: vec![], mtu: 1400 }]).unwrap()
    }

    #[test]
    fn every_address_once_and_the_oldest_again() {
        let pools = pools("10.0.0.0/29");
        let all: Vec<_> = std::iter::from_fn(|| pools.take("internet", None)).collect();
        let expected: Vec<Ipv4Addr> = (2..=6).map(|n| Ipv4Addr::new(10, 0, 0, n)).collect();
        assert_eq!(all, expected);
        for address in [all[3], all[1]] {
            pools.give_back("internet", address);
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
        pools.give_back("internet", fixed);
        assert_eq!(pools.take("internet", None), Some(fixed));
    }

    #[test]
    fn networks_are_checked() {
        assert!(parse("10.45.0.0/16").is_ok());
        for wrong in ["10.45.0.1/16", "10.45.0.0", "10.45.0.0/31", "x/16", "10.0.0.0/7"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
