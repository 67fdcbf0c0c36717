//! The perimeter of N6 in the exact tables of the switch: blocks and hosts. Packets of UEs to these
//! are sent to the native UPF, which decides. The tables may have more than the perimeter denies,
//! never less.
use martlet_upf_rules::Prefix;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

/// Maximum number of blocks of one prefix, and entries of one table.
const MAX_OF_ONE: u32 = 4096;
const MAX_ENTRIES: usize = 4000;
/// Groups and reserved addresses, which the program knows.
const GROUPS: u32 = 0xe000_0000;
/// The upper bits of addresses that have IPv4 addresses in them; the program knows them, too.
const NAT64: u128 = 0x0064_ff9b;
const SIX_TO_FOUR: u128 = 0x2002;

/// The kind of lookup, by the number that the P4 program has for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum Lookup {
    /// Nothing: there is no perimeter.
    #[default]
    None = 0,
    /// All packets.
    All = 1,
    /// IPv4 packets; IPv6 packets go to the native UPF.
    WithoutV6 = 2,
    /// All packets go to the native UPF.
    Native = 3,
}

/// Content of the tables.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Isolation {
    pub lookup: Lookup,
    /// By the upper 16 bits; true: as a whole, false: something in it.
    pub blocks: BTreeMap<u32, bool>,
    /// By the upper 24 bits.
    pub blocks_24: BTreeSet<u32>,
    pub hosts: BTreeSet<u32>,
    /// By the upper half; as `blocks`.
    pub blocks_v6: BTreeMap<u64, bool>,
    pub hosts_v6: BTreeSet<u128>,
}

impl Isolation {
    /// From denied prefixes.
    pub fn of(denied: impl Iterator<Item = Prefix>) -> Isolation {
        let mut isolation = Isolation { lookup: Lookup::All, ..Isolation::default() };
        for prefix in denied {
            isolation.add(prefix);
        }
        let four = [isolation.blocks.len(), isolation.blocks_24.len(), isolation.hosts.len()];
        if four.iter().any(|entries| *entries > 2 * MAX_ENTRIES) {
            isolation.lookup = Lookup::Native;
        } else if isolation.blocks_v6.len().max(isolation.hosts_v6.len()) > MAX_ENTRIES {
            isolation.lookup = isolation.lookup.max(Lookup::WithoutV6);
        }
        if isolation.lookup == Lookup::Native {
            return Isolation { lookup: Lookup::Native, ..Isolation::default() };
        }
        if isolation.lookup == Lookup::WithoutV6 {
            (isolation.blocks_v6, isolation.hosts_v6) = Default::default();
        }
        isolation
    }

    fn add(&mut self, prefix: Prefix) {
        let length = u32::from(prefix.length);
        match prefix.network {
            IpAddr::V4(network) => self.add_v4(network, length),
            IpAddr::V6(network) => {
                let bits = network.to_bits();
                let high = (bits >> 64) as u64;
                // The program knows these.
                if prefix.length >= 8 && network.is_multicast()
                    || prefix.length >= 10 && network.is_unicast_link_local()
                    || prefix.length >= 32 && bits >> 96 == NAT64
                    || prefix.length >= 16 && bits >> 112 == SIX_TO_FOUR
                {
                    return;
                }
                match length {
                    128 => {
                        self.blocks_v6.entry(high).or_insert(false);
                        self.hosts_v6.insert(bits);
                    }
                    64..=127 => drop(self.blocks_v6.insert(high, true)),
                    // Too many blocks for exact entries.
                    length if 1u64.checked_shl(64 - length).is_none_or(|n| n > 256) => {
                        self.lookup = self.lookup.max(Lookup::WithoutV6);
                    }
                    length => {
                        let blocks = 0..1u64 << (64 - length);
                        self.blocks_v6.extend(blocks.map(|n| (high + n, true)));
                    }
                }
            }
        }
    }

