//! Static addresses that a subscriber cannot use: another subscriber of the data network has it, or
//! it is not in the pool of the data network. Commands and the northbound API share this check.
use crate::store::parsed_without_keys;
use crate::{Store, StoreError, Subscriber};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

/// Subscribers that are read at a time.
const PAGE: usize = 1000;
/// Addresses that are remembered: an import of any size needs little memory.
const MAX_REMEMBERED: usize = 20_000;

/// What the names of both members begin with. A row without an address has neither.
const MEMBER: &str = "\"static_ipv";

/// The addresses that UEs of a data network get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressPool {
    /// The data network.
    pub dnn: String,
    /// First and last IPv4 address; `None` without an IPv4 pool.
    pub ipv4: Option<RangeInclusive<Ipv4Addr>>,
    /// First address of the first and of the last /64 prefix; `None` without an IPv6 pool.
    pub ipv6: Option<RangeInclusive<Ipv6Addr>>,
}

impl AddressPool {
    /// What is wrong with an address, if it is not in the pool.
    fn refuses(&self, ip: IpAddr) -> Option<String> {
        let (range, family) = match ip {
            IpAddr::V4(ip) => match &self.ipv4 {
                Some(range) if range.contains(&ip) => return None,
                range => (range.as_ref().map(|r| format!("{} to {}", r.start(), r.end())), "IPv4"),
            },
            IpAddr::V6(ip) => match &self.ipv6 {
                Some(range) if range.contains(&ip) => return None,
                range => {
                    let ends = range.as_ref().map(|r| (r.start(), r.end()));
                    (ends.map(|(first, last)| format!("{first}/64 to {last}/64")), "IPv6")
                }
            },
        };
        Some(match range {
            Some(range) => format!("write one of {range}, or change the pool in smf.dnns"),
            None => format!("add an {family} pool to {} in smf.dnns, or remove it", self.dnn),
        })
    }
}

/// A static address that a subscriber cannot use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}: {remedy}")]
pub struct AddressError {
    /// The field of the subscriber, such as `slices[0].dnns[0].static_ipv4`.
    pub field: String,
    /// What is wrong.
    pub detail: String,
    /// What to do.
    pub remedy: String,
    /// Whether another subscriber has the address.
    pub is_taken: bool,
}

/// A data network and an address in it. Of IPv6, a session has the /64 prefix.
type Key = (String, IpAddr);

/// The static addresses of a subscriber, each with its field.
fn addresses(subscriber: &Subscriber) -> Vec<(String, Key)> {
    let mut all = Vec::new();
    for (n, slice) in subscriber.slices.iter().enumerate() {
        for (m, dnn) in slice.dnns.iter().enumerate() {
            let prefix = dnn.static_ipv6.map(|ip| Ipv6Addr::from_bits(ip.to_bits() >> 64 << 64));
            let ipv4 = dnn.static_ipv4.map(|ip| ("static_ipv4", IpAddr::V4(ip)));
            let ipv6 = prefix.map(|ip| ("static_ipv6", IpAddr::V6(ip)));
            all.extend([ipv4, ipv6].into_iter().flatten().map(|(name, ip)| {
                (format!("slices[{n}].dnns[{m}].{name}"), (dnn.name.to_ascii_lowercase(), ip))
            }));
        }
    }
    all
}

fn shown(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("{ip}/64"),
    }
}

fn taken(supi: &str, field: String, (dnn, ip): &Key, owner: &str) -> AddressError {
    AddressError {
        field,
        detail: format!("{owner} has the static address {} in {dnn}", shown(*ip)),
        remedy: format!("give {supi} another one, or remove it from {owner} first"),
        is_taken: true,
    }
}

/// Whether a subscriber gets a static address that it did not have before. Others are not checked.
pub fn has_new_static_address(before: Option<&Subscriber>, after: &Subscriber) -> bool {
    let known = before.map(addresses).unwrap_or_default();
    addresses(after).iter().any(|(_, key)| known.iter().all(|(_, own)| own != key))
}

