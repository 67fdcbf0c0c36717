//! A session made, changed and removed in the programs' tables.
//!
//! Packets meet a session's rules of before or those of now, never a mixture: new rules are written where no packet
//! finds them yet, and each entrance then leads to them in one step.
use super::compile::{Entrance, Limit, Plan, Planned, plan};
use super::filters;
use super::forwarder::Forwarder;
use super::state::{Entry, FAR, Rate, State};
use super::usage::{Account, Place, Placed};
use crate::datapath::{Change, DatapathError, Usage};
use crate::kernel::exits::exit_of;
use crate::kernel::netlink::Netlink;
use crate::kernel::netns;
use crate::rules::{ById, Direction, Prefix, Qer, Session, UeAddress, shared};
use martlet_upf_xdp::Programs;
use martlet_upf_xdp::types::{self, rule_flag};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// An entrance that leads to a list; as `bpf/structs.h` has it.
const LIST: u32 = 0x8000_0000;
/// What an entrance leads to is found by its key; user space's own mark.
const HOME: u32 = 0x4000_0000;
/// A bucket holds one packet of the largest size at least, or that packet could never pass.
const SMALLEST_BURST_BITS: u128 = 65_535 * 8;
/// Buckets count time in sixteenths of a nanosecond, and costs of an octet in parts of 2^16 of them.
const TICKS_PER_SECOND: u128 = 16_000_000_000;

/// Places in the tables that a change has taken.
#[derive(Default)]
struct Taken {
    rules: Vec<Place>,
    groups: Vec<(u32, u32)>,
    buckets: Vec<u32>,
    limits: Option<(u32, u32)>,
    /// Places at which packets find lists.
    lists: Vec<u32>,
}

impl Taken {
    fn give_back(self, programs: &Programs, state: &mut State) {
        for at in self.rules {
            state.places.give_back(at.index);
            state.rest_slots.give_back(at.rest, 1);
            state.rates.give_back(programs, at.rate);
        }
        self.groups.into_iter().for_each(|(at, length)| state.group_slots.give_back(at, length));
        self.lists.into_iter().for_each(|at| state.places.give_back(at));
        self.buckets.into_iter().for_each(|at| state.bucket_slots.give_back(at, 1));
        if let Some((at, length)) = self.limits {
            state.limit_slots.give_back(at, length);
        }
    }
}

fn full(table: &str) -> DatapathError {
    DatapathError::NoResources(format!("the table of {table} is full: make upf.xdp.{table} larger"))
}

impl Forwarder {
    /// See [`Datapath::apply`](crate::datapath::Datapath::apply).
    pub fn apply(&self, change: &Change<'_>) -> Result<(), DatapathError> {
        let session = change.session;
        super::beyond::refuse(session)?;
        let mut plan = plan(session)?;
        let state = &mut *self.lock();
        plan.exact = state.sessions.get_mut(&session.seid).map_or_else(
            || plan.limits.iter().any(|limit| i64::try_from(limit.octets).unwrap_or(i64::MAX) < FAR),
            |entry| entry.will_be_near(&self.programs, session, &plan.limits),
        );
        self.free_for(state, session, &plan)?;
        if change.drop_buffered {
            self.take_events(state);
            self.drop_waiting(state, session.seid);
        }
        let mut taken = Taken::default();
        let known = state.sessions.remove(&session.seid);
        let fresh = known.is_none();
        let mut entry = match known {
            Some(entry) => entry,
            None => {
                let slot = state.session_slots.take(1).ok_or_else(|| full("sessions"))?;
                let incarnation = state.incarnation();
                let mut entry = Entry::new(session, slot, incarnation);
                entry.next = self.programs.sessions.read(slot).number;
                entry
            }
        };
        let made = self.write(state, &mut entry, session, &plan, &mut taken);
        let entrances = match made {
            Ok(entrances) => entrances,
            Err(error) => {
                taken.give_back(&self.programs, state);
                if fresh {
                    state.session_slots.give_back(entry.slot, 1);
                } else {
                    state.sessions.insert(entry.seid, entry);
                }
                return Err(error);
            }
        };
        let buffered_before = entry.buffers || entry.held;
        entry.relays.set(session.relays());
        self.switch(state, &mut entry, session, plan, taken, entrances);
        if change.renotify {
            entry.notified = false;
        }
        state.by_slot.set(entry.slot, entry.seid);
        let seid = entry.seid;
        state.sessions.insert(seid, entry);
        if buffered_before || !change.end_markers.is_empty() {
            // What came under the rules of before is now on its way, or in the ring.
            self.fence();
        }
        self.send_end_markers(change.end_markers);
        if buffered_before {
            self.release(state, seid);
        }
        if !fresh {
            state.retired.push_back((Instant::now(), seid));
        }
        state.forget_retired(&self.programs);
        Ok(())
    }

