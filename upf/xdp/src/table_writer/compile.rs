//! Compiles a session to the structs of the programs.
use super::filters::{self, Compiled};
use super::unsupported::Unsupported;
use crate::loader::types::{rule, rule_cold, rule_flag as r};
use martlet_pfcp::ie::{Interface, ReportingTriggers};
use martlet_upf_datapath::{DatapathError, PdrError, ResourceError};
use martlet_upf_rules::{Action, Direction, Far, Pdr, Prefix, Session, UeAddress, Urr};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Position of the class in a rule's flags, equal to `bpf/qos.h`.
pub(super) const CLASS_SHIFT: u32 = 24;

/// The class in a rule's flags.
pub(super) fn class_in(flags: u32) -> usize {
    (flags >> CLASS_SHIFT & 3) as usize
}

/// Maximum bit rates and volume limits of one PDR; as `bpf/structs.h` has them.
const MAX_BUCKETS: usize = 4;
const MAX_LIMITS: usize = 8;
/// Candidates of one lookup key; as `bpf/classify.h` has it.
const MAX_CANDIDATES: usize = 512;

/// The lookup keys of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LookupKey {
    Teid(u32),
    Ue(UeAddress),
    /// A network behind a UE: address and prefix length.
    Route4(Ipv4Addr, u8),
    Route6(Ipv6Addr, u8),
}

impl LookupKey {
    pub fn of_route(route: &Prefix) -> LookupKey {
        match route.network {
            IpAddr::V4(network) => LookupKey::Route4(network, route.length),
            IpAddr::V6(network) => LookupKey::Route6(network, route.length),
        }
    }

    /// The network's address.
    pub fn route(self) -> Option<Prefix> {
        match self {
            LookupKey::Teid(_) | LookupKey::Ue(_) => None,
            LookupKey::Route4(network, length) => Some(Prefix { network: network.into(), length }),
            LookupKey::Route6(network, length) => Some(Prefix { network: network.into(), length }),
        }
    }
}

/// The lookup tables that sessions can fill, since one may have many of these keys. Each has as
/// many entries as there can be sessions.
#[derive(Debug, Clone, Copy)]
pub(super) enum KeyTable {
    Prefixes,
    Routes4,
    Routes6,
}

impl KeyTable {
    pub const ALL: [KeyTable; 3] = [KeyTable::Prefixes, KeyTable::Routes4, KeyTable::Routes6];

    /// The table of a key, if it can be full.
    pub fn of(lookup_key: LookupKey) -> Option<KeyTable> {
        match lookup_key {
            LookupKey::Teid(_) | LookupKey::Ue(UeAddress::V4(_)) => None,
            LookupKey::Ue(UeAddress::V6(_)) => Some(KeyTable::Prefixes),
            LookupKey::Route4(..) => Some(KeyTable::Routes4),
            LookupKey::Route6(..) => Some(KeyTable::Routes6),
        }
    }

    /// Its name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            KeyTable::Prefixes => "ipv6_prefixes",
            KeyTable::Routes4 => "ipv4_routes",
            KeyTable::Routes6 => "ipv6_routes",
        }
    }
}

/// A volume limit of a usage reporting rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Limit {
    pub urr: u32,
    pub quota: bool,
    /// The direction that is counted; both if `None`.
    pub of: Option<Direction>,
    pub bytes: u64,
}

/// A PDR with the rules that apply to its packets.
pub(super) struct Planned {
    pub pdr: u16,
    pub direction: Direction,
    /// Packets come from the data network.
    pub from_network: bool,
    pub rule: rule,
    pub rest: rule_cold,
    /// QERs with a maximum bit rate.
    pub rates: Vec<u32>,
    pub urrs: Vec<u32>,
}

