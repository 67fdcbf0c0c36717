//! A plan as table entries of the switch, with counters, meters and next hops.
//!
//! Numbers are allocated from the highest down: manual rules use the lowest ones.
use super::isolation::{Isolation, Lookup};
use super::neighbours::Hop;
use super::plan::{DirectionPlan, Match, Next, Plan, Rate, Rule, Towards, Version};
use martlet_p4c_swx::P4Info;
use martlet_switch_control::model::{
    Call, FieldMatch, Key, MeterSetting, Operation, TableEntry, Update,
};
use martlet_upf_rules::Direction;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};

/// Ports of the switch, equal to those of `martlet-switch`.
pub(super) const ACCESS: u32 = 0;
pub(super) const CORE: u32 = 1;
/// Metadata of our entries.
pub(super) const ENTRY_METADATA: &[u8] = b"upf";
/// A meter passes at least one packet of the maximum size, as in the native UPFs.
const SMALLEST_BURST: u64 = 65_535;
/// Sessions with filters have numbers of 31 bits; one more bit is the direction.
const LAST_SESSION: u32 = 0x7fff_ffff;
const PRIORITY: u32 = 1 << 20;
/// Time without a session after which the number of a next hop is free for another one.
const HOP_IDLE: Duration = Duration::from_secs(60);

/// Why a session cannot be installed in the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum CannotInstall {
    #[error("all {0} of the switch are in use: lower upf.switch.sessions")]
    Exhausted(&'static str),
    #[error("the gNB has an {0} address on N3, and this UPF has none: add one to upf.n3")]
    NoN3Address(&'static str),
    #[error("a next hop of the session is not resolved")]
    UnknownHop,
    #[error("the plan has no rule")]
    EmptyPlan,
}

/// A pool of free numbers.
struct Free {
    next: u32,
    min: u32,
    returned: Vec<u32>,
}

impl Free {
    fn below(end: u32, min: u32) -> Free {
        Free { next: end, min, returned: Vec::new() }
    }

    fn take(&mut self) -> Option<u32> {
        self.returned.pop().or_else(|| {
            self.next = self.next.checked_sub(1).filter(|next| *next >= self.min)?;
            Some(self.next)
        })
    }
}

/// A rule's counter, with its last values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Counted {
    pub index: u32,
    pub pdr: u16,
    pub direction: Direction,
    pub urrs: Vec<u32>,
    pub packets: u64,
    pub bytes: u64,
}

impl Counted {
    /// Takes new values, and returns by how much they are more than the last ones. Lower values are
    /// of a switch that was started again without its state: it counts from them on.
    pub fn advance(&mut self, packets: u64, bytes: u64) -> (u64, u64) {
        let restarted = packets < self.packets || bytes < self.bytes;
        let more = if restarted { (0, 0) } else { (packets - self.packets, bytes - self.bytes) };
        (self.packets, self.bytes) = (packets, bytes);
        more
    }
}

/// The entries of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Installed {
    pub entries: Vec<TableEntry>,
    /// The entries of the same keys that hold packets.
    pub holds: Vec<TableEntry>,
    pub counted: Vec<Counted>,
    pub meters: Vec<MeterSetting>,
    /// The numbers of its next hops.
    pub hops: Vec<u32>,
    sessions: Vec<u32>,
}

/// A next hop in the tables.
struct KnownHop {
    number: u32,
    hop: Hop,
    /// The first check at which no session used it.
    unused_since: Option<Instant>,
}

/// The keys by which packets of one direction enter the tables: table and key, per version.
fn lookup_keys(plan: &Plan, part: &DirectionPlan) -> Vec<(&'static str, u64)> {
    if let Some(teid) = part.teid {
        return vec![("gtp_decap", teid.into())];
    }
    let of = |version| match version {
        Version::V4 => plan.ue.v4.map(|ue| ("gtp_encap", ue.to_bits().into())),
        Version::V6 => plan.ue.v6.map(|prefix| ("gtp_encap_v6", prefix)),
    };
    part.versions().into_iter().filter_map(of).collect()
}

/// The first arguments of decapsulation actions: whether the variant with a prefix is used, and the
/// allowed source addresses; 0: none.
fn of_ue(plan: &Plan, part: &DirectionPlan) -> (bool, Vec<u64>) {
    let versions = part.versions();
    let v4 =
        plan.ue.v4.filter(|_| versions.contains(&Version::V4)).map_or(0, |ue| ue.to_bits().into());
    match plan.ue.v6.filter(|_| versions.contains(&Version::V6)) {
        Some(prefix) => (true, vec![v4, prefix]),
        None => (false, vec![v4]),
    }
}

