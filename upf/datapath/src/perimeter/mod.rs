//! The perimeter of the user plane: what UEs may not reach through N6, and which senders on N3 are
//! peers. One table for all datapaths, without sockets: the caller reports the addresses of the
//! machine's interfaces.
//!
//! | question | answer |
//! | --- | --- |
//! | may a UE's packet leave to this destination? | [`Perimeter::permits`] |
//! | is this sender on N3 a peer? | [`Perimeter::is_peer`] |
//! | is it the gNB of this session? | [`Perimeter::sender`] |
//! | the same for tables of other datapaths | [`Perimeter::entries`], [`Perimeter::sources`] |
mod embedded;
mod ranges;

use crate::senders::Senders;
use embedded::{LOCAL_NAT64, Translation};
use martlet_upf_rules::{
    ETHERTYPE_C_TAG, ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_S_TAG, Flow, Prefix,
};
use ranges::Ranges;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Instant;

/// What applies to packets to a destination; bits, as `bpf/structs.h` has them.
pub mod class {
    /// Packets are dropped, except those of the exceptions below and of allowed services.
    pub const DENIED: u8 = 1;
    /// The gateway of UEs: it answers ICMP and DNS.
    pub const GATEWAY: u8 = 2;
    /// Addresses of a link, and groups: frames of Ethernet sessions may have them.
    pub const LINK: u8 = 4;
}
use class::{DENIED, GATEWAY, LINK};

const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMPV6: u8 = 58;
const DNS: u16 = 53;
const ETHERTYPE_ARP: u16 = 0x0806;

/// A service that UEs may reach wherever it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Service {
    /// Its address; a network if neither protocol nor port is named.
    pub network: Prefix,
    /// Its protocol number; ICMP stands for ICMPv6, too. None: all.
    pub protocol: Option<u8>,
    /// Its port. None: all.
    pub port: Option<u16>,
}

/// The configured policy. It does not change while the UPF runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Policy {
    /// Networks that UEs may not reach.
    pub denied: Vec<Prefix>,
    /// Exceptions, which UEs may reach.
    pub allowed: Vec<Service>,
    /// Their gateways.
    pub gateways: Vec<IpAddr>,
    /// Addresses of the core. The network of an interface with one of them is denied as a whole,
    /// unless packets leave to the data network by it.
    pub core: Vec<IpAddr>,
    /// Networks of gNBs and UPFs, beside those that sessions name.
    pub peers: Vec<Prefix>,
    /// The accepted senders of a session's uplink packets.
    pub sources: Sources,
}

/// The accepted senders of a session's uplink packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sources {
    /// From the gNBs of the session.
    #[default]
    Session,
    /// From peers.
    Peers,
    /// From anyone.
    Any,
}

/// What a sender is to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// Its packets are accepted.
    Accepted,
    /// It may be the gNB of a path switch in progress: its packets wait.
    Early,
    /// Its packets are dropped.
    Foreign,
}

/// The number of a peer that has none of its own: the configuration names its network.
pub const NAMED: u16 = u16::MAX;

/// An address of an interface of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OwnAddress {
    /// The address.
    pub address: IpAddr,
    /// Length of its network's prefix.
    pub prefix: u8,
    /// Packets leave to the data network by its interface: a default route does.
    pub to_data_network: bool,
}

#[derive(Debug, Default)]
struct State {
    own: BTreeSet<OwnAddress>,
    peers: BTreeSet<IpAddr>,
    /// Numbers of all peers so far, from 1. They are not reused, since rules of sessions may still
    /// have them.
    numbers: BTreeMap<IpAddr, u16>,
    four: Ranges<u32>,
    six: Ranges<u128>,
}

impl State {
    fn add_peer(&mut self, peer: IpAddr) -> bool {
        let next = u16::try_from(self.numbers.len() + 1).ok().filter(|number| *number < NAMED);
        if let (false, Some(next)) = (self.numbers.contains_key(&peer), next) {
            self.numbers.insert(peer, next);
        }
        self.peers.insert(peer)
    }
}

/// The perimeter.
#[derive(Debug)]
pub struct Perimeter {
    policy: Policy,
    services: BTreeSet<Service>,
    translations: Vec<Translation>,
    state: RwLock<State>,
    /// Changes with the tables.
    generation: AtomicU64,
}

