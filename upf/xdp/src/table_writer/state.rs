//! State of sessions in user space.
use super::compile::{KeyTable, Limit, LookupKey, class_in};
use super::lazy_box::LazyBox;
use super::nat::Flows;
use super::rule_slots::{Rates, RuleSlots};
use super::slots::Slots;
use super::usage::{Account, Clock, InstalledRule, later};
use crate::loader::Programs;
use crate::loader::types::{rule, rule_cold, rule_flag};
use martlet_board::governor::CLASSES;
use martlet_upf_config::UeToUe;
use martlet_upf_datapath::Usage;
use martlet_upf_datapath::senders::Senders;
use martlet_upf_rules::{ById, Direction, Session, Tunnel, UeAddress};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::mem::offset_of;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// A rule that was replaced counts until no program can use it.
const GRACE_PERIOD: std::time::Duration = std::time::Duration::from_millis(100);

/// Limits with this remaining volume are distant: until a rule has used its share of half of that,
/// its own counters suffice to know that no limit is reached. A fast link needs some tens of
/// milliseconds for it.
pub(super) const FAR: i64 = 256 << 20;
/// Number of polls between two packets, and their duration to be counted.
const TRIES: usize = 1000;
const BETWEEN: std::time::Duration = std::time::Duration::from_micros(1);

/// A session.
pub(super) struct Entry {
    pub seid: u64,
    /// Unique among all sessions so far.
    pub incarnation: u32,
    /// In the table of sessions.
    pub slot: u32,
    /// Its gNBs.
    pub senders: Senders,
    /// See [`Session::tunnels_of_others`].
    pub of_others: LazyBox<Vec<u32>>,
    /// What happens to packets between this UE and others.
    pub ue_to_ue: UeToUe,
    pub rules: Vec<InstalledRule>,
    /// Replaced rules, with the time from which packets could no longer find them.
    pub old_rules: LazyBox<Vec<(Instant, InstalledRule)>>,
    /// Its lookup keys, and their entries in the tables.
    pub lookup_keys: ById<LookupKey, u32>,
    /// Runs of groups of candidates.
    pub groups: LazyBox<Vec<(u32, u32)>>,
    /// Slots of the rules that are found by key.
    pub list_slots: LazyBox<Vec<u32>>,
    pub rates: LazyBox<Vec<Rate>>,
    pub accounts: Vec<Account>,
    pub limits: Arc<[Limit]>,
    /// A limit is near: packets are counted against all of them.
    pub exact: bool,
    /// The run of its limits.
    pub limits_at: Option<(u32, u32)>,
    pub marks: Arc<ById<u16, u8>>,
    /// URRs whose traffic has not started yet.
    pub awaiting: LazyBox<Vec<u32>>,
    /// See [`Session::relays`].
    pub relays: LazyBox<BTreeMap<u32, Tunnel>>,
    /// TEIDs of the PDRs whose packets are buffered with their tunnel: packets to the UE from other
    /// UPFs or gNBs, and those of the UE if a rule buffers them.
    pub buffered_tunnels: LazyBox<BTreeMap<u16, u32>>,
    /// Buffered packets in order.
    pub waiting: LazyBox<VecDeque<Waiting>>,
    pub waiting_bytes: usize,
    /// Sender of a Router Solicitation that is answered once packets to the UE are not buffered.
    pub solicited: Option<Box<IpAddr>>,
    /// The number of the first packet for which it is not checked yet whether it may leave.
    pub next: u32,
    pub notified: bool,
    /// Some packets have to be buffered.
    pub buffers: bool,
    /// Rules send packets only after the buffered ones.
    pub held: bool,
    /// When removed rules forwarded their last packet, by the programs' clock.
    pub last: u32,
    /// Forwarded bytes and packets, from and to the UE.
    pub gone: [[u64; 2]; 2],
    /// Bytes and packets that replaced rules of a PDR forwarded. PDRs without packets are absent.
    pub gone_of_pdrs: LazyBox<BTreeMap<u16, [u64; 2]>>,
}