fn over_ipv6(rule: &Rule) -> bool {
    matches!(rule.towards, Towards::Gnb { peer: IpAddr::V6(_), .. })
}

/// The two halves of an address or mask.
fn halves(bits: u128) -> [u64; 2] {
    [(bits >> 64) as u64, bits as u64]
}

/// An IPv6 address as a key under masks, the lower half first: few have the same.
fn masked_halves(bits: u128) -> Vec<FieldMatch> {
    let [high, low] = halves(bits);
    [low, high].map(|half| FieldMatch::Ternary(half, u64::MAX)).to_vec()
}

/// The UEs' networks: address and mask; for IPv6, of the upper halves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ues {
    pub v4: Option<(u32, u32)>,
    pub v6: Option<(u64, u64)>,
}

/// The allocated resources of the switch, and its program.
pub(super) struct Tables {
    info: P4Info,
    /// Our N3 addresses.
    n3: (Option<Ipv4Addr>, Option<Ipv6Addr>),
    burst: Duration,
    counters: Free,
    meters: [Free; 2],
    sessions: Free,
    hop_numbers: Free,
    /// By port and address.
    hops: BTreeMap<(u32, IpAddr), KnownHop>,
    /// What UEs may not reach.
    isolation: Isolation,
}

impl Tables {
    pub fn new(info: P4Info, n3: (Option<Ipv4Addr>, Option<Ipv6Addr>), burst: Duration) -> Tables {
        let hops = info
            .tables
            .iter()
            .find(|table| table.alias == "l2_forward")
            .map_or(0, |table| table.size);
        let meters = [info.meters[0].size, info.meters[1].size];
        Tables {
            counters: Free::below(info.counters[0].size, 0),
            // 0: no meter.
            meters: meters.map(|size| Free::below(size, 1)),
            sessions: Free::below(LAST_SESSION, 1),
            hop_numbers: Free::below(hops, 0),
            hops: BTreeMap::new(),
            isolation: Isolation::default(),
            info,
            n3,
            burst,
        }
    }

    fn entry(
        &self,
        table: &str,
        fields: Vec<FieldMatch>,
        priority: u32,
        action: &str,
        arguments: &[u64],
    ) -> TableEntry {
        let table = self.info.table(table).expect("a table of the program");
        let action = self.info.action(action).expect("an action of the program");
        let call = Call { action, arguments: arguments.to_vec() };
        TableEntry { table, key: Key { fields, priority }, call, metadata: ENTRY_METADATA.to_vec() }
    }

    fn exact(&self, table: &str, key: &[u64], action: &str, arguments: &[u64]) -> TableEntry {
        let fields = key.iter().map(|value| FieldMatch::Exact(*value)).collect();
        self.entry(table, fields, 0, action, arguments)
    }

    /// Settings of the ports: the networks of UEs and the N3 addresses of this UPF, to which the
    /// switch sends no packet of a UE and at which tunnels end, and the longest packet that fits
    /// into a tunnel.
    pub fn ports(&self, ues: &Ues, longest: u16) -> Vec<Update> {
        let (network, mask) = ues.v4.unwrap_or((u32::MAX, u32::MAX));
        let (network6, mask6) = ues.v6.unwrap_or((u64::MAX, u64::MAX));
        // No packet is for an address of all ones, where 0 stands for any.
        let own = self.n3.0.map_or(u32::MAX, Ipv4Addr::to_bits);
        let [own_high, own_low] = halves(self.n3.1.map_or(u128::MAX, Ipv6Addr::to_bits));
        let all = [network.into(), mask.into(), network6, mask6, own.into(), own_high, own_low];
        let modify = |mut entry: TableEntry| {
            entry.metadata.clear();
            Update { operation: Operation::Modify, entry }
        };
        vec![
            modify(match self.isolation.lookup {
                Lookup::None => self.exact("interfaces", &[ACCESS.into()], "access", &all),
                lookup => {
                    let all = [&all[..], &[lookup as u64]].concat();
                    self.exact("interfaces", &[ACCESS.into()], "access_checked", &all)
                }
            }),
            modify(self.exact("interfaces", &[CORE.into()], "core", &[longest.into()])),
        ]
    }

