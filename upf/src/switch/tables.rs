//! A plan as entries of the switch's tables, with counters, meters and next hops of its own.
//!
//! Numbers are given from the highest down: people who write rules by hand begin with the lowest.
use super::neighbours::Hop;
use super::plan::{Match, Plan, Rate, Rule, Towards, Way};
use crate::rules::Direction;
use martlet_p4c_swx::P4Info;
use martlet_switch_control::model::{Call, FieldMatch, Key, MeterSetting, Operation, TableEntry, Update};
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
    pub octets: u64,
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

fn over_ipv6(rule: &Rule) -> bool {
    matches!(rule.towards, Towards::Gnb { peer: IpAddr::V6(_), .. })
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
        let hops = info.tables.iter().find(|table| table.alias == "l2_forward").map_or(0, |table| table.size);
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
        let table = self.info.tables.iter().position(|of| of.alias == table).expect("a table of the program");
        let action = self.info.actions.iter().position(|of| of.alias == action).expect("an action of the program");
        let call = Call { action, arguments: arguments.to_vec() };
        TableEntry { table, key: Key { fields, priority }, call, metadata: OURS.to_vec() }
    }

    fn exact(&self, table: &str, key: &[u32], action: &str, arguments: &[u64]) -> TableEntry {
        let fields = key.iter().map(|value| FieldMatch::Exact((*value).into())).collect();
        self.entry(table, fields, 0, action, arguments)
    }

    /// What all packets are told apart by first: UEs' addresses, to whom packets of others stay with the native UPF, and
    /// the longest packet that fits into a tunnel.
    pub fn ports(&self, ues: Option<(u32, u32)>, longest: u16) -> Vec<Update> {
        let (network, mask) = ues.unwrap_or((u32::MAX, u32::MAX));
        let modify = |mut entry: TableEntry| {
            entry.metadata.clear();
            Update { operation: Operation::Modify, entry }
        };
        vec![
            modify(self.exact("interfaces", &[ACCESS], "access", &[network.into(), mask.into()])),
            modify(self.exact("interfaces", &[CORE], "core", &[longest.into()])),
        ]
    }

    /// The next hop to an address, and its entries if it is new.
    pub fn hop(&mut self, port: u32, to: IpAddr, hop: Hop) -> Result<(u32, Vec<TableEntry>), String> {
        if let Some((number, _)) = self.hops.get(&(port, to)) {
            return Ok((*number, Vec::new()));
        }
        let number = self.hop_numbers.take().ok_or("the table of next hops is full")?;
        self.hops.insert((port, to), (number, hop));
        let entries = [Some(self.hop_entry(number, hop, port)), self.tunnel_entry(number, port, to)];
        Ok((number, entries.into_iter().flatten().collect()))
    }

    fn hop_entry(&self, number: u32, hop: Hop, port: u32) -> TableEntry {
        self.exact("l2_forward", &[number], "l2", &[hop.source, hop.destination, port.into()])
    }

    /// The ends of tunnels to a gNB over IPv6: they have the number of the next hop to it, and one more, for 0 is none.
    fn tunnel_entry(&self, number: u32, port: u32, to: IpAddr) -> Option<TableEntry> {
        let (IpAddr::V6(to), Some(own), ACCESS) = (to, self.n3.1, port) else { return None };
        let halves = |address: Ipv6Addr| [(address.to_bits() >> 64) as u64, address.to_bits() as u64];
        let ends = [halves(own), halves(to)].concat();
        Some(self.exact("ipv6_peers", &[number + 1], "tunnel6", &ends))
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

    /// Makes the entries of a session. `hop` gives the number of the next hop to a gNB, or to the data network.
    pub fn place(&mut self, plan: &Plan, hop: &HashMap<Option<IpAddr>, u32>) -> Result<Placed, String> {
        let mut placed = Placed {
            entries: Vec::new(),
            holds: Vec::new(),
            counted: Vec::new(),
            meters: Vec::new(),
            sessions: Vec::new(),
        };
        for (direction, way) in plan.ways() {
            if let Err(why) = self.place_way(plan, direction, way, hop, &mut placed) {
                self.free(&placed);
                return Err(why);
            }
        }
        Ok(placed)
    }

    fn place_way(
        &mut self,
        plan: &Plan,
        direction: Direction,
        way: &Way,
        hop: &HashMap<Option<IpAddr>, u32>,
        placed: &mut Placed,
    ) -> Result<(), String> {
        let uplink = direction == Direction::Uplink;
        let (entrance, terminations) = match uplink {
            true => ("gtp_decap", "uplink_terminations"),
            false => ("gtp_encap", "downlink_terminations"),
        };
        let holding = if uplink { "hold_uplink" } else { "hold_downlink" };
        placed.holds.push(self.exact(entrance, &[way.key], holding, &[]));
        let session_meter = self.meter(0, way.rate, placed)?;
        if way.is_simple() {
            let [rule] = &way.rules[..] else { return Err("a plan that is none".into()) };
            let qfi = rule.matches.first().and_then(|m| m.qfi).unwrap_or(0);
            let tail = self.forwarding(rule, direction, hop, session_meter, placed)?;
            let entry = match uplink {
                true => {
                    let all = [&[u64::from(plan.ue.to_bits())][..], &tail, &[qfi.into()]].concat();
                    self.exact(entrance, &[way.key], "decap", &all)
                }
                false => self.exact(entrance, &[way.key], if over_ipv6(rule) { "encap6" } else { "encap" }, &tail),
            };
            placed.entries.push(entry);
            return Ok(());
        }
        let session = self.sessions.take().ok_or("no number of a session is free")?;
        placed.sessions.push(session);
        let number = session << 1 | u32::from(!uplink);
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
            let arguments = self.forwarding(rule, direction, hop, meter, placed)?;
            let action = match (uplink, over_ipv6(rule)) {
                (true, _) => "uplink_forward",
                (false, false) => "downlink_forward",
                (false, true) => "downlink_forward6",
            };
            placed.entries.push(self.exact(terminations, &[number, application], action, &arguments));
        }
        let entry = match uplink {
            true => {
                let all = [u64::from(plan.ue.to_bits()), number.into(), session_meter];
                self.exact(entrance, &[way.key], "decap_filtered", &all)
            }
            false => self.exact(entrance, &[way.key], "encap_filtered", &[number.into(), session_meter]),
        };
        placed.entries.push(entry);
        Ok(())
    }

    /// What an action has as its arguments from the tunnel on: tunnel, counter, meter, next hop.
    fn forwarding(
        &mut self,
        rule: &Rule,
        direction: Direction,
        hop: &HashMap<Option<IpAddr>, u32>,
        meter: u64,
        placed: &mut Placed,
    ) -> Result<Vec<u64>, String> {
        let index = self.counters.take().ok_or("no counter is free")?;
        placed.counted.push(Counted { index, direction, urrs: rule.urrs.clone(), packets: 0, octets: 0 });
        let to = if let Towards::Gnb { peer, .. } = rule.towards { Some(peer) } else { None };
        let hop = *hop.get(&to).ok_or("a next hop is not known")?;
        Ok(match rule.towards {
            Towards::Gnb { tunnel, peer: IpAddr::V4(peer), qfi } => {
                let own = self.n3.0.ok_or("its gNB has IPv4 on N3, and this UPF has not")?;
                let ends = [own.to_bits(), peer.to_bits()].map(u64::from);
                [&[tunnel.into()], &ends[..], &[qfi.into(), 0, index.into(), meter, hop.into()]].concat()
            }
            Towards::Gnb { tunnel, peer: IpAddr::V6(_), qfi } => {
                self.n3.1.ok_or("its gNB has IPv6 on N3, and this UPF has not")?;
                vec![tunnel.into(), u64::from(hop) + 1, qfi.into(), index.into(), meter, hop.into()]
            }
            _ => vec![index.into(), meter, hop.into()],
        })
    }

    fn meter(&mut self, array: usize, rate: Option<Rate>, placed: &mut Placed) -> Result<u64, String> {
        let Some(rate) = rate else { return Ok(0) };
        let index = self.meters[array].take().ok_or("no meter is free")?;
        let octets = (rate.bits / 8).max(1);
        let burst = u128::from(octets) * self.burst.as_micros() / 1_000_000;
        let burst = u64::try_from(burst).unwrap_or(u64::MAX).max(SMALLEST_BURST);
        placed.meters.push((array, index, Some((octets, burst))));
        Ok(index.into())
    }

    fn application(&self, session: u32, application: u32, priority: u32, of: &Match) -> TableEntry {
        let ternary = |value: Option<u8>, mask: u64| match value {
            Some(value) => FieldMatch::Ternary(value.into(), mask),
            None => FieldMatch::Ternary(0, 0),
        };
        let (low, high) = of.ports.unwrap_or((0, u16::MAX));
        let fields = vec![
            FieldMatch::Ternary(session.into(), u32::MAX.into()),
            FieldMatch::Lpm(of.remote.0.into(), of.remote.1.into()),
            FieldMatch::Range(low.into(), high.into()),
            ternary(of.protocol, 0xff),
            ternary(of.qfi, 0xff),
        ];
        self.entry("applications", fields, priority, "application", &[application.into()])
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