/// A buffered packet.
pub(super) struct Waiting {
    /// As the programs counted packets of its session.
    pub number: u32,
    pub packet: Vec<u8>,
    /// The tunnel in which it arrived, and its QFI there; `None` if the data network sent it.
    pub tunnel: Option<(u32, Option<u8>)>,
}

/// A token bucket of a QER.
pub(super) struct Rate {
    pub qer: u32,
    pub direction: Direction,
    pub rate: u64,
    pub bucket: u32,
}

/// SEIDs by slot of the table of sessions. SEIDs are never 0.
#[derive(Default)]
pub(super) struct BySlot(Vec<u64>);

impl BySlot {
    pub fn get(&self, slot: u32) -> Option<u64> {
        self.0.get(slot as usize).copied().filter(|seid| *seid != 0)
    }

    /// The SEID of a slot's session, or 0 if it is free.
    pub fn set(&mut self, slot: u32, seid: u64) {
        let slot = slot as usize;
        if slot >= self.0.len() {
            self.0.resize(slot + 1, 0);
        }
        self.0[slot] = seid;
    }
}

/// Number of sessions, and of allocated slots.
pub(super) struct State {
    pub sessions: HashMap<u64, Box<Entry>>,
    /// Rules in use, of all sessions.
    pub rules: usize,
    pub by_slot: BySlot,
    pub by_teid: HashMap<u32, u64>,
    pub by_ue: HashMap<UeAddress, u64>,
    /// Networks behind UEs.
    pub by_route: BTreeMap<LookupKey, u64>,
    /// Used entries of the tables of [`KeyTable`], also of sessions in user space.
    pub used_keys: [u32; KeyTable::ALL.len()],
    pub session_slots: Slots,
    pub rule_slots: RuleSlots,
    pub rest_slots: Slots,
    pub rates: Rates,
    pub group_slots: Slots,
    pub bucket_slots: Slots,
    pub limit_slots: Slots,
    /// Sessions with replaced rules, and the time from which packets could no longer find those.
    pub retired: VecDeque<(Instant, u64)>,
    /// Translated flows.
    pub flows: Flows,
    last_incarnation: u32,
    /// Number of buffered packets of all sessions.
    pub waiting: usize,
    /// Sessions with buffered packets that may be sent.
    pub to_release: Vec<u64>,
    /// Bytes and packets of removed rules, from and to UEs.
    pub gone: [[u64; 2]; 2],
    /// Bytes of them by the class of their flows.
    pub gone_by_class: [u64; CLASSES],
}

impl State {
    pub fn new(programs: &Programs) -> Self {
        State {
            sessions: HashMap::new(),
            rules: 0,
            by_slot: BySlot::default(),
            by_teid: HashMap::new(),
            by_ue: HashMap::new(),
            by_route: BTreeMap::new(),
            used_keys: Default::default(),
            session_slots: Slots::new(programs.sessions.entries()),
            rule_slots: RuleSlots::new(programs),
            rest_slots: Slots::new(programs.cold_rules.entries()),
            rates: Rates::new(programs),
            group_slots: Slots::new(programs.groups.entries()),
            bucket_slots: Slots::new(programs.buckets.entries()),
            limit_slots: Slots::new(programs.limits.entries()),
            retired: VecDeque::new(),
            flows: Flows::default(),
            last_incarnation: 0,
            waiting: 0,
            to_release: Vec::new(),
            gone: [[0; 2]; 2],
            gone_by_class: [0; CLASSES],
        }
    }

    /// Counts a lookup key that is written for the first time, or removed.
    pub fn count_key(&mut self, lookup_key: LookupKey, is_written: bool) {
        let Some(table) = KeyTable::of(lookup_key) else { return };
        let used = &mut self.used_keys[table as usize];
        *used = if is_written { *used + 1 } else { used.saturating_sub(1) };
    }