    /// UEs may reach other destinations. Returns the entries before and after.
    pub fn isolate(&mut self, isolation: Isolation) -> [Vec<TableEntry>; 2] {
        let before = self.isolation_entries();
        self.isolation = isolation;
        [before, self.isolation_entries()]
    }

    /// The entries for what UEs may not reach.
    pub fn isolation_entries(&self) -> Vec<TableEntry> {
        let Isolation { blocks, blocks_24, hosts, blocks_v6, hosts_v6, .. } = &self.isolation;
        let action = |whole: bool| if whole { "isolate" } else { "look_closer" };
        let exact = |table, key: u64, action| self.exact(table, &[key], action, &[]);
        let four = blocks.iter().map(|(at, whole)| exact("blocks", (*at).into(), action(*whole)));
        let narrow = blocks_24.iter().map(|at| exact("blocks_24", (*at).into(), "isolate"));
        let hosts = hosts.iter().map(|at| exact("hosts", (*at).into(), "isolate"));
        let six = blocks_v6.iter().map(|(at, whole)| exact("blocks_v6", *at, action(*whole)));
        let hosts_v6 =
            hosts_v6.iter().map(|at| self.entry("hosts_v6", masked_halves(*at), 1, "isolate", &[]));
        four.chain(narrow).chain(hosts).chain(six).chain(hosts_v6).collect()
    }

    /// The next hop to an address, with its entries if it is new.
    pub fn hop(
        &mut self,
        port: u32,
        to: IpAddr,
        hop: Hop,
    ) -> Result<(u32, Vec<TableEntry>), CannotInstall> {
        if let Some(known) = self.hops.get(&(port, to)) {
            return Ok((known.number, Vec::new()));
        }
        let number = self.hop_numbers.take().ok_or(CannotInstall::Exhausted("next hops"))?;
        self.hops.insert((port, to), KnownHop { number, hop, unused_since: None });
        let tunnel = self.tunnel_entries(number, port, to);
        Ok((number, [self.hop_entry(number, hop, port)].into_iter().chain(tunnel).collect()))
    }

    fn hop_entry(&self, number: u32, hop: Hop, port: u32) -> TableEntry {
        self.exact(
            "l2_forward",
            &[number.into()],
            "l2",
            &[hop.source, hop.destination, port.into()],
        )
    }

    /// The endpoints of a tunnel over IPv6, and the number of the gNB as a sender: that of the next
    /// hop plus one, since 0 means none.
    fn tunnel_entries(&self, number: u32, port: u32, to: IpAddr) -> Vec<TableEntry> {
        let (IpAddr::V6(to), Some(own), ACCESS) = (to, self.n3.1, port) else { return Vec::new() };
        let ends = [halves(own.to_bits()), halves(to.to_bits())].concat();
        let number = u64::from(number) + 1;
        let sender = masked_halves(to.to_bits());
        vec![
            self.exact("ipv6_peers", &[number], "tunnel6", &ends),
            self.entry("ipv6_gnbs", sender, 1, "gnb_number", &[number]),
        ]
    }

    /// The entries of all next hops.
    pub fn hop_entries(&self) -> Vec<TableEntry> {
        let of = |((port, to), known): (&(u32, IpAddr), &KnownHop)| {
            let tunnel = self.tunnel_entries(known.number, *port, *to);
            [self.hop_entry(known.number, known.hop, *port)].into_iter().chain(tunnel)
        };
        self.hops.iter().flat_map(of).collect()
    }

    /// The changed entry of a next hop with a new link-layer address.
    pub fn renew_hop(&mut self, port: u32, to: IpAddr, hop: Hop) -> Option<TableEntry> {
        let known = self.hops.get_mut(&(port, to))?;
        if std::mem::replace(&mut known.hop, hop) == hop {
            return None;
        }
        let number = known.number;
        Some(self.hop_entry(number, hop, port))
    }

    /// Frees next hops that no session has used for a while. `used` has the numbers of all others.
    /// Returns the entries to delete.
    pub fn release_hops(&mut self, used: &HashSet<u32>, now: Instant) -> Vec<TableEntry> {
        let mut idle = Vec::new();
        for (at, known) in &mut self.hops {
            if used.contains(&known.number) {
                known.unused_since = None;
            } else if now.duration_since(*known.unused_since.get_or_insert(now)) >= HOP_IDLE {
                idle.push(*at);
            }
        }
        let mut entries = Vec::new();
        for (port, to) in idle {
            let Some(known) = self.hops.remove(&(port, to)) else { continue };
            entries.push(self.hop_entry(known.number, known.hop, port));
            entries.extend(self.tunnel_entries(known.number, port, to));
            self.hop_numbers.returned.push(known.number);
        }
        entries
    }

