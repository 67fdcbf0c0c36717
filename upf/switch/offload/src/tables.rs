//! A plan as entries of the switch's tables, with counters, meters and next hops of its own.
//!
//! Numbers are given from the highest down: people who write rules by hand begin with the lowest.
use super::neighbours::Hop;
use super::plan::{Match, Next, Plan, Rate, Rule, Towards, Version, Way};
use martlet_p4c_swx::P4Info;
use martlet_switch_control::model::{
    Call, FieldMatch, Key, MeterSetting, Operation, TableEntry, Update,
};
use martlet_upf_rules::Direction;
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

/// Ports of the switch, as `martlet-switch` has them.
pub(super) const ACCESS: u32 = 0;
pub(super) const CORE: u32 = 1;
/// What our entries have as their metadata.
pub(super) const OURS: &[u8] = b"upf";
/// A meter lets one packet of the largest size through at once at least, as the native UPFs do.
const SMALLEST_BURST: u64 = 65_535;
/// Sessions with filters have numbers of 31 bits, and one more for the direction.
const LAST_SESSION: u32 = 0x7fff_ffff;
const PRIORITY: u32 = 1 << 20;

/// Numbers that nobody has.
struct Free {
    next: u32,
    least: u32,
    back: Vec<u32>,
}

impl Free {
    fn below(end: u32, least: u32) -> Free {
        Free { next: end, least, back: Vec::new() }
    }

    fn take(&mut self) -> Option<u32> {
        self.back.pop().or_else(|| {
            self.next = self.next.checked_sub(1).filter(|next| *next >= self.least)?;
            Some(self.next)
        })
    }
}

/// A counter of a rule, with what of it has been seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Counted {
    pub index: u32,
    pub direction: Direction,
    pub urrs: Vec<u32>,
    pub packets: u64,
    pub bytes: u64,
}

/// A session in the tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placed {
    pub entries: Vec<TableEntry>,
    /// The same entrances, while its packets wait.
    pub holds: Vec<TableEntry>,
    pub counted: Vec<Counted>,
    pub meters: Vec<MeterSetting>,
    sessions: Vec<u32>,
}

/// Where packets of one direction of a session come in: table and key, for each version.
fn lookup_keys(plan: &Plan, way: &Way) -> Vec<(&'static str, u64)> {
    if let Some(teid) = way.teid {
        return vec![("gtp_decap", teid.into())];
    }
    let of = |version| match version {
        Version::V4 => plan.ue.v4.map(|ue| ("gtp_encap", ue.to_bits().into())),
        Version::V6 => plan.ue.v6.map(|prefix| ("gtp_encap_v6", prefix)),
    };
    way.versions().into_iter().filter_map(of).collect()
}

/// The first arguments of actions at the end of a tunnel: whether they are those with a prefix, and
/// what of the UE may be a source; 0 is nothing.
fn of_ue(plan: &Plan, way: &Way) -> (bool, Vec<u64>) {
    let versions = way.versions();
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

/// The two halves of an address, or of a mask.
fn halves(bits: u128) -> [u64; 2] {
    [(bits >> 64) as u64, bits as u64]
}

/// Networks of UEs, by address and mask; of IPv6, the upper halves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ues {
    pub v4: Option<(u32, u32)>,
    pub v6: Option<(u64, u64)>,
}