    /// A number for a new session, not 0.
    pub fn incarnation(&mut self) -> u32 {
        self.last_incarnation = self.last_incarnation.wrapping_add(1).max(1);
        self.last_incarnation
    }

    /// The session of the longest framed route to an address.
    pub fn behind(&self, address: IpAddr) -> Option<&u64> {
        let routes = self.by_route.iter().filter_map(|(key, seid)| Some((key.route()?, seid)));
        let containing = routes.filter(|(route, _)| route.contains(address));
        containing.max_by_key(|(route, _)| route.length).map(|(_, seid)| seid)
    }

    /// The tunnel in which buffered packets of a PDR came, of the session in a slot.
    pub fn buffered_tunnel(&self, slot: u32, pdr: u16) -> Option<u32> {
        let entry = self.sessions.get(&self.by_slot.get(slot)?)?;
        entry.buffered_tunnels.get(&pdr).copied()
    }

    /// Bytes and packets from and to UEs since the start.
    pub fn totals(&self, programs: &Programs) -> [[u64; 2]; 2] {
        let mut totals = self.gone;
        for entry in self.sessions.values() {
            let placed = entry.rules.iter().chain(entry.old_rules.iter().map(|(_, placed)| placed));
            for placed in placed {
                let rule = programs.rules.read(placed.index);
                let total = &mut totals[usize::from(placed.direction == Direction::Downlink)];
                total[0] += rule.bytes;
                total[1] += rule.packets;
            }
        }
        totals
    }

    /// Removes a rule that no packet finds any more: adds its counters to the totals and frees its
    /// slot.
    pub fn forget_rule(&mut self, programs: &Programs, placed: &InstalledRule, since: Instant) {
        let rule = programs.rules.read(placed.index);
        let total = &mut self.gone[usize::from(placed.direction == Direction::Downlink)];
        total[0] += rule.bytes;
        total[1] += rule.packets;
        if let Some(sum) = self.gone_by_class.get_mut(class_in(rule.flags)) {
            *sum += rule.bytes;
        }
        self.rule_slots.release_since(placed.index, since);
        self.rest_slots.release_since(placed.rest, 1, since);
        self.rates.release(programs, placed.rate);
    }

    /// Frees the slots of rules that were replaced a grace period ago, of any session.
    pub fn forget_retired(&mut self, programs: &Programs) {
        while self.retired.front().is_some_and(|(since, _)| since.elapsed() >= GRACE_PERIOD) {
            let Some((_, seid)) = self.retired.pop_front() else { break };
            self.forget_old_rules(programs, seid);
        }
    }

    /// Waits for the grace period of replaced rules, of this session or of others, and frees their
    /// slots. False if there are none.
    pub fn wait_for_retired(&mut self, programs: &Programs, entry: &mut Entry) -> bool {
        let Some((since, _)) = self.retired.front() else { return false };
        std::thread::sleep(GRACE_PERIOD.saturating_sub(since.elapsed()));
        self.forget_retired(programs);
        self.forget_old_of(programs, entry);
        true
    }

    /// Rules that were replaced a grace period ago.
    pub fn forget_old_rules(&mut self, programs: &Programs, seid: u64) {
        let Some(mut entry) = self.sessions.remove(&seid) else { return };
        self.forget_old_of(programs, &mut entry);
        self.sessions.insert(seid, entry);
    }

    fn forget_old_of(&mut self, programs: &Programs, entry: &mut Entry) {
        if entry.old_rules.iter().all(|(since, _)| since.elapsed() < GRACE_PERIOD) {
            return;
        }
        entry.settle(programs);
        let (gone, remaining) =
            entry.old_rules.take().into_iter().partition(|(t, _)| t.elapsed() >= GRACE_PERIOD);
        entry.old_rules.set(remaining);
        let gone: Vec<(Instant, InstalledRule)> = gone;
        for (_, placed) in &gone {
            placed.add_to(&mut entry.gone, &programs.rules);
            entry.keep_pdr_counts(programs, placed);
        }
        for (since, placed) in &gone {
            self.forget_rule(programs, placed, *since);
        }
    }
}

