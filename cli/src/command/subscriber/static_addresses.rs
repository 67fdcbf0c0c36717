//! Static addresses that several subscribers of a data network have: one of them gets a session.
use super::database::DatabaseArgs;
use super::over_api;
use crate::api_client::Api;
use crate::runtime;
use anyhow::ensure;
use martlet_store::{Store, Subscriber};
use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

/// Subscribers that are read at a time.
const PAGE: usize = 1000;
/// Maximum time of the comparison with the subscribers of a database.
const MAX_COMPARISON: Duration = Duration::from_secs(2);
/// Maximum number of notes.
const MAX_NOTES: usize = 10;
/// Addresses, and notes, that are remembered: an import of any size needs little memory.
const MAX_REMEMBERED: usize = 20_000;

/// The first static addresses that a command writes, with their owners.
#[derive(Default)]
pub(super) struct StaticAddresses {
    /// The SUPI by data network and address.
    owners: HashMap<(String, IpAddr), String>,
    notes: BTreeSet<String>,
    /// Not all subscribers of the database were compared.
    is_incomplete: bool,
}

/// The static addresses of a subscriber, each with its data network. Of IPv6, a session has the
/// /64 prefix.
fn addresses(subscriber: &Subscriber) -> Vec<(String, IpAddr)> {
    let mut all = Vec::new();
    for dnn in subscriber.slices.iter().flat_map(|slice| &slice.dnns) {
        let prefix = dnn.static_ipv6.map(|ip| Ipv6Addr::from_bits(ip.to_bits() >> 64 << 64));
        let both = [dnn.static_ipv4.map(IpAddr::V4), prefix.map(IpAddr::V6)];
        all.extend(both.into_iter().flatten().map(|ip| (dnn.name.to_ascii_lowercase(), ip)));
    }
    all
}

fn note((dnn, ip): &(String, IpAddr), one: &str, other: &str) -> String {
    let (first, second) = if one < other { (one, other) } else { (other, one) };
    format!(
        "{first} and {second} have the static address {ip} in {dnn}: only one of them at a time \
         gets a session"
    )
}

impl StaticAddresses {
    /// Adds those of a subscriber that is written.
    pub(super) fn add(&mut self, subscriber: &Subscriber) {
        self.compare(subscriber);
        let room = MAX_REMEMBERED.saturating_sub(self.owners.len());
        for key in addresses(subscriber).into_iter().take(room) {
            self.owners.entry(key).or_insert_with(|| subscriber.supi.clone());
        }
    }

    /// Notes the addresses that another subscriber has, too.
    fn compare(&mut self, other: &Subscriber) {
        for key in addresses(other) {
            if let Some(owner) = self.owners.get(&key).filter(|owner| **owner != other.supi)
                && self.notes.len() < MAX_REMEMBERED
            {
                self.notes.insert(note(&key, owner, &other.supi));
            }
        }
    }

    /// Prints a note for each address that several subscribers of a database have.
    pub(super) fn report_in_store(mut self, store: &Store) {
        self.compare_in_store(store, MAX_COMPARISON);
        self.print();
    }

    fn compare_in_store(&mut self, store: &Store, longest: Duration) {
        let start = Instant::now();
        let mut after = String::new();
        while !self.owners.is_empty() {
            let Ok(page) = store.list_without_keys(&after, PAGE) else { break };
            let Some(last) = page.last() else { break };
            after.clone_from(&last.supi);
            page.iter().for_each(|subscriber| self.compare(subscriber));
            if start.elapsed() >= longest {
                self.is_incomplete = page.len() == PAGE;
                break;
            }
        }
    }

