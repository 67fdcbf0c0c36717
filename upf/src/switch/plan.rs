//! What of a session a switch can carry: its rules, in the terms of the switch's tables. Knows no numbers of counters,
//! meters and next hops yet.
//!
//! What the tables cannot tell apart stays with the native UPF: the switch hands on what meets no rule. So a filter that
//! looks at more than the switch does becomes one that takes more in, and leads there.
use crate::rules::{Action, Direction, Far, Network, Pdr, Qer, SdfRule, Session, SessionKind, Side, Tunnel, UeAddress};
use martlet_pfcp::ie::Interface;
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

/// A session on a switch; one of its ways at least is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    pub ue: Ipv4Addr,
    /// From the UE.
    pub uplink: Option<Way>,
    /// To the UE.
    pub downlink: Option<Way>,
}

/// One direction of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Way {
    /// The tunnel, or the UE's address.
    pub key: u32,
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
    /// Into a tunnel, with the octet of the container that has the QoS flow.
    Gnb { tunnel: u32, peer: IpAddr, qfi: u8 },
}

/// What of a packet is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Match {
    /// Network of the other end, and the length of its prefix.
    pub remote: (u32, u8),
    /// Ports of the other end.
    pub ports: Option<(u16, u16)>,
    pub protocol: Option<u8>,
    pub qfi: Option<u8>,
}

impl Way {
    /// Whether one entry says it all.
    pub fn is_simple(&self) -> bool {
        let [rule] = &self.rules[..] else { return false };
        let [only] = rule.matches[..] else { return false };
        rule.rate.is_none() && Match { qfi: None, ..only } == Match::default()
    }
}

impl Plan {
    /// The plan of a session, or why a switch cannot carry it.
    pub fn of(session: &Session) -> Result<Plan, String> {
        if session.kind != SessionKind::Ip || session.pdrs.values().any(|pdr| pdr.beyond.is_some()) {
            return Err("it carries frames, octets without a form, or packets of networks behind the UE".into());
        }
        let fours: Vec<Ipv4Addr> = session
            .ue_addresses()
            .into_iter()
            .filter_map(|address| if let UeAddress::V4(address) = address { Some(address) } else { None })
            .collect();
        let [ue] = fours[..] else { return Err(format!("it has {} IPv4 addresses", fours.len())) };
        let way = |direction| way(session, ue, direction);
        match (way(Direction::Uplink), way(Direction::Downlink)) {
            (Err(up), Err(down)) => Err(if up == down { up } else { format!("uplink: {up}; downlink: {down}") }),
            (up, down) => Ok(Plan { ue, uplink: up.ok(), downlink: down.ok() }),
        }
    }

    /// Both ways, with their directions.
    pub fn ways(&self) -> impl Iterator<Item = (Direction, &Way)> {
        let ways = [(Direction::Uplink, &self.uplink), (Direction::Downlink, &self.downlink)];
        ways.into_iter().filter_map(|(direction, way)| way.as_ref().map(|way| (direction, way)))
    }

    /// The gNBs that it leads to.
    pub fn peers(&self) -> BTreeSet<IpAddr> {
        let towards = self.ways().flat_map(|(_, way)| way.rules.iter().map(|rule| rule.towards));
        towards.filter_map(|to| if let Towards::Gnb { peer, .. } = to { Some(peer) } else { None }).collect()
    }

    /// Its QoS flows to the UE.
    pub fn qfis(&self) -> BTreeSet<u8> {
        let towards = self.ways().flat_map(|(_, way)| way.rules.iter().map(|rule| rule.towards));
        towards.filter_map(|to| if let Towards::Gnb { qfi, .. } = to { Some(qfi & 0x3f) } else { None }).collect()
    }
}