impl Entry {
    pub fn new(session: &Session, slot: u32, incarnation: u32) -> Box<Self> {
        let mut relays: LazyBox<BTreeMap<u32, Tunnel>> = LazyBox::default();
        relays.set(session.relays());
        Box::new(Entry {
            seid: session.seid,
            incarnation,
            slot,
            senders: Senders::default(),
            of_others: LazyBox::default(),
            ue_to_ue: UeToUe::default(),
            rules: Vec::new(),
            old_rules: LazyBox::default(),
            lookup_keys: ById::new(),
            groups: LazyBox::default(),
            list_slots: LazyBox::default(),
            rates: LazyBox::default(),
            accounts: Vec::new(),
            limits: Arc::new([]),
            exact: false,
            limits_at: None,
            marks: Arc::default(),
            awaiting: LazyBox::default(),
            relays,
            buffered_tunnels: LazyBox::default(),
            waiting: LazyBox::default(),
            waiting_bytes: 0,
            solicited: None,
            next: 0,
            notified: false,
            buffers: false,
            held: false,
            last: 0,
            gone: [[0; 2]; 2],
            gone_of_pdrs: LazyBox::default(),
        })
    }

    /// Bytes and packets from and to the UE since the session began.
    pub fn forwarded(&self, programs: &Programs) -> [[u64; 2]; 2] {
        let mut all = self.gone;
        let placed = self.rules.iter().chain(self.old_rules.iter().map(|(_, placed)| placed));
        placed.for_each(|placed| placed.add_to(&mut all, &programs.rules));
        all
    }

    /// Drops the counters of removed PDRs.
    pub fn forget_pdrs(&mut self, is_removed: impl Fn(u16) -> bool) {
        for (_, placed) in self.old_rules.get_mut().into_iter().flatten() {
            placed.is_removed |= is_removed(placed.pdr);
        }
        let mut of_pdrs = self.gone_of_pdrs.take();
        of_pdrs.retain(|pdr, _| !is_removed(*pdr));
        self.gone_of_pdrs.set(of_pdrs);
    }

    /// Adds the counters of a replaced rule to those of its PDR.
    fn keep_pdr_counts(&mut self, programs: &Programs, placed: &InstalledRule) {
        let rule = programs.rules.read(placed.index);
        if rule.packets > 0 && !placed.is_removed {
            let [bytes, packets] = self.gone_of_pdrs.entry(placed.pdr).or_default();
            (*bytes, *packets) = (*bytes + rule.bytes, *packets + rule.packets);
        }
    }

    /// Bytes and packets of each PDR since it was created.
    pub fn of_pdrs(&self, programs: &Programs) -> BTreeMap<u16, [u64; 2]> {
        let current = self.rules.iter().map(|placed| placed.pdr);
        let mut all: BTreeMap<u16, [u64; 2]> = current
            .map(|pdr| (pdr, self.gone_of_pdrs.get(&pdr).copied().unwrap_or_default()))
            .collect();
        let old = self.old_rules.iter().map(|(_, placed)| placed).filter(|old| !old.is_removed);
        for placed in self.rules.iter().chain(old) {
            if let Some([bytes, packets]) = all.get_mut(&placed.pdr) {
                let rule = programs.rules.read(placed.index);
                (*bytes, *packets) = (*bytes + rule.bytes, *packets + rule.packets);
            }
        }
        all
    }

    /// Adds the rules' counters to the accounts of their usage reporting rules.
    pub fn settle(&mut self, programs: &Programs) {
        let old = self.old_rules.get_mut().into_iter().flatten();
        let placed = self.rules.iter_mut().chain(old.map(|(_, placed)| placed));
        let mut clock = None;
        for placed in placed {
            let new_counts = placed.new_counts(&programs.rules);
            if new_counts == (0, 0) {
                continue;
            }
            let (first, last) = (placed.first(programs), placed.last(&programs.rules));
            self.last = later(self.last, last);
            if self.accounts.is_empty() {
                continue;
            }
            let clock = clock.get_or_insert_with(|| Clock::read(programs));
            let low = last;
            let last = clock.whole(last);
            let (first, last) = (clock.wall(first.unwrap_or(last)), clock.wall(last));
            for account in
                self.accounts.iter_mut().filter(|account| placed.urrs.contains(&account.urr))
            {
                account.add(placed.direction, new_counts, first, last);
                account.last = later(account.last, low);
            }
        }
    }