    /// The addresses of all next hops.
    pub fn hop_targets(&self) -> Vec<(u32, IpAddr)> {
        self.hops.keys().copied().collect()
    }

    /// Allocates the entries of a session. `hop` has the numbers of next hops.
    pub fn allocate(
        &mut self,
        plan: &Plan,
        hop: &HashMap<Next, u32>,
    ) -> Result<Installed, CannotInstall> {
        let mut installed = Installed {
            entries: Vec::new(),
            holds: Vec::new(),
            counted: Vec::new(),
            meters: Vec::new(),
            hops: plan.nexts().iter().filter_map(|next| hop.get(next)).copied().collect(),
            sessions: Vec::new(),
        };
        for (_, part) in plan.directions() {
            if let Err(why) = self.allocate_direction(plan, part, hop, &mut installed) {
                self.free(&installed);
                return Err(why);
            }
        }
        Ok(installed)
    }

    fn allocate_direction(
        &mut self,
        plan: &Plan,
        part: &DirectionPlan,
        hop: &HashMap<Next, u32>,
        installed: &mut Installed,
    ) -> Result<(), CannotInstall> {
        let lookup_keys = lookup_keys(plan, part);
        let terminations =
            if part.teid.is_some() { "uplink_terminations" } else { "downlink_terminations" };
        let holding = if part.teid.is_some() { "hold_uplink" } else { "hold_downlink" };
        for (table, key) in &lookup_keys {
            installed.holds.push(self.exact(table, &[*key], holding, &[]));
        }
        let session_meter = self.meter(0, part.rate, installed)?;
        let gnb = match part.sender {
            None => 0,
            Some(IpAddr::V4(gnb)) => gnb.to_bits().into(),
            Some(gnb) => {
                self.n3.1.ok_or(CannotInstall::NoN3Address("IPv6"))?;
                let number = hop.get(&Next::Gnb(gnb)).ok_or(CannotInstall::UnknownHop)?;
                u64::from(*number) + 1
            }
        };
        if part.is_single_entry() {
            let [rule] = &part.rules[..] else { return Err(CannotInstall::EmptyPlan) };
            let qfi = rule.matches.first().and_then(|m| m.qfi).unwrap_or(0);
            let tail = self.forwarding(rule, part, hop, session_meter, installed)?;
            let (action, arguments) = match part.teid {
                Some(_) => {
                    let (v6, ue) = of_ue(plan, part);
                    (
                        if v6 { "decap_v6" } else { "decap" },
                        [&ue[..], &tail, &[qfi.into(), gnb]].concat(),
                    )
                }
                None => (if over_ipv6(rule) { "encap6" } else { "encap" }, tail),
            };
            let of = |(table, key): &(&str, u64)| self.exact(table, &[*key], action, &arguments);
            installed.entries.extend(lookup_keys.iter().map(of));
            return Ok(());
        }
        let session = self.sessions.take().ok_or(CannotInstall::Exhausted("session numbers"))?;
        installed.sessions.push(session);
        let number = session << 1 | u32::from(part.teid.is_none());
        let mut application_meters: HashMap<u32, u64> = HashMap::new();
        let mut rank = 0;
        for (n, rule) in part.rules.iter().enumerate() {
            let application = n as u32 + 1;
            for of in &rule.matches {
                installed.entries.push(self.application(number, application, PRIORITY - rank, of));
                rank += 1;
            }
            if rule.towards == Towards::Native {
                continue;
            }
            let meter = match rule.rate {
                None => 0,
                Some(rate) => match application_meters.get(&rate.qer) {
                    Some(meter) => *meter,
                    None => {
                        let meter = self.meter(1, Some(rate), installed)?;
                        application_meters.insert(rate.qer, meter);
                        meter
                    }
                },
            };
            let arguments = self.forwarding(rule, part, hop, meter, installed)?;
            let action = match (part.teid, over_ipv6(rule)) {
                (Some(_), _) if part.versions().contains(&Version::V6) => "uplink_forward_v6",
                (Some(_), _) => "uplink_forward",
                (None, false) => "downlink_forward",
                (None, true) => "downlink_forward6",
            };
            installed.entries.push(self.exact(
                terminations,
                &[number.into(), application.into()],
                action,
                &arguments,
            ));
        }
        let tail = [number.into(), session_meter];
        let (action, arguments) = match part.teid {
            Some(_) => {
                let (v6, ue) = of_ue(plan, part);
                let action = if v6 { "decap_filtered_v6" } else { "decap_filtered" };
                (action, [&ue[..], &tail, &[gnb]].concat())
            }
            None => ("encap_filtered", tail.to_vec()),
        };
        let of = |(table, key): &(&str, u64)| self.exact(table, &[*key], action, &arguments);
        installed.entries.extend(lookup_keys.iter().map(of));
        Ok(())
    }

