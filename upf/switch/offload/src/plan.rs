//! What of a session a switch can carry: its rules, in the terms of the switch's tables. Knows no
//! numbers of counters, meters and next hops yet.
//!
//! What the tables cannot tell apart stays with the native UPF: the switch hands on what meets no
//! rule. So a filter that looks at more than the switch does becomes one that takes more in, and
//! leads there.
use martlet_pfcp::ie::Interface;
use martlet_upf_rules::{
    Action, Direction, Far, Network, Pdr, Qer, SdfRule, Session, SessionKind, Side, Tunnel,
    UeAddress,
};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Which packets of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Version {
    V4,
    V6,
}

/// What a UE has: an address, a prefix of 64 bits by its upper half, or both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ue {
    pub v4: Option<Ipv4Addr>,
    pub v6: Option<u64>,
}

/// Where frames leave to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Next {
    Gnb(IpAddr),
    /// The data network, with packets of this version.
    Network(Version),
}

/// A session on a switch; one of its ways at least is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    pub ue: Ue,
    /// From the UE.
    pub uplink: Option<Way>,
    /// To the UE.
    pub downlink: Option<Way>,
}

/// One direction of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Way {
    /// The tunnel from the UE; none where packets are for it.
    pub teid: Option<u32>,
    /// The QER whose bit rate holds for all rules together.
    pub rate: Option<Rate>,
    /// In the order in which they match.
    pub rules: Vec<Rule>,
}

/// A maximum bit rate of a QER.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rate {
    pub qer: u32,
    /// Bits in a second.
    pub bits: u64,
}

/// A PDR of one direction, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    pub pdr: u16,
    pub urrs: Vec<u32>,
    /// One of these matches.
    pub matches: Vec<Match>,
    pub towards: Towards,
    /// A bit rate beside that of all rules.
    pub rate: Option<Rate>,
}

/// Where packets go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Towards {
    /// To the native UPF.
    Native,
    /// Out to the data network.
    Network,
    /// Into a tunnel, with the byte of the container that has the QoS flow.
    Gnb { tunnel: u32, peer: IpAddr, qfi: u8 },
}

/// What of a packet is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Match {
    pub version: Version,
    /// Network of the other end, and the length of its prefix.
    pub remote: Option<(IpAddr, u8)>,
    /// Ports of the other end.
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

    /// Its addresses; of a prefix, the first.
    pub fn addresses(&self) -> BTreeSet<IpAddr> {
        let v6 = self.v6.map(|prefix| Ipv6Addr::from_bits(u128::from(prefix) << 64));
        self.v4.map(IpAddr::from).into_iter().chain(v6.map(IpAddr::from)).collect()
    }
}

impl Way {
    /// Whether one entry says it all.
    pub fn is_simple(&self) -> bool {
        let [rule] = &self.rules[..] else { return false };
        let Some(qfi) = rule.matches.first().map(|first| first.qfi) else { return false };
        let whole = |of: &Match| *of == Match { qfi, ..Match::all(of.version) };
        rule.rate.is_none()
            && rule.matches.iter().all(whole)
            && rule.matches.len() == self.versions().len()
    }

    /// Of the packets that any rule takes.
    pub fn versions(&self) -> BTreeSet<Version> {
        self.rules.iter().flat_map(|rule| &rule.matches).map(|of| of.version).collect()
    }

    /// The same for packets of one version, where that is any.
    fn only(&self, version: Version) -> Option<Way> {
        let mut way = self.clone();
        way.rules.iter_mut().for_each(|rule| rule.matches.retain(|of| of.version == version));
        way.rules.retain(|rule| !rule.matches.is_empty());
        way.rules.iter().any(|rule| rule.towards != Towards::Native).then_some(way)
    }
}

impl Plan {
    /// The plan of a session, or why a switch cannot carry it.
    pub fn of(session: &Session) -> Result<Plan, String> {
        if session.kind != SessionKind::Ip || session.pdrs.values().any(|pdr| pdr.extras.is_some())
        {
            return Err("it carries frames, bytes without a form, or packets of networks behind \
                        the UE"
                .into());
        }
        let mut ue = Ue { v4: None, v6: None };
        for address in session.ue_addresses() {
            let another = match address {
                UeAddress::V4(address) => ue.v4.replace(address).is_some(),
                UeAddress::V6(prefix) => ue.v6.replace(prefix).is_some(),
            };
            if another {
                return Err("it has several addresses of one version".into());
            }
        }
        let way = |direction| way(session, &ue, direction);
        match (way(Direction::Uplink), way(Direction::Downlink)) {
            (Err(up), Err(down)) => {
                Err(if up == down { up } else { format!("uplink: {up}; downlink: {down}") })
            }
            (up, down) => Ok(Plan { ue, uplink: up.ok(), downlink: down.ok() }),
        }
    }

    /// Both ways, with their directions.
    pub fn ways(&self) -> impl Iterator<Item = (Direction, &Way)> {
        let ways = [(Direction::Uplink, &self.uplink), (Direction::Downlink, &self.downlink)];
        ways.into_iter().filter_map(|(direction, way)| way.as_ref().map(|way| (direction, way)))
    }

    /// All that its frames leave to.
    pub fn nexts(&self) -> BTreeSet<Next> {
        let networks = self.uplink.iter().flat_map(Way::versions).map(Next::Network);
        self.peers().into_iter().map(Next::Gnb).chain(networks).collect()
    }