    /// Takes the usage of some rules. Their thresholds start again; also returns those reached
    /// immediately.
    pub fn take_usage(
        &mut self,
        programs: &Programs,
        wanted: impl Fn(u32) -> bool,
    ) -> (Vec<Usage>, Vec<u32>) {
        self.settle(programs);
        let mut reached = Vec::new();
        let mut taken = Vec::new();
        for account in self.accounts.iter_mut().filter(|account| wanted(account.urr)) {
            let limits = self.limits.iter().enumerate();
            for (n, limit) in limits.filter(|(_, limit)| limit.urr == account.urr && !limit.quota) {
                let Some((start, _)) = self.limits_at.filter(|_| self.exact) else { break };
                let used = account.used(limit) as i64;
                let left =
                    programs.limits.i64(start + n as u32, 0).fetch_add(used, Ordering::Relaxed);
                if left.saturating_add(used) <= 0 && used > 0 {
                    reached.push(account.urr);
                }
            }
            taken.push(account.take());
        }
        if !self.exact {
            self.set_marks(programs);
        }
        (taken, reached)
    }

    /// The rest of a limit.
    pub fn left(&self, limit: &Limit) -> i64 {
        let used = self
            .accounts
            .iter()
            .find(|account| account.urr == limit.urr)
            .map_or(0, |a| a.used(limit));
        let clamp = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        clamp(limit.bytes).saturating_sub(clamp(used))
    }

    /// Whether one of the limits that a session is to have is near.
    pub fn will_be_near(
        &mut self,
        programs: &Programs,
        session: &Session,
        limits: &[Limit],
    ) -> bool {
        self.settle(programs);
        let given = |id: u32| session.urrs.get(&id).map(|urr| urr.quota_given);
        let had =
            |id: u32| self.accounts.iter().find(|account| account.urr == id).map(|a| a.quota_given);
        limits.iter().any(|limit| {
            let is_renewed = limit.quota && given(limit.urr) != had(limit.urr);
            let left = if is_renewed {
                i64::try_from(limit.bytes).unwrap_or(i64::MAX)
            } else {
                self.left(limit)
            };
            left < FAR
        })
    }

    /// Sets marks at which the rules report that the nearest limit may be half used, and stop
    /// before it can be exceeded. All rules together stay within it, however the traffic is
    /// distributed.
    pub fn set_marks(&self, programs: &Programs) {
        let rules = self.rules.len().max(1) as u64;
        let share = |quota: bool| {
            let left = self
                .limits
                .iter()
                .filter(|limit| !quota || limit.quota)
                .map(|limit| self.left(limit))
                .min();
            left.map(|left| left.max(0) as u64 / rules)
        };
        for placed in &self.rules {
            let now =
                programs.rules.u64(placed.index, offset_of!(rule, bytes)).load(Ordering::Relaxed);
            let mark =
                |bytes: Option<u64>| bytes.map_or(u64::MAX, |bytes| now.saturating_add(bytes));
            let (stop_at, check_at) =
                (mark(share(true)), mark(share(false).map(|bytes| bytes / 2)));
            mark_at(programs, placed, stop_at, check_at);
        }
    }

