//! The part of a session that a switch can forward, in the terms of the switch's tables, without
//! numbers of counters, meters and next hops.
//!
//! Packets that the tables cannot distinguish stay with the native UPF, which gets all packets
//! without a rule. A filter that the switch cannot express is widened, and its packets go to the
//! native UPF.
use martlet_pfcp::ie::Interface;
use martlet_upf_datapath::perimeter::Sources;
use martlet_upf_rules::{
    Action, Direction, Far, Network, Pdr, Qer, SdfRule, Session, SessionKind, Side, Tunnel,
    UeAddress,
};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why a switch cannot forward a session.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unsupported {
    #[error("the session is not of type IP, or has framed routes")]
    NotPlainIp,
    #[error("an application is detected by URLs, which a switch does not read")]
    Urls,
    #[error("the UE has several addresses of one IP version")]
    SeveralAddresses,
    #[error("the session has no uplink tunnel, or several")]
    Tunnels,
    #[error("uplink packets of the session return to the access side")]
    ReturnsToAccess,
    #[error("a bit rate is 0")]
    ZeroRate,
    #[error("no packets of the session are currently forwarded by rules that a switch supports")]
    NothingForwarded,
    #[error("a bit rate applies to packets on both paths")]
    RateOverBothPaths,
    #[error("more than two bit rates apply to a packet")]
    ThreeRates,
    #[error("FAR {0} does not exist")]
    NoFar(u32),
    #[error("uplink: {0}; downlink: {1}")]
    Both(Box<Unsupported>, Box<Unsupported>),
}

/// IP version of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Version {
    V4,
    V6,
}

/// The addresses of a UE: an IPv4 address, the upper half of an IPv6 prefix of 64 bits, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ue {
    pub v4: Option<Ipv4Addr>,
    pub v6: Option<u64>,
}

/// Next hop of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Next {
    Gnb(IpAddr),
    /// The data network, for packets of this version.
    Network(Version),
}

/// A session on a switch, with at least one direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    pub ue: Ue,
    /// Packets from the UE.
    pub uplink: Option<DirectionPlan>,
    /// Packets to the UE.
    pub downlink: Option<DirectionPlan>,
}

/// One direction of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DirectionPlan {
    /// The TEID of the tunnel from the UE; none for downlink.
    pub teid: Option<u32>,
    /// The gNB from which uplink packets are accepted; others' go to the native UPF. None: all.
    pub sender: Option<IpAddr>,
    /// The QER whose bit rate is shared by all rules.
    pub rate: Option<Rate>,
    /// In matching order.
    pub rules: Vec<Rule>,
}

/// The maximum bit rate of a QER.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rate {
    pub qer: u32,
    /// Bits per second.
    pub bits: u64,
}

/// A PDR of one direction, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    pub pdr: u16,
    pub urrs: Vec<u32>,
    /// Alternatives.
    pub matches: Vec<Match>,
    pub towards: Towards,
    /// A bit rate in addition to the shared one.
    pub rate: Option<Rate>,
}

/// Destination of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Towards {
    /// The native UPF.
    Native,
    /// The data network.
    Network,
    /// A tunnel, with the QFI byte of the container.
    Gnb { tunnel: u32, peer: IpAddr, qfi: u8 },
}

/// Match fields of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Match {
    pub version: Version,
    /// Remote network and prefix length.
    pub remote: Option<(IpAddr, u8)>,
    /// Remote ports.
    pub ports: Option<(u16, u16)>,
    pub protocol: Option<u8>,
    pub qfi: Option<u8>,
}

impl Match {
    /// All packets of a version.
    pub fn all(version: Version) -> Match {
        Match { version, remote: None, ports: None, protocol: None, qfi: None }
    }
}

impl Ue {
    pub fn versions(&self) -> impl Iterator<Item = Version> {
        [self.v4.map(|_| Version::V4), self.v6.map(|_| Version::V6)].into_iter().flatten()
    }

    fn of(&self, version: Version) -> Option<UeAddress> {
        match version {
            Version::V4 => self.v4.map(UeAddress::V4),
            Version::V6 => self.v6.map(UeAddress::V6),
        }
    }

    /// The UE's addresses; of a prefix, the first one.
    pub fn addresses(&self) -> BTreeSet<IpAddr> {
        let v6 = self.v6.map(|prefix| Ipv6Addr::from_bits(u128::from(prefix) << 64));
        self.v4.map(IpAddr::from).into_iter().chain(v6.map(IpAddr::from)).collect()
    }
}