/// Addresses that are never in a data network: unspecified, loopback, of a link, groups.
fn constant() -> [(Prefix, u8); 12] {
    let four = |a: [u8; 4], length| Prefix { network: IpAddr::from(a), length };
    let six = |text: u128, length| Prefix { network: Ipv6Addr::from_bits(text).into(), length };
    [
        (four([0, 0, 0, 0], 8), DENIED | LINK),
        (four([127, 0, 0, 0], 8), DENIED),
        (four([169, 254, 0, 0], 16), DENIED | LINK),
        (four([224, 0, 0, 0], 4), DENIED | LINK),
        (four([240, 0, 0, 0], 4), DENIED),
        (four([255, 255, 255, 255], 32), DENIED | LINK),
        // IPv4 addresses within IPv6, and loopback.
        (six(0, 96), DENIED),
        (six(0, 128), DENIED | LINK),
        (six(0xffff << 32, 96), DENIED),
        (LOCAL_NAT64, DENIED),
        (six(0xfe80 << 112, 10), DENIED | LINK),
        (six(0xff << 120, 8), DENIED | LINK),
    ]
}

fn host(address: IpAddr) -> Prefix {
    Prefix { network: address, length: if address.is_ipv4() { 32 } else { 128 } }
}

/// The broadcast addresses of a network.
fn broadcasts(own: &OwnAddress) -> impl Iterator<Item = IpAddr> {
    let all = match own.address {
        IpAddr::V4(address) if own.prefix < 31 => {
            let hosts = u32::MAX.checked_shr(own.prefix.into()).unwrap_or(0);
            [address.to_bits() & !hosts, address.to_bits() | hosts].to_vec()
        }
        _ => Vec::new(),
    };
    all.into_iter().map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits)))
}