/// The static addresses of a database, and those of subscribers that are to be written.
///
/// An address that a subscriber has in the database already is not checked again: its other fields
/// can be changed although a pool has become smaller.
pub struct StaticAddresses {
    pools: Vec<AddressPool>,
    /// The subscribers of the database that have an address.
    stored: HashMap<Key, Vec<String>>,
    /// All subscribers of `stored`.
    owners: HashSet<String>,
    /// Those of `owners` that are written.
    rewritten: HashSet<String>,
    /// The addresses that are written.
    written: HashMap<Key, String>,
    /// Errors that last unless the owner in the database is written, too.
    pending: BTreeMap<String, AddressError>,
    is_complete: bool,
}

impl StaticAddresses {
    /// Reads the static addresses of a database, those of `wanted` alone if it is given. Reads for
    /// `longest` at most. Data networks without a pool are not compared with one.
    ///
    /// # Errors
    /// The database failed.
    pub fn read(
        store: &Store,
        pools: Vec<AddressPool>,
        wanted: Option<&Subscriber>,
        longest: Duration,
    ) -> Result<Self, StoreError> {
        let mut read = StaticAddresses {
            pools,
            stored: HashMap::new(),
            owners: HashSet::new(),
            rewritten: HashSet::new(),
            written: HashMap::new(),
            pending: BTreeMap::new(),
            is_complete: true,
        };
        let wanted: Option<HashSet<Key>> =
            wanted.map(|one| addresses(one).into_iter().map(|(_, key)| key).collect());
        if wanted.as_ref().is_some_and(HashSet::is_empty) {
            return Ok(read);
        }
        let start = Instant::now();
        let mut after = String::new();
        loop {
            let page = store.database.list(&after, PAGE)?;
            let Some(last) = page.last() else { break };
            after.clone_from(&last.supi);
            // Most subscribers have no static address: parsing them takes most of the time.
            for row in page.iter().filter(|row| row.profile.contains(MEMBER)) {
                let Ok(subscriber) = parsed_without_keys(row) else {
                    // A damaged subscriber is no reason to refuse others, nor its replacement.
                    read.is_complete = false;
                    continue;
                };
                for (_, key) in addresses(&subscriber) {
                    if wanted.as_ref().is_none_or(|wanted| wanted.contains(&key)) {
                        read.remember(key, &subscriber.supi);
                    }
                }
            }
            if page.len() < PAGE {
                break;
            }
            if start.elapsed() >= longest {
                read.is_complete = false;
                break;
            }
        }
        Ok(read)
    }

    fn remember(&mut self, key: Key, supi: &str) {
        if self.stored.len() >= MAX_REMEMBERED && !self.stored.contains_key(&key) {
            self.is_complete = false;
            return;
        }
        self.owners.insert(supi.to_string());
        let owners = self.stored.entry(key).or_default();
        // A subscriber may have an address in several slices, which are read one after the other.
        if owners.len() < PAGE && owners.last().is_none_or(|last| last != supi) {
            owners.push(supi.to_string());
        }
    }

    /// Whether all subscribers of the database were compared with those that are written.
    pub fn is_complete(&self) -> bool {
        self.is_complete || self.written.is_empty()
    }

    /// Adds a subscriber that is to be written.
    ///
    /// # Errors
    /// An address is not in the pool, or a subscriber that is written, too, has it.
    pub fn add(&mut self, subscriber: &Subscriber) -> Result<(), AddressError> {
        let supi = &subscriber.supi;
        if self.owners.contains(supi) {
            self.rewritten.insert(supi.clone());
            self.pending.remove(supi);
        }
        for (field, key) in addresses(subscriber) {
            let owners = self.stored.get(&key).map(Vec::as_slice).unwrap_or_default();
            let (has_it, (dnn, ip)) = (owners.contains(supi), &key);
            let mut pools = self.pools.iter();
            if !has_it
                && let Some(pool) = pools.find(|pool| pool.dnn.eq_ignore_ascii_case(dnn))
                && let Some(remedy) = pool.refuses(*ip)
            {
                let ip = shown(*ip);
                let detail =
                    format!("the static address {ip} of {supi} is not in the pool of {dnn}");
                return Err(AddressError { field, detail, remedy, is_taken: false });
            }
            // Two that have the same one in the database already are not refused.
            let other = self.written.get(&key).filter(|other| *other != supi);
            if let Some(other) = other.filter(|other| !has_it || !owners.contains(*other)) {
                return Err(taken(supi, field, &key, other));
            }
            // Each of them: several may share it in the database already.
            let others = owners.iter().filter(|owner| !has_it && !self.rewritten.contains(*owner));
            for owner in others {
                let error = || taken(supi, field.clone(), &key, owner);
                self.pending.entry(owner.clone()).or_insert_with(error);
            }
            if self.written.len() < MAX_REMEMBERED {
                self.written.entry(key).or_insert_with(|| supi.clone());
            } else {
                self.is_complete = false;
            }
        }
        Ok(())
    }