impl DirectionPlan {
    /// Whether a single entry expresses the direction.
    pub fn is_single_entry(&self) -> bool {
        let [rule] = &self.rules[..] else { return false };
        let Some(qfi) = rule.matches.first().map(|first| first.qfi) else { return false };
        let whole = |of: &Match| *of == Match { qfi, ..Match::all(of.version) };
        rule.rate.is_none()
            && rule.matches.iter().all(whole)
            && rule.matches.len() == self.versions().len()
    }

    /// The versions of packets that any rule matches.
    pub fn versions(&self) -> BTreeSet<Version> {
        self.rules.iter().flat_map(|rule| &rule.matches).map(|of| of.version).collect()
    }

    /// The part for packets of one version, if any.
    fn only(&self, version: Version) -> Option<DirectionPlan> {
        let mut part = self.clone();
        part.rules.iter_mut().for_each(|rule| rule.matches.retain(|of| of.version == version));
        part.rules.retain(|rule| !rule.matches.is_empty());
        part.rules.iter().any(|rule| rule.towards != Towards::Native).then_some(part)
    }
}

impl Plan {
    /// The plan of a session, or why a switch cannot forward it.
    pub fn of(session: &Session) -> Result<Plan, Unsupported> {
        if session.kind != SessionKind::Ip || session.pdrs.values().any(|pdr| pdr.extras.is_some())
        {
            return Err(Unsupported::NotPlainIp);
        }
        if session.detects_urls() {
            return Err(Unsupported::Urls);
        }
        let mut ue = Ue { v4: None, v6: None };
        for address in session.ue_addresses() {
            let another = match address {
                UeAddress::V4(address) => ue.v4.replace(address).is_some(),
                UeAddress::V6(prefix) => ue.v6.replace(prefix).is_some(),
            };
            if another {
                return Err(Unsupported::SeveralAddresses);
            }
        }
        let part = |direction| plan_direction(session, &ue, direction);
        match (part(Direction::Uplink), part(Direction::Downlink)) {
            (Err(up), Err(down)) => {
                Err(if up == down { up } else { Unsupported::Both(up.into(), down.into()) })
            }
            (up, down) => Ok(Plan { ue, uplink: up.ok(), downlink: down.ok() }),
        }
    }

    /// The directions that the plan contains.
    pub fn directions(&self) -> impl Iterator<Item = (Direction, &DirectionPlan)> {
        let directions = [(Direction::Uplink, &self.uplink), (Direction::Downlink, &self.downlink)];
        directions
            .into_iter()
            .filter_map(|(direction, part)| part.as_ref().map(|part| (direction, part)))
    }

    /// All next hops of the plan.
    pub fn nexts(&self) -> BTreeSet<Next> {
        let networks = self.uplink.iter().flat_map(DirectionPlan::versions).map(Next::Network);
        // A sender with an IPv6 address has the number of its next hop.
        let sender = self.uplink.iter().filter_map(|part| part.sender).filter(IpAddr::is_ipv6);
        self.peers().into_iter().chain(sender).map(Next::Gnb).chain(networks).collect()
    }

    /// What a switch may forward, if uplink packets are accepted from there. Where the session's
    /// gNB is not known, or it has several, they stay with the native UPF.
    pub fn checked(mut self, sources: Sources) -> Result<Plan, Unsupported> {
        if sources == Sources::Session {
            self.uplink = self.uplink.filter(|part| part.sender.is_some());
        } else if let Some(part) = &mut self.uplink {
            part.sender = None;
        }
        match (&self.uplink, &self.downlink) {
            (None, None) => Err(Unsupported::NothingForwarded),
            _ => Ok(self),
        }
    }

    /// The part for packets of one version, if any.
    pub fn only(&self, version: Version) -> Option<Plan> {
        let of = |part: &Option<DirectionPlan>| part.as_ref().and_then(|part| part.only(version));
        let ue = match version {
            Version::V4 => Ue { v6: None, ..self.ue },
            Version::V6 => Ue { v4: None, ..self.ue },
        };
        let plan = Plan { ue, uplink: of(&self.uplink), downlink: of(&self.downlink) };
        (plan.uplink.is_some() || plan.downlink.is_some()).then_some(plan)
    }

    /// The gNBs of the plan.
    pub fn peers(&self) -> BTreeSet<IpAddr> {
        let towards =
            self.directions().flat_map(|(_, part)| part.rules.iter().map(|rule| rule.towards));
        towards
            .filter_map(|to| if let Towards::Gnb { peer, .. } = to { Some(peer) } else { None })
            .collect()
    }

    /// The QFIs of downlink tunnels.
    pub fn qfis(&self) -> BTreeSet<u8> {
        let towards =
            self.directions().flat_map(|(_, part)| part.rules.iter().map(|rule| rule.towards));
        towards
            .filter_map(
                |to| if let Towards::Gnb { qfi, .. } = to { Some(qfi & 0x3f) } else { None },
            )
            .collect()
    }
}