/// What is in use of the switch, and what its program has.
pub(super) struct Tables {
    info: P4Info,
    /// Our addresses of N3, of either version.
    n3: (Option<Ipv4Addr>, Option<Ipv6Addr>),
    burst: Duration,
    counters: Free,
    meters: [Free; 2],
    sessions: Free,
    hop_numbers: Free,
    /// By port and address.
    hops: BTreeMap<(u32, IpAddr), (u32, Hop)>,
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
            // 0 is no meter.
            meters: meters.map(|size| Free::below(size, 1)),
            sessions: Free::below(LAST_SESSION, 1),
            hop_numbers: Free::below(hops, 0),
            hops: BTreeMap::new(),
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
        let table = self
            .info
            .tables
            .iter()
            .position(|of| of.alias == table)
            .expect("a table of the program");
        let action = self
            .info
            .actions
            .iter()
            .position(|of| of.alias == action)
            .expect("an action of the program");
        let call = Call { action, arguments: arguments.to_vec() };
        TableEntry { table, key: Key { fields, priority }, call, metadata: OURS.to_vec() }
    }

    fn exact(&self, table: &str, key: &[u64], action: &str, arguments: &[u64]) -> TableEntry {
        let fields = key.iter().map(|value| FieldMatch::Exact(*value)).collect();
        self.entry(table, fields, 0, action, arguments)
    }

    /// What all packets are told apart by first: UEs' addresses and our own of N3, to which packets
    /// of UEs stay with the native UPF, and the longest packet that fits into a tunnel.
    pub fn ports(&self, ues: &Ues, longest: u16) -> Vec<Update> {
        let (network, mask) = ues.v4.unwrap_or((u32::MAX, u32::MAX));
        let (network6, mask6) = ues.v6.unwrap_or((u64::MAX, u64::MAX));
        let own = self.n3.0.map_or(0, |own| own.to_bits().into());
        let [own_high, own_low] = halves(self.n3.1.map_or(0, Ipv6Addr::to_bits));
        let all = [network.into(), mask.into(), network6, mask6, own, own_high, own_low];
        let modify = |mut entry: TableEntry| {
            entry.metadata.clear();
            Update { operation: Operation::Modify, entry }
        };
        vec![
            modify(self.exact("interfaces", &[ACCESS.into()], "access", &all)),
            modify(self.exact("interfaces", &[CORE.into()], "core", &[longest.into()])),
        ]
    }

    /// The next hop to an address, and its entries if it is new.
    pub fn hop(
        &mut self,
        port: u32,
        to: IpAddr,
        hop: Hop,
    ) -> Result<(u32, Vec<TableEntry>), String> {
        if let Some((number, _)) = self.hops.get(&(port, to)) {
            return Ok((*number, Vec::new()));
        }
        let number = self.hop_numbers.take().ok_or("the table of next hops is full")?;
        self.hops.insert((port, to), (number, hop));
        let entries =
            [Some(self.hop_entry(number, hop, port)), self.tunnel_entry(number, port, to)];
        Ok((number, entries.into_iter().flatten().collect()))
    }

    fn hop_entry(&self, number: u32, hop: Hop, port: u32) -> TableEntry {
        self.exact(
            "l2_forward",
            &[number.into()],
            "l2",
            &[hop.source, hop.destination, port.into()],
        )
    }

    /// The ends of tunnels to a gNB over IPv6: they have the number of the next hop to it, and one
    /// more, for 0 is none.
    fn tunnel_entry(&self, number: u32, port: u32, to: IpAddr) -> Option<TableEntry> {
        let (IpAddr::V6(to), Some(own), ACCESS) = (to, self.n3.1, port) else { return None };
        let ends = [halves(own.to_bits()), halves(to.to_bits())].concat();
        Some(self.exact("ipv6_peers", &[u64::from(number) + 1], "tunnel6", &ends))
    }

    /// Entries of all next hops.
    pub fn hop_entries(&self) -> Vec<TableEntry> {
        let of = |((port, to), (number, hop)): (&(u32, IpAddr), &(u32, Hop))| {
            [Some(self.hop_entry(*number, *hop, *port)), self.tunnel_entry(*number, *port, *to)]
        };
        self.hops.iter().flat_map(of).flatten().collect()
    }

    /// A next hop has another link address: its entry, where that is so.
    pub fn renew_hop(&mut self, port: u32, to: IpAddr, hop: Hop) -> Option<TableEntry> {
        let (number, known) = self.hops.get_mut(&(port, to))?;
        if std::mem::replace(known, hop) == hop {
            return None;
        }
        let number = *number;
        Some(self.hop_entry(number, hop, port))
    }

    /// All that frames leave to.
    pub fn hop_targets(&self) -> Vec<(u32, IpAddr)> {
        self.hops.keys().copied().collect()
    }

    /// Makes the entries of a session. `hop` gives the number of the next hop to a gNB, or to the
    /// data network.
    pub fn place(&mut self, plan: &Plan, hop: &HashMap<Next, u32>) -> Result<Placed, String> {
        let mut placed = Placed {
            entries: Vec::new(),
            holds: Vec::new(),
            counted: Vec::new(),
            meters: Vec::new(),
            sessions: Vec::new(),
        };
        for (_, way) in plan.ways() {
            if let Err(why) = self.place_way(plan, way, hop, &mut placed) {
                self.free(&placed);
                return Err(why);
            }
        }
        Ok(placed)
    }

    fn place_way(
        &mut self,
        plan: &Plan,
        way: &Way,
        hop: &HashMap<Next, u32>,
        placed: &mut Placed,
    ) -> Result<(), String> {
        let lookup_keys = lookup_keys(plan, way);
        let terminations =
            if way.teid.is_some() { "uplink_terminations" } else { "downlink_terminations" };
        let holding = if way.teid.is_some() { "hold_uplink" } else { "hold_downlink" };
        for (table, key) in &lookup_keys {
            placed.holds.push(self.exact(table, &[*key], holding, &[]));
        }
        let session_meter = self.meter(0, way.rate, placed)?;
        if way.is_simple() {
            let [rule] = &way.rules[..] else { return Err("a plan that is none".into()) };
            let qfi = rule.matches.first().and_then(|m| m.qfi).unwrap_or(0);
            let tail = self.forwarding(rule, way, hop, session_meter, placed)?;
            let (action, arguments) = match way.teid {
                Some(_) => {
                    let (v6, ue) = of_ue(plan, way);
                    (
                        if v6 { "decap_v6" } else { "decap" },
                        [&ue[..], &tail, &[qfi.into()]].concat(),
                    )
                }
                None => (if over_ipv6(rule) { "encap6" } else { "encap" }, tail),
            };
            let of = |(table, key): &(&str, u64)| self.exact(table, &[*key], action, &arguments);
            placed.entries.extend(lookup_keys.iter().map(of));
            return Ok(());
        }
        let session = self.sessions.take().ok_or("no number of a session is free")?;
        placed.sessions.push(session);
        let number = session << 1 | u32::from(way.teid.is_none());
        let mut application_meters: HashMap<u32, u64> = HashMap::new();
        let mut rank = 0;
        for (n, rule) in way.rules.iter().enumerate() {
            let application = n as u32 + 1;
            for of in &rule.matches {
                placed.entries.push(self.application(number, application, PRIORITY - rank, of));
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
                        let meter = self.meter(1, Some(rate), placed)?;
                        application_meters.insert(rate.qer, meter);
                        meter
                    }
                },
            };
            let arguments = self.forwarding(rule, way, hop, meter, placed)?;
            let action = match (way.teid, over_ipv6(rule)) {
                (Some(_), _) if way.versions().contains(&Version::V6) => "uplink_forward_v6",
                (Some(_), _) => "uplink_forward",
                (None, false) => "downlink_forward",
                (None, true) => "downlink_forward6",
            };
            placed.entries.push(self.exact(
                terminations,
                &[number.into(), application.into()],
                action,
                &arguments,
            ));
        }
        let rest = [number.into(), session_meter];
        let (action, arguments) = match way.teid {
            Some(_) => {
                let (v6, ue) = of_ue(plan, way);
                (if v6 { "decap_filtered_v6" } else { "decap_filtered" }, [&ue[..], &rest].concat())
            }
            None => ("encap_filtered", rest.to_vec()),
        };
        let of = |(table, key): &(&str, u64)| self.exact(table, &[*key], action, &arguments);
        placed.entries.extend(lookup_keys.iter().map(of));
        Ok(())
    }

    /// What an action has as its arguments from the tunnel on: tunnel, counter, meter, next hop.
    fn forwarding(
        &mut self,
        rule: &Rule,
        way: &Way,
        hop: &HashMap<Next, u32>,
        meter: u64,
        placed: &mut Placed,
    ) -> Result<Vec<u64>, String> {
        let direction = if way.teid.is_some() { Direction::Uplink } else { Direction::Downlink };
        let index = self.counters.take().ok_or("no counter is free")?;
        placed.counted.push(Counted {
            index,
            direction,
            urrs: rule.urrs.clone(),
            packets: 0,
            bytes: 0,
        });
        let known = |next: Next| hop.get(&next).copied().ok_or("a next hop is not known");
        Ok(match rule.towards {
            Towards::Gnb { tunnel, peer: IpAddr::V4(peer), qfi } => {
                let hop = known(Next::Gnb(peer.into()))?;
                let own = self.n3.0.ok_or("its gNB has IPv4 on N3, and this UPF has not")?;
                let ends = [own.to_bits(), peer.to_bits()].map(u64::from);
                [&[tunnel.into()], &ends[..], &[qfi.into(), 0, index.into(), meter, hop.into()]]
                    .concat()
            }
            Towards::Gnb { tunnel, peer: IpAddr::V6(peer), qfi } => {
                let hop = known(Next::Gnb(peer.into()))?;
                self.n3.1.ok_or("its gNB has IPv6 on N3, and this UPF has not")?;
                vec![tunnel.into(), u64::from(hop) + 1, qfi.into(), index.into(), meter, hop.into()]
            }
            _ => {
                let versions = way.versions();
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
        placed: &mut Placed,
    ) -> Result<u64, String> {
        let Some(rate) = rate else { return Ok(0) };
        let index = self.meters[array].take().ok_or("no meter is free")?;
        let bytes = (rate.bits / 8).max(1);
        let burst = u128::from(bytes) * self.burst.as_micros() / 1_000_000;
        let burst = u64::try_from(burst).unwrap_or(u64::MAX).max(SMALLEST_BURST);
        placed.meters.push((array, index, Some((bytes, burst))));
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
                fields.push(FieldMatch::Lpm(bits as u64, prefix.into()));
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

    /// A session is no longer in the tables: its numbers are free.
    pub fn free(&mut self, placed: &Placed) {
        self.counters.back.extend(placed.counted.iter().map(|counted| counted.index));
        for (array, index, _) in &placed.meters {
            self.meters[*array].back.push(*index);
        }
        self.sessions.back.extend(&placed.sessions);
    }
}