    /// The forwarding arguments of an action: tunnel, counter, meter, next hop.
    fn forwarding(
        &mut self,
        rule: &Rule,
        part: &DirectionPlan,
        hop: &HashMap<Next, u32>,
        meter: u64,
        installed: &mut Installed,
    ) -> Result<Vec<u64>, CannotInstall> {
        let direction = if part.teid.is_some() { Direction::Uplink } else { Direction::Downlink };
        let index = self.counters.take().ok_or(CannotInstall::Exhausted("counters"))?;
        installed.counted.push(Counted {
            index,
            pdr: rule.pdr,
            direction,
            urrs: rule.urrs.clone(),
            packets: 0,
            bytes: 0,
        });
        let known = |next: Next| hop.get(&next).copied().ok_or(CannotInstall::UnknownHop);
        Ok(match rule.towards {
            Towards::Gnb { tunnel, peer: IpAddr::V4(peer), qfi } => {
                let hop = known(Next::Gnb(peer.into()))?;
                let own = self.n3.0.ok_or(CannotInstall::NoN3Address("IPv4"))?;
                let ends = [own.to_bits(), peer.to_bits()].map(u64::from);
                [&[tunnel.into()], &ends[..], &[qfi.into(), 0, index.into(), meter, hop.into()]]
                    .concat()
            }
            Towards::Gnb { tunnel, peer: IpAddr::V6(peer), qfi } => {
                let hop = known(Next::Gnb(peer.into()))?;
                self.n3.1.ok_or(CannotInstall::NoN3Address("IPv6"))?;
                vec![tunnel.into(), u64::from(hop) + 1, qfi.into(), index.into(), meter, hop.into()]
            }
            _ => {
                let versions = part.versions();
                let of = |version| {
                    if versions.contains(&version) { known(Next::Network(version)) } else { Ok(0) }
                };
                let mut all = vec![index.into(), meter, of(Version::V4)?.into()];
                if versions.contains(&Version::V6) {
                    all.push(of(Version::V6)?.into());
                }
                all
            }
        })
    }

    fn meter(
        &mut self,
        array: usize,
        rate: Option<Rate>,
        installed: &mut Installed,
    ) -> Result<u64, CannotInstall> {
        let Some(rate) = rate else { return Ok(0) };
        let index = self.meters[array].take().ok_or(CannotInstall::Exhausted("meters"))?;
        let bytes = (rate.bits / 8).max(1);
        let burst = u128::from(bytes) * self.burst.as_micros() / 1_000_000;
        let burst = u64::try_from(burst).unwrap_or(u64::MAX).max(SMALLEST_BURST);
        installed.meters.push((array, index, Some((bytes, burst))));
        Ok(index.into())
    }