fn plan_direction(
    session: &Session,
    ue: &Ue,
    direction: Direction,
) -> Result<DirectionPlan, Unsupported> {
    let uplink = direction == Direction::Uplink;
    let in_direction = |pdr: &&Pdr| match uplink {
        true => pdr.local.is_some() && pdr.direction() == Direction::Uplink,
        false => pdr.local.is_none(),
    };
    let mut pdrs: Vec<&Pdr> = session.pdrs.values().filter(in_direction).collect();
    pdrs.sort_by_key(|pdr| (pdr.precedence, pdr.id));
    let teid = match uplink {
        false => None,
        true => {
            let teids: BTreeSet<u32> =
                pdrs.iter().filter_map(|pdr| pdr.local).map(|local| local.teid).collect();
            let mut teids = teids.into_iter();
            let (Some(teid), None) = (teids.next(), teids.next()) else {
                return Err(Unsupported::Tunnels);
            };
            let shared = |pdr: &Pdr| {
                pdr.local.is_some_and(|local| local.teid == teid) && !in_direction(&pdr)
            };
            if session.pdrs.values().any(shared) {
                return Err(Unsupported::ReturnsToAccess);
            }
            Some(teid)
        }
    };
    let (mut rules, mut rates): (Vec<Rule>, Vec<Vec<Rate>>) = (Vec::new(), Vec::new());
    for pdr in pdrs {
        let its = |version: &Version| {
            pdr.ue.is_empty() || ue.of(*version).is_some_and(|of| pdr.ue.contains(&of))
        };
        let versions: Vec<Version> = ue.versions().filter(its).collect();
        if versions.is_empty() {
            continue;
        }
        let towards = towards(session, pdr, direction)?;
        let own: Vec<Rate> = rates_of(session, pdr, direction).collect();
        if own.iter().any(|rate| rate.bits == 0) {
            return Err(Unsupported::ZeroRate);
        }
        let mut all = false;
        for (exact, matches) in matches(pdr, &versions) {
            all |= exact && ue.versions().all(|version| matches.contains(&Match::all(version)));
            let towards = if exact { towards } else { Towards::Native };
            rules.push(Rule { pdr: pdr.id, urrs: pdr.urrs.clone(), matches, towards, rate: None });
            rates.push(own.clone());
        }
        if all {
            break;
        }
    }
    // Packets without a match reach the native side anyway.
    while rules.last().is_some_and(|rule| rule.towards == Towards::Native) {
        if rates.last().is_some_and(|own| {
            own.iter().any(|rate| rates[..rates.len() - 1].iter().flatten().any(|r| r == rate))
        }) {
            break;
        }
        rules.pop();
        rates.pop();
    }
    let on_switch = |rule: &Rule| rule.towards != Towards::Native;
    if !rules.iter().any(on_switch) {
        return Err(Unsupported::NothingForwarded);
    }
    let of = |on: bool| {
        rules.iter().zip(&rates).filter(move |(rule, _)| on_switch(rule) == on).map(|(_, own)| own)
    };
    if of(false).flatten().any(|rate| of(true).flatten().any(|other| other.qer == rate.qer)) {
        return Err(Unsupported::RateOverBothPaths);
    }
    let shared = of(true)
        .next()
        .and_then(|first| first.iter().find(|rate| of(true).all(|own| own.contains(rate))));
    let shared = shared.copied();
    for (rule, own) in rules.iter_mut().zip(&rates) {
        let mut others = own.iter().filter(|rate| Some(**rate) != shared);
        rule.rate = others.next().copied();
        if rule.towards != Towards::Native && others.next().is_some() {
            return Err(Unsupported::ThreeRates);
        }
    }
    let mut gnbs = session.access_peers().into_iter().filter(|_| uplink);
    let sender = match (gnbs.next(), gnbs.next()) {
        (Some(gnb), None) => Some(gnb),
        _ => None,
    };
    Ok(DirectionPlan { teid, sender, rate: shared, rules })
}

fn rates_of(session: &Session, pdr: &Pdr, direction: Direction) -> impl Iterator<Item = Rate> {
    let qers = pdr.qers.iter().filter_map(|id| session.qers.get(id));
    qers.filter_map(move |qer| Some(Rate { qer: qer.id, bits: qer.mbr?.of(direction) }))
}

