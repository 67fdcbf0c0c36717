//! What is known of sessions beside what the programs have in their tables.
use super::compile::{Entrance, Limit};
use super::slots::Slots;
use super::usage::{self, Account, Placed};
use crate::datapath::Usage;
use crate::rules::{Direction, Session, UeAddress};
use martlet_upf_xdp::Programs;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Instant;

/// A rule that is in use no more counts on until no program can be at it.
const AT_REST: std::time::Duration = std::time::Duration::from_millis(100);

/// A session.
pub(super) struct Entry {
    pub seid: u64,
    /// In the table of sessions.
    pub slot: u32,
    pub rules: Vec<Placed>,
    /// Rules of before, with the time at which packets could no longer find them.
    pub old_rules: Vec<(Instant, Placed)>,
    /// Where its packets come in, and what the tables say there.
    pub entrances: BTreeMap<Entrance, u32>,
    /// Runs of candidates, and single filters.
    pub candidates: Vec<(u32, u32)>,
    pub filters: Vec<u32>,
    pub rates: Vec<Rate>,
    pub accounts: Vec<Account>,
    pub limits: Vec<Limit>,
    /// The run of its limits.
    pub limits_at: Option<(u32, u32)>,
    pub marks: HashMap<u16, u8>,
    /// Packets that wait, in the order in which they came.
    pub waiting: VecDeque<Waiting>,
    pub waiting_octets: usize,
    pub notified: bool,
    /// Some packets have to be buffered.
    pub buffers: bool,
    /// Rules let packets pass only behind those that wait.
    pub held: bool,
    /// When rules that are gone saw their last packet, by the programs' clock.
    pub last: u64,
}

/// A packet that waits.
pub(super) struct Waiting {
    pub packet: Vec<u8>,
}

/// A token bucket of a QER.
pub(super) struct Rate {
    pub qer: u32,
    pub direction: Direction,
    pub rate: u64,
    pub bucket: u32,
}

/// Sessions and the places that are in use.
pub(super) struct State {
    pub sessions: HashMap<u64, Entry>,
    pub by_slot: HashMap<u32, u64>,
    pub by_teid: HashMap<u32, u64>,
    pub by_ue: HashMap<UeAddress, u64>,
    pub session_slots: Slots,
    pub rule_slots: Slots,
    pub candidate_slots: Slots,
    pub filter_slots: Slots,
    pub bucket_slots: Slots,
    pub limit_slots: Slots,
    /// Packets that wait, of all sessions.
    pub waiting: usize,
    /// Octets and packets of rules that are gone, from and to UEs.
    pub gone: [[u64; 2]; 2],
}

impl State {
    pub fn new(programs: &Programs) -> Self {
        State {
            sessions: HashMap::new(),
            by_slot: HashMap::new(),
            by_teid: HashMap::new(),
            by_ue: HashMap::new(),
            session_slots: Slots::new(programs.sessions.entries()),
            rule_slots: Slots::new(programs.rules.entries()),
            candidate_slots: Slots::new(programs.candidates.entries()),
            filter_slots: Slots::new(programs.filters.entries()),
            bucket_slots: Slots::new(programs.buckets.entries()),
            limit_slots: Slots::new(programs.limits.entries()),
            waiting: 0,
            gone: [[0; 2]; 2],
        }
    }

    /// Octets and packets from and to UEs since the start.
    pub fn totals(&self, programs: &Programs) -> [[u64; 2]; 2] {
        let mut totals = self.gone;
        for entry in self.sessions.values() {
            let placed = entry.rules.iter().chain(entry.old_rules.iter().map(|(_, placed)| placed));
            for placed in placed {
                let rule = programs.rules.read(placed.index);
                let total = &mut totals[usize::from(placed.direction == Direction::Downlink)];
                total[0] += rule.octets;
                total[1] += rule.packets;
            }
        }
        totals
    }

    /// A rule is gone for good: what it counted is kept among the totals, and its place is free.
    pub fn forget_rule(&mut self, programs: &Programs, placed: &Placed) {
        let rule = programs.rules.read(placed.index);
        let total = &mut self.gone[usize::from(placed.direction == Direction::Downlink)];
        total[0] += rule.octets;
        total[1] += rule.packets;
        self.rule_slots.give_back(placed.index, 1);
    }

    /// Rules that packets found until a while ago.
    pub fn forget_old_rules(&mut self, programs: &Programs, seid: u64) {
        let Some(entry) = self.sessions.get_mut(&seid) else { return };
        if entry.old_rules.iter().all(|(since, _)| since.elapsed() < AT_REST) {
            return;
        }
        entry.settle(programs);
        let (gone, kept) = std::mem::take(&mut entry.old_rules).into_iter().partition(|(t, _)| t.elapsed() >= AT_REST);
        entry.old_rules = kept;
        let gone: Vec<(Instant, Placed)> = gone;
        for (_, placed) in &gone {
            self.forget_rule(programs, placed);
        }
    }
}

impl Entry {
    pub fn new(session: &Session, slot: u32) -> Self {
        Entry {
            seid: session.seid,
            slot,
            rules: Vec::new(),
            old_rules: Vec::new(),
            entrances: BTreeMap::new(),
            candidates: Vec::new(),
            filters: Vec::new(),
            rates: Vec::new(),
            accounts: Vec::new(),
            limits: Vec::new(),
            limits_at: None,
            marks: HashMap::new(),
            waiting: VecDeque::new(),
            waiting_octets: 0,
            notified: false,
            buffers: false,
            held: false,
            last: 0,
        }
    }

    /// Adds what rules have counted to the accounts of their usage reporting rules.
    pub fn settle(&mut self, programs: &Programs) {
        let placed = self.rules.iter_mut().chain(self.old_rules.iter_mut().map(|(_, placed)| placed));
        for placed in placed {
            let news = placed.news(&programs.rules);
            if news == (0, 0) {
                continue;
            }
            let (first, last) = placed.times(&programs.rules);
            self.last = self.last.max(last);
            let (first, last) = (usage::wall(first), usage::wall(last));
            for account in self.accounts.iter_mut().filter(|account| placed.urrs.contains(&account.urr.id)) {
                account.add(placed.direction, news, first, last);
            }
        }
    }

    /// Takes the usage of some rules. Their thresholds count anew; the ones that are reached at once are given, too.
    pub fn take_usage(&mut self, programs: &Programs, wanted: impl Fn(u32) -> bool) -> (Vec<Usage>, Vec<u32>) {
        self.settle(programs);
        let mut reached = Vec::new();
        let mut taken = Vec::new();
        for account in self.accounts.iter_mut().filter(|account| wanted(account.urr.id)) {
            let limits = self.limits.iter().enumerate();
            for (n, limit) in limits.filter(|(_, limit)| limit.urr == account.urr.id && !limit.quota) {
                let Some((start, _)) = self.limits_at else { break };
                let used = account.octets(limit.of) as i64;
                let left =
                    programs.limits.i64(start + n as u32, 0).fetch_add(used, std::sync::atomic::Ordering::Relaxed);
                if left.saturating_add(used) <= 0 && used > 0 {
                    reached.push(account.urr.id);
                }
            }
            taken.push(account.take());
        }
        (taken, reached)
    }

    /// When its last packet was forwarded.
    pub fn last_activity(&self, programs: &Programs) -> Option<Instant> {
        let placed = self.rules.iter().chain(self.old_rules.iter().map(|(_, placed)| placed));
        let last = placed.map(|placed| placed.last(&programs.rules)).max().unwrap_or(0);
        usage::instant(last.max(self.last))
    }
}