    /// Ends the check: all subscribers that are written were added.
    ///
    /// # Errors
    /// A subscriber of the database, which is not written, has an address of those that are.
    pub fn finish(&self) -> Result<(), AddressError> {
        self.pending.values().next().cloned().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Secret, SubscribedDnn};

    fn subscriber(n: u64, dnn: &str, ipv4: &str, ipv6: &str) -> Subscriber {
        let supi = format!("imsi-{n:015}");
        let mut subscriber = Subscriber::new(&supi, Secret([1; 16]), Secret([2; 16]), dnn);
        subscriber.slices[0].dnns = vec![SubscribedDnn {
            static_ipv4: ipv4.parse().ok(),
            static_ipv6: ipv6.parse().ok(),
            default: true,
            ..SubscribedDnn::new(dnn)
        }];
        subscriber
    }

    fn internet(n: u64, ipv4: &str) -> Subscriber {
        subscriber(n, "internet", ipv4, "")
    }

    const LONG: Duration = Duration::from_secs(600);

    fn check(store: &Store, written: &[Subscriber]) -> Result<(), AddressError> {
        let wanted = if written.len() == 1 { written.first() } else { None };
        let mut all = StaticAddresses::read(store, Vec::new(), wanted, LONG).unwrap();
        written.iter().try_for_each(|one| all.add(one))?;
        all.finish()
    }

    #[test]
    fn an_address_of_another_subscriber_of_the_data_network_is_refused() {
        let store = Store::in_memory().unwrap();
        let first = subscriber(1, "internet", "10.45.255.1", "fd45:0:0:7::1");
        store.add(std::slice::from_ref(&first), false).unwrap();
        check(&store, &[first]).unwrap();
        check(&store, &[subscriber(2, "ims", "10.45.255.1", "fd45:0:0:7::1")]).unwrap();
        check(&store, &[internet(3, "10.45.255.2")]).unwrap();
        let error = check(&store, &[subscriber(4, "Internet", "10.45.255.1", "")]).unwrap_err();
        assert_eq!((error.field.as_str(), error.is_taken), ("slices[0].dnns[0].static_ipv4", true));
        assert_eq!(
            error.to_string(),
            "imsi-000000000000001 has the static address 10.45.255.1 in internet: give \
             imsi-000000000000004 another one, or remove it from imsi-000000000000001 first"
        );
        let error = check(&store, &[subscriber(5, "internet", "", "fd45:0:0:7::2")]).unwrap_err();
        assert!(error.detail.contains("fd45:0:0:7::/64"), "{error}");
    }

    #[test]
    fn subscribers_of_an_import_exchange_their_addresses() {
        let (one, other) = ("10.45.255.1", "10.45.255.2");
        let store = Store::in_memory().unwrap();
        store.add(&[internet(1, one), internet(2, other)], false).unwrap();
        check(&store, &[internet(1, other), internet(2, one)]).unwrap();
        check(&store, &[internet(2, one), internet(1, "")]).unwrap();
        check(&store, &[internet(1, ""), internet(3, one)]).unwrap();
        for wrong in [
            [internet(1, other), internet(3, "")],
            [internet(3, one), internet(1, one)],
            [internet(1, one), internet(3, one)],
            [internet(3, "10.45.255.3"), internet(4, "10.45.255.3")],
        ] {
            let error = check(&store, &wrong).unwrap_err();
            assert!(error.is_taken, "{error}");
        }
    }

    #[test]
    fn two_that_share_an_address_in_the_database_already_can_be_changed() {
        let both = [internet(1, "10.45.255.1"), internet(2, "10.45.255.1")];
        let store = Store::in_memory().unwrap();
        store.add(&both, false).unwrap();
        check(&store, &both).unwrap();
        check(&store, &both[1..]).unwrap();
        // A third one gets it when both have given it up.
        let third = internet(3, "10.45.255.1");
        check(&store, &[internet(1, ""), third.clone()]).unwrap_err();
        check(&store, &[third.clone(), internet(1, "")]).unwrap_err();
        check(&store, &[third, internet(1, ""), internet(2, "")]).unwrap();
    }