    /// Tunnels and addresses belong to one session each.
    fn free_for(&self, state: &State, session: &Session, plan: &Plan) -> Result<(), DatapathError> {
        let other = |owner: Option<&u64>| owner.is_some_and(|owner| *owner != session.seid);
        for (entrance, rules) in &plan.entrances {
            let taken = match entrance {
                Entrance::Teid(teid) => other(state.by_teid.get(teid)),
                Entrance::Ue(address) => other(state.by_ue.get(address)),
                Entrance::Route4(..) | Entrance::Route6(..) => other(state.by_route.get(entrance)),
            };
            if taken {
                let pdr = rules.first().and_then(|(n, _)| plan.rules.get(*n)).map_or(0, |rule| rule.pdr);
                let what = match entrance {
                    Entrance::Teid(teid) => format!("TEID {teid:#010x}"),
                    Entrance::Ue(address) => format!("{address:?}"),
                    Entrance::Route4(..) | Entrance::Route6(..) => match entrance.route() {
                        Some(route) => format!("the network {}/{}", route.network, route.length),
                        None => continue,
                    },
                };
                return Err(DatapathError::Pdr { pdr, why: format!("{what} belongs to another session") });
            }
        }
        Ok(())
    }

    /// Writes all that is new where no packet finds it, and gives where the entrances are to lead.
    fn write(
        &self,
        state: &mut State,
        entry: &mut Entry,
        session: &Session,
        plan: &Plan,
        taken: &mut Taken,
    ) -> Result<ById<Entrance, u32>, DatapathError> {
        let buckets = self.buckets(state, entry, session, plan, taken)?;
        let limits_at = self.limits(state, entry, plan, taken)?;
        let held = if entry.buffers || entry.held { rule_flag::RULE_HELD.0 } else { 0 };
        let mut rules = Vec::with_capacity(plan.rules.len());
        let mut homes = BTreeMap::new();
        for (n, planned) in plan.rules.iter().enumerate() {
            let rest_at = state.rest_slots.take(1).ok_or_else(|| full("rules"))?;
            let home = self.home(state, plan, n);
            let place = home.map(|(_, place)| place).or_else(|| state.places.take_other());
            let Some(at) = place else {
                state.rest_slots.give_back(rest_at, 1);
                return Err(full("rules"));
            };
            homes.extend(home);
            let taken_at = taken.rules.len();
            taken.rules.push(Place { index: at, rest: rest_at, rate: 0 });
            let (mut rule, mut rest) = (planned.rule, planned.rest);
            (rule.rest, rule.incarnation, rule.mark) = (rest_at, entry.incarnation, u32::MAX);
            rule.flags |= rule_flag::RULE_FRESH.0 | self.class_flags(session, planned);
            if rule.flags & rule_flag::RULE_TUNNEL.0 == 0 {
                let far = session.pdrs.get(&planned.pdr).and_then(|pdr| session.fars.get(&pdr.far));
                let instance = far.and_then(|far| far.network_instance.as_deref());
                // As `bpf/structs.h` has it, the exit is in place of the TEID.
                rule.teid = exit_of(&self.exits, instance) as u32;
            }
            (rest.session, rest.limits) = (entry.slot, limits_at);
            (rest.check_at, rest.stop_at) = (u64::MAX, u64::MAX);
            if plan.exact {
                rule.flags |= rule_flag::RULE_EXACT.0;
            }
            if planned.from_network {
                rule.flags |= held;
            }
            for qer in &planned.rates {
                let Some(rate) = session.qers.get(qer).and_then(|qer| qer.mbr) else { continue };
                let key = (*qer, planned.direction == Direction::Uplink);
                match buckets.get(&key) {
                    Some(shared) => {
                        rest.buckets[usize::from(rest.bucket_count)] = *shared;
                        rest.bucket_count += 1;
                        rule.flags |= rule_flag::RULE_SHARED.0;
                    }
                    None => {
                        let fresh = bucket(rate.of(planned.direction), self.limits.mbr_burst());
                        rule.rate = state.rates.take(&self.programs, &fresh).ok_or_else(|| full("rules"))?;
                        taken.rules[taken_at].rate = rule.rate;
                        rule.full_at = self.full_at(entry, planned, rule.rate);
                    }
                }
            }
            self.programs.rule_rests.write(rest_at, rest);
            self.programs.rules.write(at, rule);
            rules.push(at);
        }
        let mut entrances = ById::new();
        for (entrance, list) in &plan.entrances {
            let leads_to = match list.as_slice() {
                [(n, filters)] if filters.is_empty() => match homes.contains_key(entrance) {
                    true => HOME | rules[*n],
                    false => rules[*n],
                },
                _ => {
                    let first = self.list(state, plan, list, &rules, taken)?;
                    self.list_home(state, *entrance, first, taken).map_or(LIST | first, |place| HOME | place)
                }
            };
            entrances.insert(*entrance, leads_to);
        }
        let limit = self.buffer_limit(session);
        self.programs
            .sessions
            .u32(entry.slot, std::mem::offset_of!(types::session, limit))
            .store(limit, Ordering::Relaxed);
        Ok(entrances)
    }