    /// The same for packets of one version, where that is any.
    pub fn only(&self, version: Version) -> Option<Plan> {
        let of = |way: &Option<Way>| way.as_ref().and_then(|way| way.only(version));
        let ue = match version {
            Version::V4 => Ue { v6: None, ..self.ue },
            Version::V6 => Ue { v4: None, ..self.ue },
        };
        let plan = Plan { ue, uplink: of(&self.uplink), downlink: of(&self.downlink) };
        (plan.uplink.is_some() || plan.downlink.is_some()).then_some(plan)
    }

    /// The gNBs that it leads to.
    pub fn peers(&self) -> BTreeSet<IpAddr> {
        let towards = self.ways().flat_map(|(_, way)| way.rules.iter().map(|rule| rule.towards));
        towards
            .filter_map(|to| if let Towards::Gnb { peer, .. } = to { Some(peer) } else { None })
            .collect()
    }

    /// Its QoS flows to the UE.
    pub fn qfis(&self) -> BTreeSet<u8> {
        let towards = self.ways().flat_map(|(_, way)| way.rules.iter().map(|rule| rule.towards));
        towards
            .filter_map(
                |to| if let Towards::Gnb { qfi, .. } = to { Some(qfi & 0x3f) } else { None },
            )
            .collect()
    }
}

fn way(session: &Session, ue: &Ue, direction: Direction) -> Result<Way, String> {
    let uplink = direction == Direction::Uplink;
    let of_way = |pdr: &&Pdr| match uplink {
        true => pdr.local.is_some() && pdr.direction() == Direction::Uplink,
        false => pdr.local.is_none(),
    };
    let mut pdrs: Vec<&Pdr> = session.pdrs.values().filter(of_way).collect();
    pdrs.sort_by_key(|pdr| (pdr.precedence, pdr.id));
    let teid = match uplink {
        false => None,
        true => {
            let teids: BTreeSet<u32> =
                pdrs.iter().filter_map(|pdr| pdr.local).map(|local| local.teid).collect();
            let mut teids = teids.into_iter();
            let (Some(teid), None) = (teids.next(), teids.next()) else {
                return Err("it has no tunnel of its own, or several".into());
            };
            let shared =
                |pdr: &Pdr| pdr.local.is_some_and(|local| local.teid == teid) && !of_way(&pdr);
            if session.pdrs.values().any(shared) {
                return Err("its tunnel carries what goes back to the access".into());
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
            return Err("a bit rate of 0 lets nothing pass".into());
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
    // What matches nothing goes to the native side anyway.
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
        return Err("none of its packets can be forwarded by a switch now".into());
    }
    let of = |on: bool| {
        rules.iter().zip(&rates).filter(move |(rule, _)| on_switch(rule) == on).map(|(_, own)| own)
    };
    if of(false).flatten().any(|rate| of(true).flatten().any(|other| other.qer == rate.qer)) {
        return Err("a bit rate holds for packets of it that the switch cannot tell apart".into());
    }
    let shared = of(true)
        .next()
        .and_then(|first| first.iter().find(|rate| of(true).all(|own| own.contains(rate))));
    let shared = shared.copied();
    for (rule, own) in rules.iter_mut().zip(&rates) {
        let mut rest = own.iter().filter(|rate| Some(**rate) != shared);
        rule.rate = rest.next().copied();
        if rule.towards != Towards::Native && rest.next().is_some() {
            return Err("more than two bit rates hold for a packet".into());
        }
    }
    Ok(Way { teid, rate: shared, rules })
}

fn rates_of(session: &Session, pdr: &Pdr, direction: Direction) -> impl Iterator<Item = Rate> {
    let qers = pdr.qers.iter().filter_map(|id| session.qers.get(id));
    qers.filter_map(move |qer| Some(Rate { qer: qer.id, bits: qer.mbr?.of(direction) }))
}

/// Where packets of a PDR go.
fn towards(session: &Session, pdr: &Pdr, direction: Direction) -> Result<Towards, String> {
    let Some(far) = session.fars.get(&pdr.far) else {
        return Err(format!("there is no FAR {}", pdr.far));
    };
    let qers: Vec<&Qer> = pdr.qers.iter().filter_map(|id| session.qers.get(id)).collect();
    let exhausted = |id: &u32| session.urrs.get(id).is_some_and(|urr| urr.time_quota_exhausted);
    if qers.iter().any(|qer| !qer.passes(direction)) || pdr.urrs.iter().any(exhausted) {
        return Ok(Towards::Native);
    }
    // A packet takes the mark of the first QER that has one.
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

/// What a PDR matches: what the switch can tell as exactly, and what takes in more than the PDR
/// does.
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
            // 0 stands for any in the tables.
            let into = if is_exact && qfi != 0 { &mut exact } else { &mut wider };
            into.extend(
                found.iter().map(|of| Match { qfi: Some(qfi).filter(|qfi| *qfi != 0), ..*of }),
            );
        }
    }
    [(true, exact), (false, wider)].into_iter().filter(|(_, matches)| !matches.is_empty()).collect()
}

/// What a filter matches of packets of a version, and whether that is all that it asks for; `None`
/// where it matches none.
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
        // Packets without ports have 0 in the tables: here as there it is no port.
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