    /// A rule reached its first mark. If a limit is near, packets are counted against it from now
    /// on; returns the limits reached meanwhile.
    pub fn check(&mut self, programs: &Programs, grace_period: impl Fn()) -> Vec<usize> {
        self.settle(programs);
        if self.exact {
            return Vec::new();
        }
        if self.limits.iter().all(|limit| self.left(limit) >= FAR) {
            self.set_marks(programs);
            return Vec::new();
        }
        let Some((start, _)) = self.limits_at else { return Vec::new() };
        let slot = |n: usize| programs.limits.i64(start + n as u32, 0);
        let before: Vec<i64> = self.limits.iter().map(|limit| self.left(limit)).collect();
        for (n, left) in before.iter().enumerate() {
            slot(n).store(*left, Ordering::Relaxed);
        }
        for placed in &self.rules {
            let flags = programs.rules.u32(placed.index, offset_of!(rule, flags));
            flags.fetch_or(rule_flag::RULE_EXACT.0, Ordering::Release);
            mark_at(programs, placed, u64::MAX, u64::MAX);
        }
        self.exact = true;
        // Packets in flight during the switch were counted by their rules only: add them to the
        // limit.
        grace_period();
        // Counters of rules and limits are read between two packets, so that none is counted in one
        // of them only.
        let read = || {
            let bytes: Vec<u64> =
                self.rules.iter().map(|placed| placed.bytes(&programs.rules)).collect();
            (
                bytes,
                (0..before.len()).map(|n| slot(n).load(Ordering::Acquire)).collect::<Vec<i64>>(),
            )
        };
        let mut seen = read();
        for _ in 0..TRIES {
            let since = Instant::now();
            while since.elapsed() < BETWEEN {
                std::hint::spin_loop();
            }
            let again = read();
            if again == seen {
                break;
            }
            seen = again;
        }
        let (bytes, exactly) = seen;
        let mut reached = Vec::new();
        for (n, limit) in self.limits.iter().enumerate() {
            let placed = self.rules.iter().zip(&bytes);
            let since: u64 = placed.map(|(placed, bytes)| placed.untaken(*bytes, limit)).sum();
            let missed = exactly[n].saturating_sub(before[n].saturating_sub_unsigned(since)).max(0);
            let left = slot(n).fetch_sub(missed, Ordering::Relaxed);
            if left > 0 && left <= missed {
                reached.push(n);
            }
        }
        reached
    }

    /// The URRs of a PDR whose traffic has started now.
    pub fn started(&mut self, pdr: u16) -> Vec<u32> {
        let Some(placed) = self.rules.iter().find(|placed| placed.pdr == pdr) else {
            return Vec::new();
        };
        let urrs = placed.urrs.clone();
        let (started, waiting) =
            self.awaiting.take().into_iter().partition(|urr| urrs.contains(urr));
        self.awaiting.set(waiting);
        started
    }

    /// When a usage reporting rule last counted a packet.
    pub fn last_packet(&mut self, programs: &Programs, urr: u32) -> Option<Instant> {
        self.settle(programs);
        let account = self.accounts.iter().find(|account| account.urr == urr)?;
        Clock::read(programs).instant(account.last)
    }

    /// When its last packet was forwarded.
    pub fn last_activity(&self, programs: &Programs) -> Option<Instant> {
        let placed = self.rules.iter().chain(self.old_rules.iter().map(|(_, placed)| placed));
        let last = placed.map(|placed| placed.last(&programs.rules)).fold(self.last, later);
        Clock::read(programs).instant(last)
    }
}

/// Makes a rule check its marks, from the nearer one on.
fn mark_at(programs: &Programs, placed: &InstalledRule, stop_at: u64, check_at: u64) {
    let set = |offset, value| {
        programs.cold_rules.u64(placed.rest, offset).store(value, Ordering::Relaxed)
    };
    set(offset_of!(rule_cold, stop_at), stop_at);
    set(offset_of!(rule_cold, check_at), check_at);
    programs
        .rules
        .u32(placed.index, offset_of!(rule, mark))
        .store(mark(stop_at.min(check_at)), Ordering::Release);
}

/// As `MARK_SHIFT` in `bpf/structs.h` has it.
fn mark(bytes: u64) -> u32 {
    u32::try_from(bytes >> 20).unwrap_or(u32::MAX)
}