fn way(session: &Session, ue: Ipv4Addr, direction: Direction) -> Result<Way, String> {
    let uplink = direction == Direction::Uplink;
    let of_way = |pdr: &&Pdr| match uplink {
        true => pdr.local.is_some() && pdr.direction() == Direction::Uplink,
        false => pdr.local.is_none(),
    };
    let mut pdrs: Vec<&Pdr> = session.pdrs.values().filter(of_way).collect();
    pdrs.sort_by_key(|pdr| (pdr.precedence, pdr.id));
    let key = match uplink {
        false => ue.to_bits(),
        true => {
            let teids: BTreeSet<u32> = pdrs.iter().filter_map(|pdr| pdr.local).map(|local| local.teid).collect();
            let mut teids = teids.into_iter();
            let (Some(teid), None) = (teids.next(), teids.next()) else {
                return Err("it has no tunnel of its own, or several".into());
            };
            let shared = |pdr: &Pdr| pdr.local.is_some_and(|local| local.teid == teid) && !of_way(&pdr);
            if session.pdrs.values().any(shared) {
                return Err("its tunnel carries what goes back to the access".into());
            }
            teid
        }
    };
    let (mut rules, mut rates): (Vec<Rule>, Vec<Vec<Rate>>) = (Vec::new(), Vec::new());
    for pdr in pdrs {
        if !pdr.ue.is_empty() && !pdr.ue.contains(&UeAddress::V4(ue)) {
            continue;
        }
        let towards = towards(session, pdr, direction)?;
        let own: Vec<Rate> = rates_of(session, pdr, direction).collect();
        if own.iter().any(|rate| rate.bits == 0) {
            return Err("a bit rate of 0 lets nothing pass".into());
        }
        let mut all = false;
        for (exact, matches) in matches(pdr) {
            all |= exact && matches.contains(&Match::default());
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
        if rates
            .last()
            .is_some_and(|own| own.iter().any(|rate| rates[..rates.len() - 1].iter().flatten().any(|r| r == rate)))
        {
            break;
        }
        rules.pop();
        rates.pop();
    }
    let on_switch = |rule: &Rule| rule.towards != Towards::Native;
    if !rules.iter().any(on_switch) {
        return Err("none of its packets can be forwarded by a switch now".into());
    }
    let of = |on: bool| rules.iter().zip(&rates).filter(move |(rule, _)| on_switch(rule) == on).map(|(_, own)| own);
    if of(false).flatten().any(|rate| of(true).flatten().any(|other| other.qer == rate.qer)) {
        return Err("a bit rate holds for packets of it that the switch cannot tell apart".into());
    }
    let shared = of(true).next().and_then(|first| first.iter().find(|rate| of(true).all(|own| own.contains(rate))));
    let shared = shared.copied();
    for (rule, own) in rules.iter_mut().zip(&rates) {
        let mut rest = own.iter().filter(|rate| Some(**rate) != shared);
        rule.rate = rest.next().copied();
        if rule.towards != Towards::Native && rest.next().is_some() {
            return Err("more than two bit rates hold for a packet".into());
        }
    }
    Ok(Way { key, rate: shared, rules })
}

fn rates_of(session: &Session, pdr: &Pdr, direction: Direction) -> impl Iterator<Item = Rate> {
    let qers = pdr.qers.iter().filter_map(|id| session.qers.get(id));
    qers.filter_map(move |qer| Some(Rate { qer: qer.id, bits: qer.mbr?.of(direction) }))
}

/// Where packets of a PDR go.
fn towards(session: &Session, pdr: &Pdr, direction: Direction) -> Result<Towards, String> {
    let Some(far) = session.fars.get(&pdr.far) else { return Err(format!("there is no FAR {}", pdr.far)) };
    let qers: Vec<&Qer> = pdr.qers.iter().filter_map(|id| session.qers.get(id)).collect();
    let exhausted = |id: &u32| session.urrs.get(id).is_some_and(|urr| urr.time_quota_exhausted);
    if qers.iter().any(|qer| !qer.passes(direction)) || pdr.urrs.iter().any(exhausted) {
        return Ok(Towards::Native);
    }
    // A packet takes the mark of the first QER that has one.
    let mark = qers.iter().find_map(|qer| qer.qfi.map(|qfi| qfi | if qer.reflective { 0x40 } else { 0 }));
    Ok(match (direction, far) {
        (
            Direction::Uplink,
            Far {
                action: Action::Forward, destination: Some(Interface::Core | Interface::SgiLan), tunnel: None, ..
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

/// What a PDR matches: what the switch can tell as exactly, and what takes in more than the PDR does.
fn matches(pdr: &Pdr) -> Vec<(bool, Vec<Match>)> {
    let (mut exact, mut wider) = (Vec::new(), Vec::new());
    let every = [SdfRule::default()];
    let filters = if pdr.rules.is_empty() { &every[..] } else { &pdr.rules };
    for filter in filters {
        let Some((is_exact, found)) = matches_of(filter) else { continue };
        if pdr.qfis.is_empty() {
            (if is_exact { &mut exact } else { &mut wider }).extend(found);
            continue;
        }
        for &qfi in &pdr.qfis {
            // 0 stands for any in the tables.
            let into = if is_exact && qfi != 0 { &mut exact } else { &mut wider };
            into.extend(found.iter().map(|of| Match { qfi: Some(qfi).filter(|qfi| *qfi != 0), ..*of }));
        }
    }
    [(true, exact), (false, wider)].into_iter().filter(|(_, matches)| !matches.is_empty()).collect()
}

/// What a filter matches of IPv4 packets, and whether that is all that it asks for; `None` where it matches none.
fn matches_of(filter: &SdfRule) -> Option<(bool, Vec<Match>)> {
    let v6 = |side: &Side| matches!(side.network, Some(Network { address: IpAddr::V6(_), not: false, .. }));
    if filter.flow_label.is_some() || v6(&filter.remote) || v6(&filter.ue) {
        return None;
    }
    let remote = match filter.remote.network {
        Some(Network { address: IpAddr::V4(address), prefix, not: false }) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
            Some((address.to_bits() & mask, prefix))
        }
        _ => None,
    };
    let plain = Match { remote: remote.unwrap_or((0, 0)), ports: None, protocol: filter.protocol, qfi: None };
    let exact = (filter.remote.network.is_none() || remote.is_some())
        && filter.ue == Side::default()
        && filter.traffic_class.is_none()
        && filter.security_parameter_index.is_none()
        // Packets without ports have 0 in the tables: here as there it is no port.
        && !filter.remote.ports.iter().any(|range| *range.start() == 0);
    let ports = filter.remote.ports.iter().filter(|range| !range.is_empty());
    let matches = match filter.remote.ports.is_empty() {
        true => vec![plain],
        false => ports.map(|range| Match { ports: Some((*range.start(), *range.end())), ..plain }).collect(),
    };
    (!matches.is_empty()).then_some((exact, matches))
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