    fn add_v4(&mut self, network: Ipv4Addr, length: u32) {
        let first = network.to_bits();
        if first >= GROUPS {
            return;
        }
        let look = |blocks: &mut BTreeMap<u32, bool>, at: u32| {
            blocks.entry(at & 0xffff_0000).or_insert(false);
        };
        match length {
            0..=15 if 1 << (16 - length) > MAX_OF_ONE => self.lookup = Lookup::Native,
            0..=16 => {
                let blocks = (0..1u32 << (16 - length)).map(|n| (first + (n << 16), true));
                self.blocks.extend(blocks);
            }
            17..=24 => {
                look(&mut self.blocks, first);
                self.blocks_24.extend((0..1u32 << (24 - length)).map(|n| first + (n << 8)));
            }
            _ => {
                look(&mut self.blocks, first);
                self.hosts.extend((0..1u32 << (32 - length)).map(|n| first + n));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(all: &[&str]) -> Isolation {
        let prefix = |text: &&str| {
            let (network, length) = text.split_once('/').unwrap();
            Prefix { network: network.parse().unwrap(), length: length.parse().unwrap() }
        };
        Isolation::of(all.iter().map(prefix))
    }

    /// The lookup of the P4 program for an address.
    fn is_isolated(isolation: &Isolation, address: &str) -> bool {
        match address.parse().unwrap() {
            IpAddr::V4(address) => {
                let bits = address.to_bits();
                bits >= GROUPS
                    || match isolation.blocks.get(&(bits & 0xffff_0000)) {
                        None => false,
                        Some(true) => true,
                        Some(false) => {
                            isolation.blocks_24.contains(&(bits & 0xffff_ff00))
                                || isolation.hosts.contains(&bits)
                        }
                    }
            }
            IpAddr::V6(address) => {
                let high = (address.to_bits() >> 64) as u64;
                match isolation.blocks_v6.get(&high) {
                    None => false,
                    Some(true) => true,
                    Some(false) => isolation.hosts_v6.contains(&address.to_bits()),
                }
            }
        }
    }

    #[test]
    fn prefixes_become_blocks_and_hosts() {
        let isolation = of(&[
            "127.0.0.0/8",
            "10.98.0.1/32",
            "192.168.7.0/24",
            "172.16.0.0/12",
            "10.99.0.8/30",
            "10.97.128.0/22",
            "224.0.0.0/4",
            "240.0.0.0/4",
            "2001:db8::1/128",
            "fd00:7::/64",
            "::/127",
            "fd45:0:0:100::/56",
            "fe80::/10",
            "ff00::/8",
            "64:ff9b::7f00:0/104",
            "64:ff9b:1::/48",
            "2002:7f00::/24",
        ]);
        assert_eq!(isolation.lookup, Lookup::All);
        for to in [
            "127.9.9.9",
            "10.98.0.1",
            "192.168.7.20",
            "172.31.0.1",
            "10.99.0.11",
            "10.97.131.255",
            "224.0.0.1",
            "255.255.255.255",
            "2001:db8::1",
            "fd00:7::9",
            "::1",
            "fd45:0:0:1ff::1",
        ] {
            assert!(is_isolated(&isolation, to), "{to}");
        }
        for to in ["9.9.9.9", "10.98.0.2", "192.168.8.1", "10.99.0.12", "10.97.132.0"] {
            assert!(!is_isolated(&isolation, to), "{to}");
        }
        for to in ["2001:db8::2", "fd45:0:0:200::1"] {
            assert!(!is_isolated(&isolation, to), "{to}");
        }
    }

    #[test]
    fn what_the_tables_cannot_have_stays_with_the_native_upf() {
        assert_eq!(of(&["fd00::/8"]).lookup, Lookup::WithoutV6);
        assert_eq!(of(&["0.0.0.0/1"]).lookup, Lookup::Native);
        let many: Vec<String> = (0..200).map(|n| format!("10.{n}.0.128/25")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(of(&many), Isolation { lookup: Lookup::Native, ..Isolation::default() });
    }
}