    /// A place for a rule that packets find by its key, and the entrance that the key is: of a rule that has one of its own.
    fn home(&self, state: &mut State, plan: &Plan, n: usize) -> Option<(Entrance, u32)> {
        let alone = |list: &[(usize, Vec<filters::Compiled>)]| matches!(list, [(m, f)] if *m == n && f.is_empty());
        plan.entrances.iter().filter(|(_, list)| alone(list)).find_map(|(entrance, _)| {
            let place = state.places.take_home(self.homes_of(*entrance)?)?;
            Some((*entrance, place))
        })
    }

    /// A place at which packets find a list by its key, where there is one.
    fn list_home(&self, state: &mut State, entrance: Entrance, first: u32, taken: &mut Taken) -> Option<u32> {
        let place = state.places.take_home(self.homes_of(entrance)?)?;
        let flags = rule_flag::RULE_LIST.0;
        self.programs.rules.write(place, types::rule { flags, rest: first, mark: u32::MAX, ..Default::default() });
        taken.lists.push(place);
        Some(place)
    }

    /// The places at which packets find what an entrance leads to, where there are such.
    fn homes_of(&self, entrance: Entrance) -> Option<[u32; 2]> {
        match entrance {
            // 0 stands for none.
            Entrance::Teid(0) | Entrance::Ue(UeAddress::V4(Ipv4Addr::UNSPECIFIED)) => None,
            Entrance::Teid(teid) => Some(self.programs.homes_of_teid(teid)),
            Entrance::Ue(UeAddress::V4(address)) => Some(self.programs.homes_of_ue4(address)),
            Entrance::Ue(UeAddress::V6(_)) | Entrance::Route4(..) | Entrance::Route6(..) => None,
        }
    }

    /// Whether packets would find what a tunnel leads to at once.
    pub fn has_home(&self, teid: u32) -> bool {
        let homes = self.homes_of(Entrance::Teid(teid));
        homes.is_some_and(|homes| self.lock().places.has_home(homes))
    }