    /// The same for the database of the running core.
    pub(super) fn report_over_api(mut self, database: &DatabaseArgs) {
        if !self.owners.is_empty()
            && let Ok(config) = database.config()
            && let Some(api) = Api::of_core(&config)
        {
            let start = Instant::now();
            let compared = over_api::list(&api, usize::MAX, |subscriber| {
                self.compare(&subscriber);
                ensure!(start.elapsed() < MAX_COMPARISON, "the comparison takes too long");
                Ok(())
            });
            // The subscribers are written. Without an answer there are fewer notes.
            self.is_incomplete = runtime::block_on(compared).is_err();
        }
        self.print();
    }

    fn print(&self) {
        for note in self.notes.iter().take(MAX_NOTES) {
            eprintln!("note: {note}");
        }
        if self.notes.len() > MAX_NOTES {
            eprintln!("note: {} more static addresses are shared", self.notes.len() - MAX_NOTES);
        }
        if self.is_incomplete {
            eprintln!(
                "note: not all subscribers of the database were compared: others may have the same \
                 static address"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_store::{Secret, SubscribedDnn};

    fn subscriber(n: u64, dnn: &str, ipv4: &str, ipv6: &str) -> Subscriber {
        let supi = format!("imsi-{n:015}");
        let mut subscriber = Subscriber::new(&supi, Secret([1; 16]), Secret([2; 16]), dnn);
        subscriber.slices[0].dnns = vec![SubscribedDnn {
            static_ipv4: ipv4.parse().ok(),
            static_ipv6: ipv6.parse().ok(),
            ..SubscribedDnn::new(dnn)
        }];
        subscriber
    }

    #[test]
    fn an_address_of_two_subscribers_of_a_data_network_is_noted() {
        let mut written = StaticAddresses::default();
        written.add(&subscriber(1, "internet", "10.45.255.1", "fd45:0:0:7::1"));
        written.add(&subscriber(1, "internet", "10.45.255.1", "fd45:0:0:7::1"));
        written.add(&subscriber(2, "ims", "10.45.255.1", "fd45:0:0:7::1"));
        written.add(&subscriber(3, "internet", "", ""));
        assert!(written.notes.is_empty(), "{:?}", written.notes);
        written.add(&subscriber(4, "Internet", "10.45.255.1", ""));
        written.compare(&subscriber(5, "internet", "10.45.255.9", "fd45:0:0:7::2"));
        let notes: Vec<&String> = written.notes.iter().collect();
        assert_eq!(notes.len(), 2, "{notes:?}");
        let first = "imsi-000000000000001 and imsi-000000000000004 have the static address \
                     10.45.255.1 in internet";
        assert!(notes[0].starts_with(first), "{notes:?}");
        assert!(notes[1].contains("fd45:0:0:7::"), "{notes:?}");
    }

    #[test]
    fn the_comparison_with_a_large_database_ends_in_time() {
        let store = Store::in_memory().unwrap();
        let all: Vec<_> = (1..=PAGE as u64 + 1)
            .map(|n| subscriber(n, "internet", if n > 1000 { "10.45.255.1" } else { "" }, ""))
            .collect();
        store.add(&all, false).unwrap();
        for (longest, notes) in [(Duration::ZERO, 0), (Duration::from_secs(600), 1)] {
            let mut written = StaticAddresses::default();
            written.add(&subscriber(2000, "internet", "10.45.255.1", ""));
            written.compare_in_store(&store, longest);
            assert_eq!((written.notes.len(), written.is_incomplete), (notes, notes == 0));
        }
    }

    #[test]
    fn an_import_of_many_static_addresses_needs_little_memory() {
        let mut written = StaticAddresses::default();
        let mut one = subscriber(1, "internet", "", "");
        for n in 0..MAX_REMEMBERED as u32 + 5 {
            one.slices[0].dnns[0].static_ipv4 = Some((0x0a00_0000 + n).into());
            written.add(&one);
        }
        assert_eq!(written.owners.len(), MAX_REMEMBERED);
        written.compare(&subscriber(2, "internet", "10.0.0.0", ""));
        assert_eq!(written.notes.len(), 1);
    }
}