/// The destination of a PDR's packets.
fn towards(session: &Session, pdr: &Pdr, direction: Direction) -> Result<Towards, Unsupported> {
    let Some(far) = session.fars.get(&pdr.far) else {
        return Err(Unsupported::NoFar(pdr.far));
    };
    let qers: Vec<&Qer> = pdr.qers.iter().filter_map(|id| session.qers.get(id)).collect();
    // The switch neither marks outer headers, nor copies or redirects, nor sees traffic start.
    let rare = far.marking.is_some()
        || far.redirect.is_some()
        || far.duplicates
        || qers.iter().any(|qer| qer.is_rare());
    if rare {
        return Ok(Towards::Native);
    }
    let exhausted = |id: &u32| {
        session.urrs.get(id).is_some_and(|urr| {
            urr.exhausted
                || urr.inactive
                || urr.detects_traffic()
                || urr.quota_holding_time.is_some()
        })
    };
    if qers.iter().any(|qer| !qer.passes(direction)) || pdr.urrs.iter().any(exhausted) {
        return Ok(Towards::Native);
    }
    // A packet is marked with the QFI of the first QER that has one.
    let mark =
        qers.iter().find_map(|qer| qer.qfi.map(|qfi| qfi | if qer.reflective { 0x40 } else { 0 }));
    Ok(match (direction, far) {
        (
            Direction::Uplink,
            Far {
                action: Action::Forward,
                destination: Some(Interface::Core | Interface::SgiLan),
                tunnel: None,
                ..
            },
        ) => Towards::Network,
        (
            Direction::Downlink,
            Far {
                action: Action::Forward,
                destination: Some(Interface::Access),
                tunnel: Some(Tunnel { teid, peer }),
                ..
            },
        ) => mark.map_or(Towards::Native, |qfi| Towards::Gnb { tunnel: *teid, peer: *peer, qfi }),
        _ => Towards::Native,
    })
}

/// The matches of a PDR: those that the switch expresses exactly, and wider ones.
fn matches(pdr: &Pdr, versions: &[Version]) -> Vec<(bool, Vec<Match>)> {
    let (mut exact, mut wider) = (Vec::new(), Vec::new());
    let every = [SdfRule::default()];
    let filters = if pdr.rules.is_empty() { &every[..] } else { &pdr.rules };
    for (filter, version) in
        filters.iter().flat_map(|filter| versions.iter().map(move |version| (filter, *version)))
    {
        let Some((is_exact, found)) = matches_of(filter, version) else { continue };
        if pdr.qfis.is_empty() {
            (if is_exact { &mut exact } else { &mut wider }).extend(found);
            continue;
        }
        for &qfi in &pdr.qfis {
            // 0 means any QFI in the tables.
            let into = if is_exact && qfi != 0 { &mut exact } else { &mut wider };
            into.extend(
                found.iter().map(|of| Match { qfi: Some(qfi).filter(|qfi| *qfi != 0), ..*of }),
            );
        }
    }
    [(true, exact), (false, wider)].into_iter().filter(|(_, matches)| !matches.is_empty()).collect()
}

/// The matches of a filter for packets of a version, and whether they are exact; `None` if it
/// matches none.
fn matches_of(filter: &SdfRule, version: Version) -> Option<(bool, Vec<Match>)> {
    let v6 = version == Version::V6;
    let of_others = |side: &Side| {
        side.network.is_some_and(|Network { address, not, .. }| !not && address.is_ipv6() != v6)
    };
    if (filter.flow_label.is_some() && !v6) || of_others(&filter.remote) || of_others(&filter.ue) {
        return None;
    }
    let remote = match filter.remote.network {
        Some(Network { address: IpAddr::V4(address), prefix, not: false }) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
            Some((Ipv4Addr::from_bits(address.to_bits() & mask).into(), prefix))
        }
        Some(Network { address: IpAddr::V6(address), prefix, not: false }) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0);
            Some((Ipv6Addr::from_bits(address.to_bits() & mask).into(), prefix))
        }
        _ => None,
    };
    let plain = Match { remote, protocol: filter.protocol, ..Match::all(version) };
    let exact = (filter.remote.network.is_none() || remote.is_some())
        && filter.ue == Side::default()
        && filter.traffic_class.is_none()
        && filter.security_parameter_index.is_none()
        && filter.flow_label.is_none()
        // Packets without ports have port 0 in the tables, so port 0 cannot be matched.
        && !filter.remote.ports.iter().any(|range| *range.start() == 0);
    let ports = filter.remote.ports.iter().filter(|range| !range.is_empty());
    let matches = match filter.remote.ports.is_empty() {
        true => vec![plain],
        false => ports
            .map(|range| Match { ports: Some((*range.start(), *range.end())), ..plain })
            .collect(),
    };
    (!matches.is_empty()).then_some((exact, matches))
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