    /// Writes the list of one entrance.
    fn list(
        &self,
        state: &mut State,
        plan: &Plan,
        list: &[(usize, Vec<filters::Compiled>)],
        rules: &[u32],
        taken: &mut Taken,
    ) -> Result<u32, DatapathError> {
        let mut candidates = Vec::new();
        let mut rests = Vec::new();
        for (n, filters) in list {
            let asks = rule_flag::RULE_MATCH_UE.0 | rule_flag::RULE_MATCH_QFI.0;
            let asks = if plan.rules[*n].rule.flags & asks != 0 { filters::RULE_ASKS } else { 0 };
            let rule = rules[*n] | asks;
            if filters.is_empty() {
                candidates.push(types::candidate { rule, ..filters::any() });
            }
            for filter in filters {
                for candidate in &filter.candidates {
                    if let Some(rest) = filter.rest {
                        rests.push((candidates.len() as u32, rest));
                    }
                    candidates.push(types::candidate { rule: candidate.rule | rule, ..*candidate });
                }
            }
        }
        // A filter of empty port ranges alone leaves nothing that could match.
        if candidates.is_empty() {
            candidates.push(filters::none());
        }
        let length = candidates.len().div_ceil(filters::GROUP) as u32;
        let at = state.group_slots.take(length).ok_or_else(|| full("filters"))?;
        taken.groups.push((at, length));
        for (n, candidates) in candidates.chunks(filters::GROUP).enumerate() {
            let (low, high) = filters::span(candidates);
            let candidate = [filters::none(); filters::GROUP];
            let mut group = types::group { low, high, candidate, ..Default::default() };
            group.last = u64::from(n + 1 == length as usize);
            group.candidate[..candidates.len()].copy_from_slice(candidates);
            self.programs.groups.write(at + n as u32, group);
        }
        for (n, rest) in rests {
            self.programs.filters.write(at * filters::GROUP as u32 + n, rest);
        }
        Ok(at)
    }

    /// The buckets of the rates that several rules share: those that stay as they are, and new ones.
    fn buckets(
        &self,
        state: &mut State,
        entry: &Entry,
        session: &Session,
        plan: &Plan,
        taken: &mut Taken,
    ) -> Result<BTreeMap<(u32, bool), u32>, DatapathError> {
        let mut buckets = BTreeMap::new();
        for (qer, direction, rate) in shared_rates(session, plan) {
            let stays = entry.rates.iter().find(|r| r.qer == qer.id && r.direction == direction && r.rate == rate);
            let at = match stays {
                Some(stays) => stays.bucket,
                None => {
                    let at = state.bucket_slots.take(1).ok_or_else(|| full("rules"))?;
                    taken.buckets.push(at);
                    self.programs.buckets.write(at, bucket(rate, self.limits.mbr_burst()));
                    at
                }
            };
            buckets.insert((qer.id, direction == Direction::Uplink), at);
        }
        Ok(buckets)
    }

    /// Where the session's limits are: where they were, if there are the same ones, else in a new place.
    fn limits(&self, state: &mut State, entry: &Entry, plan: &Plan, taken: &mut Taken) -> Result<u32, DatapathError> {
        let shape =
            |limits: &[Limit]| limits.iter().map(|l| (l.urr, l.quota, l.of.map(|of| of as u8))).collect::<Vec<_>>();
        if let Some((at, _)) = entry.limits_at.filter(|_| shape(&entry.limits) == shape(&plan.limits)) {
            return Ok(at);
        }
        if plan.limits.is_empty() {
            return Ok(0);
        }
        let length = plan.limits.len() as u32;
        let at = state.limit_slots.take(length).ok_or_else(|| full("rules"))?;
        taken.limits = Some((at, length));
        Ok(at)
    }