    fn application(&self, session: u32, application: u32, priority: u32, of: &Match) -> TableEntry {
        let ternary = |value: Option<u8>, mask: u64| match value {
            Some(value) => FieldMatch::Ternary(value.into(), mask),
            None => FieldMatch::Ternary(0, 0),
        };
        let (low, high) = of.ports.unwrap_or((0, u16::MAX));
        let mut fields = vec![FieldMatch::Ternary(session.into(), u32::MAX.into())];
        let (bits, prefix) = match of.remote {
            Some((IpAddr::V4(address), prefix)) => (address.to_bits().into(), prefix),
            Some((IpAddr::V6(address), prefix)) => (address.to_bits(), prefix),
            None => (0, 0),
        };
        let table = match of.version {
            Version::V4 => {
                let mask = u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0);
                fields.push(FieldMatch::Ternary(bits as u64, mask.into()));
                "applications"
            }
            Version::V6 => {
                let masks = halves(u128::MAX.checked_shl(128 - u32::from(prefix)).unwrap_or(0));
                let both = halves(bits).into_iter().zip(masks);
                fields.extend(both.map(|(value, mask)| FieldMatch::Ternary(value, mask)));
                "applications_v6"
            }
        };
        fields.push(FieldMatch::Range(low.into(), high.into()));
        fields.extend([ternary(of.protocol, 0xff), ternary(of.qfi, 0xff)]);
        self.entry(table, fields, priority, "application", &[application.into()])
    }

    /// Frees the numbers of a session that left the tables.
    pub fn free(&mut self, installed: &Installed) {
        self.counters.returned.extend(installed.counted.iter().map(|counted| counted.index));
        for (array, index, _) in &installed.meters {
            self.meters[*array].returned.push(*index);
        }
        self.sessions.returned.extend(&installed.sessions);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Ue;

    #[test]
    fn a_switch_that_counts_from_zero_again_is_counted_on() {
        let mut counted = Counted {
            index: 1,
            pdr: 1,
            direction: Direction::Uplink,
            urrs: vec![1],
            packets: 5,
            bytes: 500,
        };
        assert_eq!(counted.advance(7, 900), (2, 400));
        assert_eq!(counted.advance(7, 900), (0, 0));
        assert_eq!(counted.advance(0, 0), (0, 0));
        assert_eq!(counted.advance(3, 300), (3, 300));
        // As many packets as before, of fewer bytes.
        assert_eq!(counted.advance(3, 200), (0, 0));
        assert_eq!(counted.advance(4, 300), (1, 100));
    }

    /// A session whose uplink goes to the data network, and whose downlink to its gNB.
    fn plan(gnb: IpAddr) -> Plan {
        let part = |teid, towards| {
            let matches = vec![Match::all(Version::V4)];
            let rule = Rule { pdr: 1, urrs: Vec::new(), matches, towards, rate: None };
            DirectionPlan { teid, sender: None, rate: None, rules: vec![rule] }
        };
        Plan {
            ue: Ue { v4: Some(Ipv4Addr::new(10, 45, 0, 2)), v6: None },
            uplink: Some(part(Some(1), Towards::Network)),
            downlink: Some(part(None, Towards::Gnb { tunnel: 2, peer: gnb, qfi: 9 })),
        }
    }

    #[test]
    fn the_number_of_a_next_hop_without_a_session_is_free_again() {
        let program = martlet_p4c_swx::compile(martlet_switch_control::UPF).expect("our program");
        let n3 = (Some(Ipv4Addr::new(192, 168, 70, 1)), None);
        let mut tables = Tables::new(program.info, n3, Duration::from_millis(100));
        let gnb = |n: u32| IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + n));
        let router = IpAddr::V4(Ipv4Addr::new(10, 99, 0, 1));
        let link = Hop { source: 1, destination: 2 };
        let start = Instant::now();
        let at = |minute: u32| start + minute * HOP_IDLE;

        let (of_gnb, _) = tables.hop(ACCESS, gnb(0), link).expect("a number");
        let (of_router, _) = tables.hop(CORE, router, link).expect("a number");
        let hop =
            HashMap::from([(Next::Gnb(gnb(0)), of_gnb), (Next::Network(Version::V4), of_router)]);
        let installed = tables.allocate(&plan(gnb(0)), &hop).expect("room");
        let used: HashSet<u32> = installed.hops.iter().copied().collect();
        assert_eq!(used, HashSet::from([of_gnb, of_router]));
        for minute in 0..3 {
            assert!(tables.release_hops(&used, at(minute)).is_empty());
        }
        let none = HashSet::new();
        assert!(tables.release_hops(&none, at(3)).is_empty(), "it was used a moment ago");
        assert_eq!(tables.release_hops(&none, at(4)).len(), 2);
        assert!(tables.hop_targets().is_empty());

        // More gNBs one after the other than the switch has next hops.
        for n in 0..5000 {
            let (_, entries) = tables.hop(ACCESS, gnb(n), link).expect("a number that was freed");
            assert_eq!(entries.len(), 1);
            tables.release_hops(&none, at(5 + 2 * n));
            assert_eq!(tables.release_hops(&none, at(6 + 2 * n)), entries);
        }
    }
}