impl Perimeter {
    /// Without interfaces and peers.
    pub fn new(policy: Policy) -> Self {
        let narrow = |service: &&Service| service.protocol.is_some() || service.port.is_some();
        let translations = Translation::all(&policy.allowed);
        let mut services: BTreeSet<Service> =
            policy.allowed.iter().filter(narrow).copied().collect();
        let embedded: Vec<Service> = services
            .iter()
            .flat_map(|service| translations.iter().filter_map(move |to| to.service(service)))
            .collect();
        services.extend(embedded);
        let (state, generation) = (RwLock::default(), AtomicU64::default());
        let perimeter = Perimeter { policy, services, translations, state, generation };
        perimeter.rebuild(&mut perimeter.write());
        perimeter
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the addresses of the machine. Returns whether the perimeter changed.
    pub fn set_own(&self, own: BTreeSet<OwnAddress>) -> bool {
        let mut state = self.write();
        let changes = state.own != own;
        if changes {
            state.own = own;
            self.rebuild(&mut state);
        }
        changes
    }

    /// Adds peers to which sessions have tunnels, or removes them. Returns whether the perimeter
    /// changed.
    pub fn set_peers(&self, changes: &[(IpAddr, bool)]) -> bool {
        let mut state = self.write();
        let mut changed = false;
        for (peer, here) in changes {
            changed |= match here {
                true => state.add_peer(*peer),
                false => state.peers.remove(peer),
            };
        }
        if changed {
            self.rebuild(&mut state);
        }
        changed
    }

    fn rebuild(&self, state: &mut State) {
        let entries = self.entries_of(state);
        let four = entries.iter().filter_map(|(prefix, class)| match prefix.network {
            IpAddr::V4(network) => Some((network.to_bits(), prefix.length, *class)),
            IpAddr::V6(_) => None,
        });
        state.four = Ranges::<u32>::new(four);
        let six = entries.iter().filter_map(|(prefix, class)| match prefix.network {
            IpAddr::V4(_) => None,
            IpAddr::V6(network) => Some((network.to_bits(), prefix.length, *class)),
        });
        state.six = Ranges::<u128>::new(six);
        self.generation.fetch_add(1, Ordering::Release);
    }

    fn entries_of(&self, state: &State) -> BTreeMap<Prefix, u8> {
        let mut entries: BTreeMap<Prefix, u8> = constant().into_iter().collect();
        let mut deny = |prefix: Prefix, class: u8| {
            entries.insert(prefix, class);
        };
        self.policy.denied.iter().for_each(|prefix| deny(*prefix, DENIED));
        for own in &state.own {
            // The network comes first, since it may be a host's: then its address is added.
            if self.policy.core.contains(&own.address) && !own.to_data_network {
                deny(Prefix::of(own.address, own.prefix), DENIED);
            }
        }
        for own in &state.own {
            deny(host(own.address), DENIED);
            broadcasts(own).for_each(|address| deny(host(address), DENIED));
        }
        self.policy.core.iter().for_each(|address| deny(host(*address), DENIED));
        state.peers.iter().for_each(|peer| deny(host(*peer), DENIED));
        self.policy.gateways.iter().for_each(|address| deny(host(*address), DENIED | GATEWAY));
        for service in &self.policy.allowed {
            if !self.services.contains(service) {
                deny(service.network, 0);
            }
        }
        self.embed(&mut entries);
        entries
    }

    /// Adds the IPv6 addresses that have IPv4 addresses in them.
    fn embed(&self, entries: &mut BTreeMap<Prefix, u8>) {
        let of_ipv6 = entries.iter().filter_map(|(prefix, class)| match prefix.network {
            IpAddr::V4(_) => None,
            IpAddr::V6(network) => Some((network.to_bits(), prefix.length, *class)),
        });
        let as_they_are = Ranges::<u128>::new(of_ipv6);
        let of_ipv4 = entries.iter().filter_map(|(prefix, class)| match prefix.network {
            IpAddr::V4(network) => Some((network, prefix.length, *class)),
            IpAddr::V6(_) => None,
        });
        let embedded: Vec<(Prefix, u8)> = of_ipv4
            .flat_map(|(network, length, class)| {
                self.translations.iter().flat_map(move |to| to.entries(network, length, class))
            })
            .collect();
        for (prefix, class) in embedded {
            // What opens an IPv4 network does not open the IPv6 network in which it is embedded.
            let is_denied = match prefix.network {
                IpAddr::V6(network) => as_they_are.get(network.to_bits()) & DENIED != 0,
                IpAddr::V4(_) => true,
            };
            if class != 0 || !is_denied {
                entries.entry(prefix).or_insert(class);
            }
        }
    }

    /// Changes whenever [`entries`](Self::entries) or [`sources`](Self::sources) may have changed.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Destinations and what applies to them; the longest prefix counts.
    pub fn entries(&self) -> BTreeMap<Prefix, u8> {
        self.entries_of(&self.read())
    }

    /// Services that may be reached though their address is denied.
    pub fn services(&self) -> &BTreeSet<Service> {
        &self.services
    }

    /// Networks of peers on N3 with their numbers; none while no peer is known.
    pub fn sources(&self) -> BTreeMap<Prefix, u16> {
        let named = self.policy.peers.iter().map(|network| (*network, NAMED));
        let state = self.read();
        let number = |peer| state.numbers.get(peer).copied().unwrap_or(NAMED);
        let peers = state.peers.iter().map(|peer| (host(*peer), number(peer)));
        named.chain(peers).collect()
    }

    /// The number of a peer, by which tables of other datapaths have the gNB of a session; `None`
    /// if it has none.
    pub fn number(&self, peer: IpAddr) -> Option<u16> {
        self.read().numbers.get(&peer).copied()
    }

    /// The accepted senders of a session's uplink packets.
    pub fn source_check(&self) -> Sources {
        self.policy.sources
    }

    /// The relation of a sender to a session. `of_access`: in a tunnel from the gNBs of the
    /// session.
    pub fn sender(&self, from: IpAddr, of: &Senders, of_access: bool, now: Instant) -> Sender {
        let is_accepted = match self.policy.sources {
            Sources::Any => true,
            Sources::Session if of_access && of.are_known() => {
                if of.has(from, now) || self.has_no_peers() {
                    return Sender::Accepted;
                }
                if !self.names_peers() || self.is_peer(from) {
                    return Sender::Early;
                }
                false
            }
            Sources::Session | Sources::Peers => self.accepts(from, of.are_known()),
        };
        if is_accepted { Sender::Accepted } else { Sender::Foreign }
    }

    /// Whether the configuration names networks of peers.
    pub fn names_peers(&self) -> bool {
        !self.policy.peers.is_empty()
    }

    /// Whether a sender on N3 is a peer: a session has a tunnel to it, or the configuration names
    /// its network.
    pub fn is_peer(&self, from: IpAddr) -> bool {
        self.policy.peers.iter().any(|network| network.contains(from))
            || self.read().peers.contains(&from)
    }

    /// Whether no peer is known, so that any sender may be one.
    pub fn has_no_peers(&self) -> bool {
        !self.names_peers() && self.read().peers.is_empty()
    }

    /// Whether a G-PDU is accepted from a sender. `has_tunnel`: its session has a tunnel to the
    /// access. Before, the sender may be a gNB that no session knows yet, unless the configuration
    /// names all of them.
    pub fn accepts(&self, from: IpAddr, has_tunnel: bool) -> bool {
        !(has_tunnel || self.names_peers()) || self.is_peer(from) || self.has_no_peers()
    }

    /// Whether a sender gets an Error Indication for an unknown tunnel: only peers do, so that
    /// others do not learn which tunnels exist; while no peer is known, every sender does.
    pub fn informs(&self, from: IpAddr) -> bool {
        self.is_peer(from) || self.has_no_peers()
    }

    /// Whether a packet of a UE may leave to its destination. `packet` begins with the IP header.
    pub fn permits(&self, flow: &Flow, packet: &[u8]) -> bool {
        let class = self.class(flow.destination);
        class & DENIED == 0 || self.is_exception(class, flow, has_options(packet))
    }

    /// The same for a frame of an Ethernet session.
    pub fn permits_frame(&self, flow: &Flow, frame: &[u8]) -> bool {
        let Some(header) = &flow.ethernet else { return false };
        let destination = match header.ethertype {
            // A frame without a whole packet has no protocol.
            ETHERTYPE_IPV4 | ETHERTYPE_IPV6 if flow.protocol == NO_PROTOCOL => return false,
            ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => flow.destination,
            ETHERTYPE_ARP => match arp_target(frame) {
                Some(target) => target,
                None => return false,
            },
            // More tags than are read here: Linux removes any number of them that have the VLAN
            // identifier 0, and takes the packet behind them.
            ETHERTYPE_C_TAG | ETHERTYPE_S_TAG => return false,
            _ => return true,
        };
        let class = self.class(destination);
        class & DENIED == 0
            || class & LINK != 0
            || header.ethertype == ETHERTYPE_ARP && class & GATEWAY != 0
            || self.is_exception(class, flow, has_options(packet_in(frame)))
    }

    fn class(&self, destination: IpAddr) -> u8 {
        let state = self.read();
        match destination {
            IpAddr::V4(address) => state.four.get(address.to_bits()),
            IpAddr::V6(address) => state.six.get(address.to_bits()),
        }
    }

    fn is_exception(&self, class: u8, flow: &Flow, options: bool) -> bool {
        // A source route could continue to a denied address.
        if options {
            return false;
        }
        let icmp = matches!(flow.protocol, ICMP | ICMPV6);
        // Later fragments have no ports. Without the first one they are not reassembled. The ports
        // of a first one may be in the second, and are unknown then.
        let is_later = flow.fragment.is_some_and(|fragment| !fragment.first);
        let at_port = |port: u16| flow.ports.map_or(is_later, |(_, to)| to == port);
        let dns = matches!(flow.protocol, TCP | UDP) && at_port(DNS);
        class & GATEWAY != 0 && (icmp || dns)
            || self.services.iter().any(|service| {
                service.network.contains(flow.destination)
                    && service.protocol.is_none_or(|protocol| {
                        protocol == flow.protocol || protocol == ICMP && icmp
                    })
                    && service.port.is_none_or(at_port)
            })
    }
}

/// The protocol of a flow that is not an IP packet.
const NO_PROTOCOL: u8 = 255;

fn has_options(packet: &[u8]) -> bool {
    packet.first().is_some_and(|first| first >> 4 == 4 && first & 0x0f > 5)
}

/// What a frame carries behind its header, which has up to two tags.
fn packet_in(frame: &[u8]) -> &[u8] {
    let begin = martlet_upf_rules::EthernetHeader::of(frame).map(|(_, at)| at);
    begin.and_then(|at| frame.get(at..)).unwrap_or_default()
}

/// The target address of an ARP message.
fn arp_target(frame: &[u8]) -> Option<IpAddr> {
    let target = packet_in(frame).get(24..28)?;
    Some(IpAddr::V4(<[u8; 4]>::try_from(target).ok()?.into()))
}

#[cfg(test)]
mod tests;