    /// Has packets meet the new rules, and keeps of the old ones what they have counted.
    fn switch(
        &self,
        state: &mut State,
        entry: &mut Entry,
        session: &Session,
        plan: Plan,
        taken: Taken,
        entrances: ById<Entrance, u32>,
    ) {
        let now = Instant::now();
        entry.settle(&self.programs);
        self.set_limits(state, entry, session, &plan, taken.limits);
        for (entrance, leads_to) in entrances.iter() {
            let before = entry.entrances.get(entrance).copied();
            self.enter(state, entry.seid, *entrance, before, Some(*leads_to));
        }
        for (entrance, before) in entry.entrances.iter().filter(|(entrance, _)| !entrances.contains_key(entrance)) {
            self.enter(state, entry.seid, *entrance, Some(*before), None);
        }
        entry.entrances = entrances;
        let rules = std::mem::take(&mut entry.rules);
        if !rules.is_empty() {
            entry.old_rules.extend(rules.into_iter().map(|placed| (now, placed)));
        }
        let placed = taken.rules.iter().zip(&plan.rules);
        // Rules that count for the same have one list of it.
        let mut lists: Vec<Arc<[u32]>> = Vec::new();
        let mut list_of = |urrs: &[u32]| {
            let known = lists.iter().find(|list| ***list == *urrs).cloned();
            known.unwrap_or_else(|| {
                lists.push(shared(urrs.into()));
                lists.last().cloned().unwrap_or_default()
            })
        };
        entry.rules = placed.map(|(at, rule)| Placed::new(*at, rule, list_of(&rule.urrs))).collect();
        if !entry.exact {
            entry.set_marks(&self.programs);
        }
        for (at, length) in entry.groups.take() {
            state.group_slots.give_back(at, length);
        }
        entry.groups.set(taken.groups);
        for place in entry.list_homes.take() {
            state.places.give_back(place);
        }
        entry.list_homes.set(taken.lists);
        let mut fresh = taken.buckets.into_iter();
        let (mut old, mut rates) = (entry.rates.take(), Vec::new());
        for (qer, direction, rate) in shared_rates(session, &plan) {
            let stays = old.iter().position(|r| r.qer == qer.id && r.direction == direction && r.rate == rate);
            match stays {
                Some(n) => rates.push(old.swap_remove(n)),
                None => rates.extend(fresh.next().map(|bucket| Rate { qer: qer.id, direction, rate, bucket })),
            }
        }
        entry.rates.set(rates);
        old.into_iter().for_each(|rate| state.bucket_slots.give_back(rate.bucket, 1));
        entry.held |= entry.buffers;
        entry.buffers = plan.buffers;
        let marks: ById<u16, u8> = plan
            .rules
            .iter()
            .filter(|p| p.rule.flags & rule_flag::RULE_MARK.0 != 0)
            .map(|p| (p.pdr, p.rule.qfi & 0x3f))
            .collect();
        entry.marks = shared(Arc::new(marks));
    }

    /// When the bucket of a rate that is a rule's alone is full again: as with the rule before, where it stays the same.
    fn full_at(&self, entry: &Entry, planned: &Planned, rate: u16) -> u64 {
        let before =
            entry.rules.iter().find(|placed| placed.pdr == planned.pdr && placed.direction == planned.direction);
        let before = before.filter(|placed| placed.rate == rate);
        before.map_or(0, |placed| self.programs.rules.read(placed.index).full_at)
    }

    /// The accounts and limits of the session's URRs. What was counted stays; a quota that was given anew counts from 0.
    fn set_limits(
        &self,
        state: &mut State,
        entry: &mut Entry,
        session: &Session,
        plan: &Plan,
        place: Option<(u32, u32)>,
    ) {
        let mut accounts = std::mem::take(&mut entry.accounts);
        entry.accounts.reserve_exact(session.urrs.len());
        let mut renewed = Vec::new();
        for urr in session.urrs.values() {
            let old = accounts.iter().position(|account| account.urr == urr.id).map(|n| accounts.swap_remove(n));
            match old {
                Some(mut account) => {
                    if account.quota_given != urr.quota_given {
                        account.renew_quota();
                        renewed.push(urr.id);
                    }
                    account.quota_given = urr.quota_given;
                    entry.accounts.push(account);
                }
                None => entry.accounts.push(Account::new(urr)),
            }
        }
        let at = |n: usize, start: u32| self.programs.limits.i64(start + n as u32, 0);
        let clamp = |octets: u64| i64::try_from(octets).unwrap_or(i64::MAX);
        let before = std::mem::replace(&mut entry.limits, shared(plan.limits.as_slice().into()));
        let old_place = entry.limits_at;
        let stays = place.is_none() && !plan.limits.is_empty();
        let start = if stays { old_place } else { place }.map_or(0, |(start, _)| start);
        let were_exact = std::mem::replace(&mut entry.exact, plan.exact);
        for (n, limit) in plan.limits.iter().enumerate() {
            let same = |old: &Limit| old.urr == limit.urr && old.quota == limit.quota && old.of == limit.of;
            let old = before.iter().find(|old| same(old));
            let fresh = limit.quota && renewed.contains(&limit.urr);
            match old.filter(|_| stays && were_exact && !fresh) {
                // In its place it is corrected by what it differs, for packets count it down meanwhile.
                Some(old) => {
                    let more = clamp(limit.octets).wrapping_sub(clamp(old.octets));
                    at(n, start).fetch_add(more, Ordering::Relaxed);
                }
                None => at(n, start).store(entry.left(limit), Ordering::Relaxed),
            }
        }
        if !stays {
            if let Some((start, length)) = old_place {
                state.limit_slots.give_back(start, length);
            }
            entry.limits_at = place;
        }
    }