pub(super) struct Plan {
    pub rules: Vec<Planned>,
    pub limits: Vec<Limit>,
    /// For each lookup key, positions in `rules` by precedence, with their filters.
    pub lookup_keys: BTreeMap<LookupKey, Vec<(usize, Vec<Compiled>)>>,
    pub buffers: bool,
    /// A limit is near: packets are counted against all of them.
    pub exact: bool,
}

/// The compiled form of a session.
pub(super) fn plan(session: &Session, require_qfi: bool) -> Result<Plan, DatapathError> {
    let default_flows = if require_qfi { BTreeSet::new() } else { session.default_flows() };
    let measuring = session.urrs.values().filter(|urr| !urr.inactive);
    let mut limits: Vec<Limit> = measuring.flat_map(limits_of).collect();
    limits.shrink_to_fit();
    if limits.len() > 256 {
        return Err(ResourceError::VolumeLimits { count: limits.len(), max: 256 }.into());
    }
    let mut by_precedence: Vec<&Pdr> = session.pdrs.values().collect();
    by_precedence.sort_by_key(|pdr| (pdr.precedence, pdr.id));
    let mut plan = Plan {
        rules: Vec::new(),
        limits,
        lookup_keys: BTreeMap::new(),
        buffers: false,
        exact: false,
    };
    let (ue, routed) = (session.ue_addresses(), !session.routes().is_empty());
    for pdr in by_precedence {
        let reject = |why: Unsupported| rejected(pdr, why);
        let Some(far) = session.fars.get(&pdr.far) else { continue };
        let mut planned = planned(session, pdr, far, (&ue, routed), &plan.limits)?;
        if default_flows.contains(&pdr.id) {
            planned.rule.flags |= r::RULE_DEFAULT_FLOW.0;
        }
        let direction = planned.direction;
        plan.buffers |= matches!(far.action, Action::Buffer { .. });
        let lookup_keys: Vec<LookupKey> = match pdr.local {
            Some(local) => vec![LookupKey::Teid(local.teid)],
            None => {
                let routes = pdr.routes().iter().map(LookupKey::of_route);
                pdr.ue.iter().copied().map(LookupKey::Ue).chain(routes).collect()
            }
        };
        for lookup_key in lookup_keys {
            let compiled: Result<Vec<Compiled>, Unsupported> =
                pdr.rules.iter().map(filters::compile).collect();
            let list = plan.lookup_keys.entry(lookup_key).or_default();
            let first = list.first().and_then(|(n, _): &(usize, _)| plan.rules.get(*n));
            if first.is_some_and(|first: &Planned| first.direction != direction) {
                return Err(reject(Unsupported::OtherDirection));
            }
            list.push((plan.rules.len(), compiled.map_err(reject)?));
            let candidates: usize = list
                .iter()
                .map(|(_, filters)| {
                    filters.iter().map(|f| f.candidates.len()).sum::<usize>().max(1)
                })
                .sum();
            if candidates > MAX_CANDIDATES {
                return Err(reject(Unsupported::TooManyFilters { max: MAX_CANDIDATES }));
            }
        }
        plan.rules.push(planned);
    }
    Ok(plan)
}

fn rejected(pdr: &Pdr, why: Unsupported) -> DatapathError {
    DatapathError::Pdr { pdr: pdr.id, why: PdrError::Unsupported(why.into()) }
}

fn limits_of(urr: &Urr) -> impl Iterator<Item = Limit> + use<> {
    let threshold = urr.volume_threshold.filter(|_| urr.triggers.has(ReportingTriggers::VOLTH));
    let id = urr.id;
    [(threshold, false), (urr.volume_quota, true)].into_iter().flat_map(move |(volume, quota)| {
        let volume = volume.unwrap_or_default();
        let each = [
            (volume.total, None),
            (volume.uplink, Some(Direction::Uplink)),
            (volume.downlink, Some(Direction::Downlink)),
        ];
        each.into_iter()
            .filter_map(move |(bytes, of)| Some(Limit { urr: id, quota, of, bytes: bytes? }))
    })
}