    #[test]
    fn an_address_that_a_subscriber_keeps_is_not_new() {
        let (one, other) = (internet(1, "10.45.255.1"), internet(1, "10.45.255.2"));
        assert!(!has_new_static_address(Some(&one), &one));
        assert!(!has_new_static_address(Some(&one), &internet(1, "")));
        assert!(!has_new_static_address(None, &internet(1, "")));
        assert!(has_new_static_address(None, &one));
        assert!(has_new_static_address(Some(&one), &other));
        assert!(has_new_static_address(Some(&one), &subscriber(1, "ims", "10.45.255.1", "")));
    }

    #[test]
    fn a_damaged_subscriber_hides_no_address_of_others() {
        let store = Store::in_memory().unwrap();
        store.add(&[internet(1, "10.45.255.1"), internet(2, "10.45.255.2")], false).unwrap();
        let row = store.database.row("imsi-000000000000001").unwrap().unwrap();
        store.database.reseal(&row.supi, &row.profile, r#"{"static_ipv4""#).unwrap();
        let one = internet(3, "10.45.255.2");
        let mut read = StaticAddresses::read(&store, Vec::new(), Some(&one), LONG).unwrap();
        read.add(&one).unwrap();
        assert!(!read.is_complete());
        assert!(read.finish().is_err());
    }

    #[test]
    fn an_address_outside_the_pool_is_refused_where_the_pool_is_known() {
        let store = Store::in_memory().unwrap();
        store.add(&[internet(9, "192.0.2.9")], false).unwrap();
        let pool = AddressPool {
            dnn: "internet".into(),
            ipv4: Some(Ipv4Addr::new(10, 45, 0, 2)..=Ipv4Addr::new(10, 45, 255, 254)),
            ipv6: None,
        };
        let check = |one: &Subscriber| {
            let mut all = StaticAddresses::read(&store, vec![pool.clone()], Some(one), LONG)?;
            Ok::<_, StoreError>(all.add(one))
        };
        for accepted in [internet(1, "10.45.255.254"), internet(9, "192.0.2.9")] {
            check(&accepted).unwrap().unwrap();
        }
        check(&subscriber(1, "ims", "192.0.2.1", "")).unwrap().unwrap();
        for refused in ["10.45.0.1", "10.45.255.255", "10.46.0.1"] {
            let error = check(&internet(1, refused)).unwrap().unwrap_err();
            assert!(!error.is_taken, "{error}");
            assert!(error.remedy.contains("10.45.0.2 to 10.45.255.254"), "{error}");
        }
        let error = check(&subscriber(1, "internet", "", "fd45::1")).unwrap().unwrap_err();
        assert!(error.remedy.contains("add an IPv6 pool to internet"), "{error}");
    }

    #[test]
    fn the_comparison_with_a_large_database_ends_in_time() {
        let store = Store::in_memory().unwrap();
        let all: Vec<_> = (1..=PAGE as u64 + 1)
            .map(|n| internet(n, if n > PAGE as u64 { "10.45.255.1" } else { "" }))
            .collect();
        store.add(&all, false).unwrap();
        let one = internet(2000, "10.45.255.1");
        for (longest, is_complete) in [(Duration::ZERO, false), (LONG, true)] {
            let mut read = StaticAddresses::read(&store, Vec::new(), Some(&one), longest).unwrap();
            read.add(&one).unwrap();
            assert_eq!((read.is_complete(), read.finish().is_err()), (is_complete, is_complete));
        }
    }

    #[test]
    fn an_import_of_many_static_addresses_needs_little_memory() {
        let store = Store::in_memory().unwrap();
        let mut all = StaticAddresses::read(&store, Vec::new(), None, LONG).unwrap();
        let mut one = internet(1, "");
        for n in 0..MAX_REMEMBERED as u32 + 5 {
            one.slices[0].dnns[0].static_ipv4 = Some((0x0a00_0000 + n).into());
            all.add(&one).unwrap();
        }
        assert_eq!((all.written.len(), all.is_complete()), (MAX_REMEMBERED, false));
        assert!(all.add(&internet(2, "10.0.0.0")).is_err());
    }
}