    /// Has an entrance lead to a rule or list, or nowhere, instead of where it led `before`: first there, and then no longer
    /// here, so that packets find the one or the other.
    fn enter(&self, state: &mut State, seid: u64, entrance: Entrance, before: Option<u32>, leads_to: Option<u32>) {
        let programs = &self.programs;
        match (entrance, leads_to) {
            (Entrance::Teid(teid), Some(_)) => drop(state.by_teid.insert(teid, seid)),
            (Entrance::Teid(teid), None) => drop(state.by_teid.remove(&teid)),
            (Entrance::Ue(address), Some(_)) => drop(state.by_ue.insert(address, seid)),
            (Entrance::Ue(address), None) => drop(state.by_ue.remove(&address)),
            (route, Some(_)) => drop(state.by_route.insert(route, seid)),
            (route, None) => drop(state.by_route.remove(&route)),
        }
        if let Some(route) = entrance.route() {
            return self.enter_route(seid, route, before, leads_to);
        }
        let outcome = match (entrance, leads_to) {
            (_, None) => Ok(()),
            (Entrance::Teid(teid), Some(to)) if to & LIST == 0 && to & HOME != 0 => {
                programs.settle_teid(to & !HOME, teid);
                Ok(())
            }
            (Entrance::Ue(UeAddress::V4(address)), Some(to)) if to & LIST == 0 && to & HOME != 0 => {
                programs.settle_ue4(to & !HOME, address.octets());
                Ok(())
            }
            (Entrance::Teid(teid), Some(to)) => programs.set_teid(teid, to),
            (Entrance::Ue(UeAddress::V4(address)), Some(to)) => programs.set_ue4(address.octets(), to),
            (Entrance::Ue(UeAddress::V6(prefix)), Some(to)) => programs.set_ue6(prefix.to_be_bytes(), to),
            (Entrance::Route4(..) | Entrance::Route6(..), Some(_)) => Ok(()),
        };
        if let Err(error) = outcome {
            tracing::error!(seid, %error, "packets of a session do not find it");
        }
        let is_home = |to: u32| to & LIST == 0 && to & HOME != 0;
        match before {
            Some(place) if is_home(place) => programs.unsettle(place & !HOME),
            // What leads elsewhere has replaced it already.
            Some(_) if leads_to.is_some_and(|to| !is_home(to)) => {}
            Some(_) => match entrance {
                Entrance::Teid(teid) => programs.clear_teid(teid),
                Entrance::Ue(UeAddress::V4(address)) => programs.clear_ue4(address.octets()),
                Entrance::Ue(UeAddress::V6(prefix)) => programs.clear_ue6(prefix.to_be_bytes()),
                Entrance::Route4(..) | Entrance::Route6(..) => {}
            },
            None => {}
        }
    }

    /// The same for a network behind a UE; the system sends its packets to N6 meanwhile.
    fn enter_route(&self, seid: u64, route: Prefix, before: Option<u32>, leads_to: Option<u32>) {
        match leads_to {
            Some(to) => {
                if let Err(error) = self.programs.set_route(route.network, route.length, to, before.is_some()) {
                    tracing::error!(seid, %error, "packets of a session do not find it");
                }
            }
            None => self.programs.clear_route(route.network, route.length),
        }
        if before.is_some() == leads_to.is_some() {
            return;
        }
        let Some((netns, outer)) = &self.n6 else { return };
        let done = netns::within(netns.as_deref(), || {
            let netlink = Netlink::open().map_err(|error| error.to_string())?;
            netlink.route(*outer, route.network, route.length, leads_to.is_some()).map_err(|error| error.to_string())
        });
        if let Err(error) = done {
            let here = leads_to.is_some();
            tracing::warn!(network = %route.network, length = route.length, here, error, "a network behind a UE is not routed");
        }
    }