fn planned(
    session: &Session,
    pdr: &Pdr,
    far: &Far,
    ue: (&BTreeSet<UeAddress>, bool),
    limits: &[Limit],
) -> Result<Planned, DatapathError> {
    let reject = |why: Unsupported| rejected(pdr, why);
    let direction = pdr.direction();
    let mut rule = rule::default();
    let mut rest = rule_cold { pdr: u32::from(pdr.id), ..Default::default() };
    let mut flags = if direction == Direction::Uplink { r::RULE_UPLINK.0 } else { 0 };
    flags |= action(far, &mut rule, &mut rest);
    flags |= addresses(pdr, ue, &mut rule, &mut rest).map_err(reject)?;
    if direction == Direction::Downlink && session.asks_for_dns() {
        flags |= r::RULE_DNS.0;
    }
    if !pdr.qfis.is_empty() {
        flags |= r::RULE_MATCH_QFI.0;
        rest.qfis = pdr.qfis.iter().fold(0, |bits, qfi| bits | 1 << (qfi & 0x3f));
    }
    let qers = || pdr.qers.iter().filter_map(|id| session.qers.get(id));
    if qers().any(|qer| !qer.passes(direction)) {
        flags |= r::RULE_GATE.0;
    }
    if let Some((qfi, reflective)) = qers().find_map(|qer| Some((qer.qfi?, qer.reflective))) {
        flags |= r::RULE_MARK.0;
        // The indicator is one of packets to the UE.
        let to_ue = flags & r::RULE_TUNNEL_UP.0 == 0;
        rule.qfi = qfi & 0x3f | if reflective && to_ue { 0x40 } else { 0 };
    }
    let rates: Vec<u32> = qers().filter(|qer| qer.mbr.is_some()).map(|qer| qer.id).collect();
    if rates.len() > MAX_BUCKETS {
        let count = rates.len();
        return Err(reject(Unsupported::TooManyRates { count, max: MAX_BUCKETS }));
    }
    let urrs = || pdr.urrs.iter().filter_map(|id| session.urrs.get(id));
    if urrs().any(|urr| urr.awaits_traffic && !urr.inactive) {
        flags |= r::RULE_START.0;
    }
    if urrs().any(|urr| urr.exhausted && !urr.inactive) {
        flags |= r::RULE_QUOTA.0;
    }
    let own =
        |limit: &Limit| pdr.urrs.contains(&limit.urr) && limit.of.is_none_or(|of| of == direction);
    // A quota of one direction stops packets of the other, too.
    let stops = |limit: &Limit| pdr.urrs.contains(&limit.urr) && limit.quota;
    let counted: Vec<usize> = (0..limits.len()).filter(|n| own(&limits[*n])).collect();
    let foreign: Vec<usize> =
        (0..limits.len()).filter(|n| stops(&limits[*n]) && !own(&limits[*n])).collect();
    if counted.len() + foreign.len() > MAX_LIMITS {
        return Err(reject(Unsupported::TooManyLimits { max: MAX_LIMITS }));
    }
    rest.limit_count = counted.len() as u8;
    let all: Vec<usize> = counted.into_iter().chain(foreign).collect();
    for (slot, n) in all.iter().enumerate() {
        rest.limit[slot] = *n as u8;
        rest.quotas |= u8::from(limits[*n].quota) << slot;
    }
    rule.flags = flags;
    Ok(Planned {
        pdr: pdr.id,
        direction,
        from_network: pdr.local.is_none(),
        rule,
        rest,
        rates,
        urrs: urrs().filter(|urr| !urr.inactive).map(|urr| urr.id).collect(),
    })
}

