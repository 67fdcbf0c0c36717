//! Creation, change and removal of a session in the BPF maps.
//!
//! Packets see either the old or the new rules of a session: new rules are written unreferenced,
//! then each lookup key is switched to them atomically.
use super::Forwarder;
use super::allocation::{Allocation, full};
use super::allowance::{bucket, shared_rates};
use super::compile::{LookupKey, Plan, plan};
use super::filters;
use super::lookup::{CACHED, LIST};
use super::state::{Entry, FAR, Rate, State};
use super::usage::{Account, Clock, InstalledRule, RuleSlot};
use crate::loader::types::{self, rule_flag};
use martlet_upf_config::UeToUe;
use martlet_upf_datapath::telemetry::Volume;
use martlet_upf_datapath::{Change, DatapathError, PdrError, Usage};
use martlet_upf_kernel::handed_over::{HandedOver, UrrHandedOver};
use martlet_upf_kernel::network_instances::network_instance_of;
use martlet_upf_rules::{Action, ById, Direction, Pdr, Session, shared};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// What happens to packets between UEs, as `bpf/structs.h` has it.
const UE_HAIRPIN: u8 = 1;
const UE_DENY: u8 = 2;

/// The bits of a rule for it.
pub(super) fn bits_of(ue_to_ue: UeToUe) -> u8 {
    match ue_to_ue {
        UeToUe::Allow => 0,
        UeToUe::Hairpin => UE_HAIRPIN,
        UeToUe::Deny => UE_DENY,
    }
}

impl Forwarder {
    /// See [`Datapath::apply`](martlet_upf_datapath::Datapath::apply).
    pub fn apply(&self, change: &Change<'_>) -> Result<(), DatapathError> {
        self.apply_rules(change)?;
        self.release_early(change.session.seid, Instant::now());
        Ok(())
    }