    /// See [`Datapath::remove_all`](crate::datapath::Datapath::remove_all).
    pub fn remove(&self, seids: &[u64]) -> Vec<Vec<Usage>> {
        let state = &mut *self.lock();
        let (mut counts, mut waits) = (false, false);
        for seid in seids {
            let Some(entry) = state.sessions.get_mut(seid) else { continue };
            counts |= !entry.accounts.is_empty();
            waits |= entry.buffers || entry.held;
            for (entrance, before) in std::mem::take(&mut entry.entrances) {
                self.enter(state, *seid, entrance, Some(before), None);
            }
        }
        if counts || waits {
            // From here on no packet of the sessions is counted.
            self.fence();
        }
        if waits {
            self.take_events(state);
        }
        seids.iter().map(|seid| self.forget(state, *seid)).collect()
    }

    /// What is left of a session that no packet finds any more, and what it has used.
    fn forget(&self, state: &mut State, seid: u64) -> Vec<Usage> {
        if state.sessions.get(&seid).is_some_and(|entry| entry.buffers || entry.held) {
            self.drop_waiting(state, seid);
        }
        let Some(mut entry) = state.sessions.remove(&seid) else { return Vec::new() };
        let (usage, _) = entry.take_usage(&self.programs, |_| true);
        state.by_slot.set(entry.slot, 0);
        self.programs.sessions.write(entry.slot, types::session::default());
        state.session_slots.give_back(entry.slot, 1);
        for placed in entry.rules.iter().chain(entry.old_rules.iter().map(|(_, placed)| placed)) {
            state.forget_rule(&self.programs, placed);
        }
        let taken = Taken {
            rules: Vec::new(),
            groups: entry.groups.take(),
            buckets: entry.rates.iter().map(|rate| rate.bucket).collect(),
            limits: entry.limits_at,
            lists: entry.list_homes.take(),
        };
        taken.give_back(&self.programs, state);
        usage
    }
}

/// The QERs with a bit rate that several rules of a direction share, or that are not the first of theirs, each once.
fn shared_rates<'a>(session: &'a Session, plan: &'a Plan) -> impl Iterator<Item = (&'a Qer, Direction, u64)> {
    let used = |qer: u32, direction| {
        let mut rules = plan.rules.iter().filter(|rule| rule.direction == direction && rule.rates.contains(&qer));
        let first = rules.next();
        rules.next().is_some() || first.is_some_and(|rule| rule.rates.first() != Some(&qer))
    };
    let both = [Direction::Uplink, Direction::Downlink];
    session.qers.values().flat_map(move |qer| {
        both.into_iter().filter_map(move |direction| {
            let rate = qer.mbr?.of(direction);
            used(qer.id, direction).then_some((qer, direction, rate))
        })
    })
}

/// A full bucket, for a rate in bits per second, as large as the rate fills in `burst`.
pub(super) fn bucket(rate: u64, burst: Duration) -> types::bucket {
    // A rate of 0 lets nothing pass: not even one octet is within its burst.
    if rate == 0 {
        return types::bucket { full_at: 0, burst: 0, per_octet: 1 << 16, unused: 0 };
    }
    let rate = u128::from(rate);
    let bits = (rate * burst.as_micros() / 1_000_000).max(SMALLEST_BURST_BITS);
    let within = |value: u128| u64::try_from(value).unwrap_or(u64::MAX);
    let per_octet = ((TICKS_PER_SECOND * 8) << 16) / rate;
    types::bucket {
        full_at: 0,
        burst: within(bits * TICKS_PER_SECOND / rate),
        per_octet: within(per_octet).clamp(1, 1 << 47),
        unused: 0,
    }
}