fn action(far: &Far, rule: &mut rule, rest: &mut rule_cold) -> u32 {
    match (far.action, far.tunnel) {
        (Action::Drop, _) => r::RULE_DROP.0,
        (Action::Buffer { notify: false }, _) => r::RULE_BUFFER.0,
        (Action::Buffer { notify: true }, _) => r::RULE_BUFFER.0 | r::RULE_NOTIFY.0,
        (Action::Forward, None) => 0,
        (Action::Forward, Some(tunnel)) => {
            rule.teid = tunnel.teid.to_be();
            let version = match tunnel.peer {
                IpAddr::V4(peer) => {
                    rule.peer4 = u32::from_ne_bytes(peer.octets());
                    0
                }
                IpAddr::V6(peer) => {
                    rest.peer6 = super::words(peer);
                    r::RULE_TUNNEL6.0
                }
            };
            let to_access = far.destination == Some(Interface::Access);
            r::RULE_TUNNEL.0 | version | if to_access { 0 } else { r::RULE_TUNNEL_UP.0 }
        }
    }
}

/// The addresses that a packet's source is checked against, and that the PDR names.
fn addresses(
    pdr: &Pdr,
    (ue, routed): (&BTreeSet<UeAddress>, bool),
    rule: &mut rule,
    rest: &mut rule_cold,
) -> Result<u32, Unsupported> {
    // The PDR's addresses are compared only if they are not all of the UE's: another address is
    // foreign anyway. Packets from the data network were looked up by their address.
    let named: BTreeSet<UeAddress> = pdr.ue.iter().copied().collect();
    let some = ue.is_empty() || !ue.is_subset(&named) || (routed && pdr.routes().is_empty());
    let narrower = pdr.local.is_some() && !named.is_empty() && some;
    if narrower && !pdr.routes().is_empty() {
        return Err(Unsupported::SomeAddressesWithRoutes);
    }
    let mut flags = if narrower { r::RULE_MATCH_UE.0 } else { 0 };
    let (mut fours, mut sixes) = (0, 0);
    for address in if narrower { &named } else { ue } {
        match address {
            UeAddress::V4(address) => {
                // In other rules the programs store their own data in this field.
                if pdr.local.is_some() {
                    rule.ue4 = u32::from_ne_bytes(address.octets());
                }
                (flags, fours) = (flags | r::RULE_UE4.0, fours + 1);
            }
            UeAddress::V6(prefix) => {
                rest.ue6 = prefix.to_be();
                (flags, sixes) = (flags | r::RULE_UE6.0, sixes + 1);
            }
        }
    }
    if routed {
        flags |= r::RULE_UE_MANY.0;
    }
    if fours > 1 || sixes > 1 {
        if narrower {
            return Err(Unsupported::SomeAddresses);
        }
        flags |= r::RULE_UE_MANY.0;
    } else if narrower && !ue.is_empty() {
        flags |= r::RULE_UE_MANY.0;
    }
    Ok(flags)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_flag_of_a_rule_has_a_bit_of_its_own() {
        let mut taken: u32 = 3 << CLASS_SHIFT;
        for flag in [
            r::RULE_UPLINK,
            r::RULE_DROP,
            r::RULE_BUFFER,
            r::RULE_NOTIFY,
            r::RULE_TUNNEL,
            r::RULE_TUNNEL_UP,
            r::RULE_HELD,
            r::RULE_GATE,
            r::RULE_QUOTA,
            r::RULE_MARK,
            r::RULE_MATCH_UE,
            r::RULE_MATCH_QFI,
            r::RULE_UE4,
            r::RULE_UE6,
            r::RULE_UE_MANY,
            r::RULE_DNS,
            r::RULE_EXACT,
            r::RULE_BY_TEID,
            r::RULE_FRESH,
            r::RULE_SHARED,
            r::RULE_TUNNEL6,
            r::RULE_USER_SPACE,
            r::RULE_LIST,
            r::RULE_HAS_TUNNEL,
            r::RULE_SHAPED,
            r::RULE_DEFAULT_FLOW,
            r::RULE_GNB4,
            r::RULE_START,
        ] {
            assert_eq!(taken & flag.0, 0, "{:#x}", flag.0);
            taken |= flag.0;
        }
    }
}