    fn apply_rules(&self, change: &Change<'_>) -> Result<(), DatapathError> {
        let session = change.session;
        if self.programs.tables_failed() {
            return Err(DatapathError::TableNotMapped);
        }
        let mut plan = plan(session, self.require_qfi)?;
        let state = &mut *self.lock();
        plan.exact = state.sessions.get_mut(&session.seid).map_or_else(
            || plan.limits.iter().any(|limit| i64::try_from(limit.bytes).unwrap_or(i64::MAX) < FAR),
            |entry| entry.will_be_near(&self.programs, session, &plan.limits),
        );
        self.free_for(state, session, &plan)?;
        let had = state.sessions.get(&session.seid).map_or(0, |entry| entry.rules.len());
        let rules = state.rules + plan.rules.len() - had;
        if rules > self.limits.rules as usize {
            return Err(full("rules"));
        }
        let known = state.sessions.get(&session.seid);
        let has = |key: &LookupKey| known.is_some_and(|entry| entry.lookup_keys.contains_key(key));
        let keys = plan.lookup_keys.keys().copied();
        self.room_for(state, keys.filter(|key| !has(key)))?;
        if change.drop_buffered {
            self.take_events(state);
            self.drop_waiting(state, session.seid);
        }
        let mut allocation = Allocation::default();
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
        let mut made = self.write(state, &mut entry, session, &plan, &mut allocation);
        // Rule changes faster than the grace period are delayed, not rejected.
        while made.is_err() && state.wait_for_retired(&self.programs, &mut entry) {
            std::mem::take(&mut allocation).release(&self.programs, state);
            made = self.write(state, &mut entry, session, &plan, &mut allocation);
        }
        let lookup_keys = match made {
            Ok(lookup_keys) => lookup_keys,
            Err(error) => {
                allocation.release(&self.programs, state);
                if fresh {
                    state.session_slots.release(entry.slot, 1);
                } else {
                    state.sessions.insert(entry.seid, entry);
                }
                return Err(error);
            }
        };
        let buffered_before = entry.buffers || entry.held;
        entry.relays.set(session.relays());
        let reached = self.switch(state, &mut entry, session, plan, allocation, lookup_keys);
        if change.renotify {
            self.notify_again(state, &mut entry, self.buffer_limit(session) as usize);
        }
        state.by_slot.set(entry.slot, entry.seid);
        state.rules = rules;
        let seid = entry.seid;
        state.sessions.insert(seid, entry);
        for limit in reached {
            self.limit_reached(state, seid, limit);
        }
        if buffered_before || !change.end_markers.is_empty() {
            // Packets under the previous rules are now sent, or in the ring buffer.
            self.grace_period();
        }
        self.send_end_markers(change.end_markers);
        if buffered_before {
            self.release(state, seid);
        }
        self.release_noted(state);
        if let Some(entry) = state.sessions.get_mut(&seid)
            && let Some(asked) = entry.solicited.take()
        {
            self.answer_solicitation(entry, *asked, true);
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
        for (lookup_key, rules) in &plan.lookup_keys {
            let in_use = match lookup_key {
                LookupKey::Teid(teid) => other(state.by_teid.get(teid)),
                LookupKey::Ue(address) => other(state.by_ue.get(address)),
                LookupKey::Route4(..) | LookupKey::Route6(..) => {
                    other(state.by_route.get(lookup_key))
                }
            };
            if in_use {
                let pdr =
                    rules.first().and_then(|(n, _)| plan.rules.get(*n)).map_or(0, |rule| rule.pdr);
                let why = match lookup_key {
                    LookupKey::Teid(teid) => PdrError::Teid(*teid),
                    LookupKey::Ue(address) => PdrError::Address(*address),
                    LookupKey::Route4(..) | LookupKey::Route6(..) => match lookup_key.route() {
                        Some(route) => PdrError::Route(route),
                        None => continue,
                    },
                };
                return Err(DatapathError::Pdr { pdr, why });
            }
        }
        Ok(())
    }

    /// Writes the new rules unreferenced, and returns the new targets of the lookup keys.
    fn write(
        &self,
        state: &mut State,
        entry: &mut Entry,
        session: &Session,
        plan: &Plan,
        allocation: &mut Allocation,
    ) -> Result<ById<LookupKey, u32>, DatapathError> {
        let buckets = self.buckets(state, entry, session, plan, allocation)?;
        let limits_at = self.limits(state, entry, plan, allocation)?;
        entry.senders.update(session, Instant::now());
        entry.of_others.set(session.tunnels_of_others().into_iter().collect());
        let buffers = |pdr: &Pdr| {
            let far = session.fars.get(&pdr.far);
            far.is_some_and(|far| matches!(far.action, Action::Buffer { .. }))
        };
        let tunnels: BTreeMap<u16, u32> = session
            .pdrs
            .values()
            .filter(|pdr| {
                // The last packets of a UE may arrive after its rule has buffered.
                let of_ue = buffers(pdr) || entry.buffered_tunnels.contains_key(&pdr.id);
                pdr.direction() == Direction::Downlink || of_ue
            })
            .filter_map(|pdr| Some((pdr.id, pdr.local?.teid)))
            .collect();
        entry.buffered_tunnels.set(tunnels);
        entry.ue_to_ue = self.ue_to_ue.of(session.network());
        let ue_to_ue = bits_of(entry.ue_to_ue);
        let held = if entry.buffers || entry.held { rule_flag::RULE_HELD.0 } else { 0 };
        let mut rules = Vec::with_capacity(plan.rules.len());
        let mut cached = BTreeMap::new();
        for (n, planned) in plan.rules.iter().enumerate() {
            let rest_at = state.rest_slots.take(1).ok_or_else(|| full("rules"))?;
            let cache_rule = self.cache_rule(state, plan, n);
            let slot = cache_rule.map(|(_, slot)| slot).or_else(|| state.rule_slots.take_other());
            let Some(at) = slot else {
                state.rest_slots.release(rest_at, 1);
                return Err(full("rules"));
            };
            cached.extend(cache_rule);
            let taken_at = allocation.rules.len();
            allocation.rules.push(RuleSlot { index: at, rest: rest_at, rate: 0 });
            let (mut rule, mut rest) = (planned.rule, planned.rest);
            (rule.rest, rule.incarnation, rule.mark) = (rest_at, entry.incarnation, u32::MAX);
            rule.flags |= rule_flag::RULE_FRESH.0 | self.class_flags(session, planned);
            if rule.flags & rule_flag::RULE_TUNNEL.0 == 0 {
                let far = session.pdrs.get(&planned.pdr).and_then(|pdr| session.fars.get(&pdr.far));
                let instance = far.and_then(|far| far.network_instance.as_deref());
                // As in `bpf/structs.h`, the network instance is stored in place of the QFI.
                rule.qfi = network_instance_of(&self.network_instances, instance) as u8;
            }
            (rest.session, rest.limits) = (entry.slot, limits_at);
            rest.ue_to_ue = ue_to_ue;
            if !planned.from_network {
                let of_access = planned.direction == Direction::Uplink;
                self.set_senders(&entry.senders, of_access, &mut rule, &mut rest);
            }
            (rest.check_at, rest.stop_at) = (u64::MAX, u64::MAX);
            if plan.exact {
                rule.flags |= rule_flag::RULE_EXACT.0;
            }
            if planned.direction == Direction::Downlink {
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
                        rule.rate = state
                            .rates
                            .take(&self.programs, &fresh)
                            .ok_or_else(|| full("rules"))?;
                        allocation.rules[taken_at].rate = rule.rate;
                        rule.full_at = self.full_at(entry, planned, rule.rate);
                    }
                }
            }
            self.programs.cold_rules.write(rest_at, rest);
            self.programs.rules.write(at, rule);
            rules.push(at);
        }
        let mut lookup_keys = ById::new();
        for (lookup_key, list) in &plan.lookup_keys {
            let target = match list.as_slice() {
                [(n, filters)] if filters.is_empty() => match cached.contains_key(lookup_key) {
                    true => CACHED | rules[*n],
                    false => rules[*n],
                },
                _ => {
                    let first = self.list(state, plan, list, &rules, allocation)?;
                    self.cache_list(state, *lookup_key, first, allocation)
                        .map_or(LIST | first, |slot| CACHED | slot)
                }
            };
            lookup_keys.insert(*lookup_key, target);
        }
        let limit = self.buffer_limit(session);
        self.programs
            .sessions
            .u32(entry.slot, std::mem::offset_of!(types::session, limit))
            .store(limit, Ordering::Relaxed);
        Ok(lookup_keys)
    }

    /// Writes the candidate list of one lookup key.
    fn list(
        &self,
        state: &mut State,
        plan: &Plan,
        list: &[(usize, Vec<filters::Compiled>)],
        rules: &[u32],
        allocation: &mut Allocation,
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
        // A filter with empty port ranges only matches nothing.
        if candidates.is_empty() {
            candidates.push(filters::none());
        }
        let length = candidates.len().div_ceil(filters::GROUP) as u32;
        let at = state.group_slots.take(length).ok_or_else(|| full("filters"))?;
        allocation.groups.push((at, length));
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

    /// Switches packets to the new rules and retains the counters of the old ones. Returns the
    /// limits that are reached by what was counted before.
    fn switch(
        &self,
        state: &mut State,
        entry: &mut Entry,
        session: &Session,
        plan: Plan,
        allocation: Allocation,
        lookup_keys: ById<LookupKey, u32>,
    ) -> Vec<usize> {
        let now = Instant::now();
        entry.settle(&self.programs);
        let reached = self.set_limits(state, entry, session, &plan, allocation.limits);
        for (lookup_key, target) in lookup_keys.iter() {
            let before = entry.lookup_keys.get(lookup_key).copied();
            self.enter(state, entry.seid, *lookup_key, before, Some(*target));
        }
        for (lookup_key, before) in
            entry.lookup_keys.iter().filter(|(lookup_key, _)| !lookup_keys.contains_key(lookup_key))
        {
            self.enter(state, entry.seid, *lookup_key, Some(*before), None);
        }
        entry.lookup_keys = lookup_keys;
        let rules = std::mem::take(&mut entry.rules);
        if !rules.is_empty() {
            entry.old_rules.extend(rules.into_iter().map(|placed| (now, placed)));
        }
        entry.forget_pdrs(|pdr| plan.rules.iter().all(|rule| rule.pdr != pdr));
        let placed = allocation.rules.iter().zip(&plan.rules);
        // Rules with the same URRs share one list.
        let mut lists: Vec<Arc<[u32]>> = Vec::new();
        let mut list_of = |urrs: &[u32]| {
            let known = lists.iter().find(|list| ***list == *urrs).cloned();
            known.unwrap_or_else(|| {
                lists.push(shared(urrs.into()));
                lists.last().cloned().unwrap_or_default()
            })
        };
        entry.rules =
            placed.map(|(at, rule)| InstalledRule::new(*at, rule, list_of(&rule.urrs))).collect();
        if !entry.exact {
            entry.set_marks(&self.programs);
        }
        for (at, length) in entry.groups.take() {
            state.group_slots.release(at, length);
        }
        entry.groups.set(allocation.groups);
        for slot in entry.list_slots.take() {
            state.rule_slots.release(slot);
        }
        entry.list_slots.set(allocation.lists);
        let mut fresh = allocation.buckets.into_iter();
        let (mut old, mut rates) = (entry.rates.take(), Vec::new());
        for (qer, direction, rate) in shared_rates(session, &plan) {
            let stays = old
                .iter()
                .position(|r| r.qer == qer.id && r.direction == direction && r.rate == rate);
            match stays {
                Some(n) => rates.push(old.swap_remove(n)),
                None => rates.extend(fresh.next().map(|bucket| Rate {
                    qer: qer.id,
                    direction,
                    rate,
                    bucket,
                })),
            }
        }
        entry.rates.set(rates);
        old.into_iter().for_each(|rate| state.bucket_slots.release(rate.bucket, 1));
        entry.held |= entry.buffers;
        entry.buffers = plan.buffers;
        let marks: ById<u16, u8> = plan
            .rules
            .iter()
            .filter(|p| p.rule.flags & rule_flag::RULE_MARK.0 != 0)
            .map(|p| (p.pdr, p.rule.qfi & 0x3f))
            .collect();
        entry.marks = shared(Arc::new(marks));
        let awaiting = session.urrs.values().filter(|urr| urr.awaits_traffic && !urr.inactive);
        entry.awaiting.set(awaiting.map(|urr| urr.id).collect());
        reached
    }

    /// Removes a session that user space carries from now on, and returns what it has counted and
    /// buffered; `None` if the programs do not carry it.
    pub fn hand_over(&self, seid: u64) -> Option<HandedOver> {
        let drops = self.traffic(&[seid]).pop().unwrap_or_default().drops;
        let state = &mut *self.lock();
        let entry = state.sessions.get_mut(&seid)?;
        for (lookup_key, before) in std::mem::take(&mut entry.lookup_keys) {
            self.enter(state, seid, lookup_key, Some(before), None);
        }
        // From here on no packet of the session is counted or buffered.
        self.grace_period();
        self.take_events(state);
        let programs = &self.programs;
        let entry = state.sessions.get_mut(&seid)?;
        entry.settle(programs);
        let volume = |[bytes, packets]: [u64; 2]| Volume { bytes, packets };
        let forwarded = entry.forwarded(programs).map(volume);
        let of_pdrs = entry.of_pdrs(programs).into_iter();
        let of_pdrs = of_pdrs.map(|(pdr, counts)| (pdr, volume(counts))).collect();
        let (last_activity, notified) = (entry.last_activity(programs), entry.notified);
        let clock = Clock::read(programs);
        let is_reached = |urr: u32| {
            entry.limits.iter().any(|it| it.urr == urr && !it.quota && entry.left(it) <= 0)
        };
        let of_urr = |account: &Account| UrrHandedOver {
            threshold_reported: is_reached(account.urr),
            quota: account.of_quota(),
            quota_given: account.quota_given,
            last: clock.instant(account.last),
            usage: None,
            urr: account.urr,
        };
        let mut urrs: Vec<UrrHandedOver> = entry.accounts.iter().map(of_urr).collect();
        let waiting = self.take_waiting(state, seid);
        for usage in self.forget(state, seid) {
            if let Some(of_urr) = urrs.iter_mut().find(|of_urr| of_urr.urr == usage.urr) {
                of_urr.usage = Some(usage);
            }
        }
        self.release_noted(state);
        Some(HandedOver { urrs, forwarded, of_pdrs, drops, last_activity, waiting, notified })
    }

    /// See [`Datapath::remove_all`](martlet_upf_datapath::Datapath::remove_all).
    pub fn remove(&self, seids: &[u64]) -> Vec<Vec<Usage>> {
        let state = &mut *self.lock();
        let (mut counts, mut waits) = (false, false);
        for seid in seids {
            let Some(entry) = state.sessions.get_mut(seid) else { continue };
            counts |= !entry.accounts.is_empty();
            waits |= entry.buffers || entry.held;
            for (lookup_key, before) in std::mem::take(&mut entry.lookup_keys) {
                self.enter(state, *seid, lookup_key, Some(before), None);
            }
        }
        if counts || waits {
            // From here on no packet of the sessions is counted.
            self.grace_period();
        }
        if waits {
            self.take_events(state);
        }
        let usage = seids.iter().map(|seid| self.forget(state, *seid)).collect();
        self.release_noted(state);
        usage
    }

    /// Frees the remaining entries of a session that no packet finds any more, and returns its
    /// usage.
    fn forget(&self, state: &mut State, seid: u64) -> Vec<Usage> {
        self.drop_waiting(state, seid);
        let Some(mut entry) = state.sessions.remove(&seid) else { return Vec::new() };
        let (usage, _) = entry.take_usage(&self.programs, |_| true);
        state.by_slot.set(entry.slot, 0);
        self.programs.sessions.write(entry.slot, types::session::default());
        state.session_slots.release(entry.slot, 1);
        state.rules -= entry.rules.len();
        let now = Instant::now();
        for (since, placed) in entry.old_rules.iter().map(|(since, placed)| (*since, placed)) {
            state.forget_rule(&self.programs, placed, since);
        }
        for placed in &entry.rules {
            state.forget_rule(&self.programs, placed, now);
        }
        let allocation = Allocation {
            rules: Vec::new(),
            groups: entry.groups.take(),
            buckets: entry.rates.iter().map(|rate| rate.bucket).collect(),
            limits: entry.limits_at,
            lists: entry.list_slots.take(),
        };
        allocation.release(&self.programs, state);
        usage
    }
}
