//! Moves of sessions to the switch and back.
use super::{Known, Orphan, Path, State};
use crate::controller::{Reply, Request};
use crate::neighbours::{self, NoHop};
use crate::plan::{Next, Plan, Version};
use crate::tables::{ACCESS, CORE};
use martlet_switch_control::model::{Operation, TableEntry, Update};
use martlet_upf_kernel::netns;
use std::collections::{HashMap, HashSet};
use std::time::Instant;

impl State {
    /// Moves sessions to the native path, and reads their final counters.
    pub fn withdraw(&mut self, seids: &[u64]) {
        let mut gone = Vec::new();
        for seid in seids {
            let Some(known) = self.known.get_mut(seid) else { continue };
            let (installed, moving) = match std::mem::replace(&mut known.path, Path::Native) {
                Path::Native => continue,
                Path::Moving(installed) => (installed, true),
                Path::Switch(installed) => (installed, false),
            };
            gone.push((*seid, installed, moving));
        }
        if gone.is_empty() {
            return;
        }
        let entries =
            gone.iter().flat_map(
                |(_, installed, moving)| {
                    if *moving { &installed.holds } else { &installed.entries }
                },
            );
        let updates = entries
            .map(|entry| Update { operation: Operation::Delete, entry: entry.clone() })
            .collect();
        if let Reply::Refused(why) = self.request(Request::Write(updates)) {
            // Another controller changed the entries.
            tracing::warn!(why, "switch rules out of sync: writing them again");
            self.reconcile();
        }
        for (seid, mut installed, moving) in gone {
            self.statistics.moved_off += u64::from(!moving);
            if moving || self.count(seid, &mut installed.counted) {
                self.tables.free(&installed);
            } else {
                self.orphans.push(Orphan { seid, installed });
            }
            self.adjust(seid);
        }
        self.show();
    }

    /// The number of a next hop, with its entries if it is new.
    pub(super) fn next_hop(&mut self, next: Next) -> Result<(u32, Vec<TableEntry>), NoHop> {
        let netns = self.netns[usize::from(matches!(next, Next::Network(_)))].clone();
        let configured = match next {
            Next::Gnb(peer) => Some(peer),
            Next::Network(Version::V4) => self.config.core_next_hop.map(Into::into),
            Next::Network(Version::V6) => self.config.core_next_hop_v6.map(Into::into),
        };
        let find = || {
            let to = match (configured, next) {
                (None, Next::Network(version)) => neighbours::default_router(version)?,
                (Some(to), _) | (None, Next::Gnb(to)) => to,
            };
            Ok::<_, NoHop>((to, neighbours::hop(to)?))
        };
        let (to, hop) = netns::within(netns.as_deref(), || Ok(find()))
            .map_err(|error| NoHop::system("entering the network namespace", error))??;
        let port = if matches!(next, Next::Gnb(_)) { ACCESS } else { CORE };
        self.tables.hop(port, to, hop).map_err(|_| NoHop::NoNumber)
    }

    /// Resolves the next hops of a plan. A version without a route is removed from the plan if the
    /// other one has a route.
    fn next_hops(
        &mut self,
        mut plan: Plan,
        hops: &mut HashMap<Next, u32>,
        entries: &mut Vec<TableEntry>,
    ) -> Result<Plan, NoHop> {
        for next in plan.nexts() {
            if hops.contains_key(&next) {
                continue;
            }
            match (self.next_hop(next), next) {
                (Ok((number, entry)), _) => {
                    hops.insert(next, number);
                    entries.extend(entry);
                }
                (Err(why), Next::Network(version)) if !matches!(why, NoHop::Unresolved(_)) => {
                    let other = if version == Version::V4 { Version::V6 } else { Version::V4 };
                    plan = plan.only(other).ok_or(why)?;
                }
                (Err(why), _) => return Err(why),
            }
        }
        Ok(plan)
    }

    /// Removes next hops that no session uses any more: their numbers are limited, and each one is
    /// looked up again and again.
    fn release_hops(&mut self) {
        let installed = self.known.values().filter_map(|known| match &known.path {
            Path::Switch(installed) | Path::Moving(installed) => Some(installed),
            Path::Native => None,
        });
        // The switch may still have the entries of these.
        let orphans = self.orphans.iter().map(|orphan| &orphan.installed);
        let all = installed.chain(orphans);
        let used: HashSet<u32> = all.flat_map(|of| of.hops.iter().copied()).collect();
        let gone = self.tables.release_hops(&used, Instant::now()).into_iter();
        let updates: Vec<Update> =
            gone.map(|entry| Update { operation: Operation::Delete, entry }).collect();
        for chunk in updates.chunks(4096) {
            if let Reply::Refused(why) = self.request(Request::Write(chunk.to_vec())) {
                tracing::warn!(why, "switch rules out of sync: writing them again");
                if !self.reconcile() {
                    self.connected = false;
                }
                return;
            }
        }
    }

    /// Updates next hops whose link-layer addresses have changed, and removes those without a
    /// session.
    pub fn renew_hops(&mut self) {
        self.release_hops();
        for (port, to) in self.tables.hop_targets() {
            let netns = self.netns[usize::from(port == CORE)].clone();
            let Ok(Ok(hop)) = netns::within(netns.as_deref(), || Ok(neighbours::hop(to))) else {
                continue;
            };
            if let Some(entry) = self.tables.renew_hop(port, to, hop) {
                self.request(Request::Write(vec![Update { operation: Operation::Modify, entry }]));
            }
        }
    }

    /// Allocates the entries and next hops of sessions that are to move. Returns those that can.
    pub fn prepare(&mut self, seids: &[u64]) -> Vec<u64> {
        let seids = if self.ended { &[] } else { seids };
        let (mut ready, mut hops, mut meters, mut hop_entries) =
            (Vec::new(), HashMap::<Next, u32>::new(), Vec::new(), Vec::new());
        for &seid in seids {
            let Some(known) = self.known.get(&seid) else { continue };
            let Ok(plan) = known.plan.clone() else { continue };
            if !matches!(known.path, Path::Native) || !known.wanted {
                continue;
            }
            let plan = match self.next_hops(plan, &mut hops, &mut hop_entries) {
                Ok(plan) => plan,
                Err(why) => {
                    // Resolution was triggered, and completes soon.
                    self.retry(seid, why);
                    continue;
                }
            };
            match self.tables.allocate(&plan, &hops) {
                Ok(installed) => {
                    meters.extend(installed.meters.iter().copied());
                    if let Some(known) = self.known.get_mut(&seid) {
                        known.path = Path::Moving(installed);
                    }
                    ready.push(seid);
                }
                Err(why) => self.fail(seid, why),
            }
        }
        let hop_updates = hop_entries
            .into_iter()
            .map(|entry| Update { operation: Operation::Insert, entry })
            .collect::<Vec<_>>();
        let mut done = hop_updates.is_empty()
            || matches!(self.request(Request::Write(hop_updates)), Reply::Done);
        if done && !meters.is_empty() {
            done &= matches!(self.request(Request::Meters(meters)), Reply::Done);
        }
        if !done {
            self.abandon(&ready, "the switch rejects the next hops or meters of the sessions");
            self.reconcile();
            return Vec::new();
        }
        ready
    }

    pub(super) fn fail(&mut self, seid: u64, why: impl std::fmt::Display) {
        tracing::debug!(seid, %why, "session stays on the native path");
        self.statistics.failed += 1;
        self.statistics.why = why.to_string();
        self.policy.failed(seid, Instant::now());
    }

    /// A session stays on its path for a temporary reason.
    pub fn retry(&mut self, seid: u64, why: impl std::fmt::Display) {
        tracing::debug!(seid, %why, "session stays on the native path: temporary failure");
        self.statistics.failed += 1;
        self.statistics.why = why.to_string();
        self.policy.again(seid, Instant::now());
    }

    /// Cancels the move of sessions that have no entry in the switch yet.
    pub(super) fn abandon(&mut self, seids: &[u64], why: &str) {
        for &seid in seids {
            if let Some(known) = self.known.get_mut(&seid)
                && let Path::Moving(installed) = std::mem::replace(&mut known.path, Path::Native)
            {
                self.tables.free(&installed);
            }
            self.fail(seid, why);
        }
    }

    /// Makes the switch hold the packets of sessions. Returns those that are held.
    pub fn hold(&mut self, seids: Vec<u64>) -> Vec<u64> {
        let holds = seids.iter().filter_map(|seid| match &self.known.get(seid)?.path {
            Path::Moving(installed) => Some(&installed.holds),
            _ => None,
        });
        let updates: Vec<Update> = holds
            .flatten()
            .map(|entry| Update { operation: Operation::Insert, entry: entry.clone() })
            .collect();
        match self.request(Request::Write(updates)) {
            Reply::Done => seids,
            Reply::Refused(why) if seids.len() > 1 => {
                tracing::debug!(why, "batch rejected: writing its sessions one by one");
                seids.into_iter().flat_map(|seid| self.hold(vec![seid])).collect()
            }
            reply => {
                self.abandon(&seids, &format!("{reply:?}"));
                Vec::new()
            }
        }
    }

    /// Activates sessions on the switch whose packets are held, or that have had none.
    pub fn activate(&mut self, seids: &[u64], held: bool) {
        for &seid in seids {
            self.take_native_usage(seid);
        }
        let (near, seids): (Vec<u64>, Vec<u64>) =
            seids.iter().partition(|seid| self.is_near_quota(**seid));
        if held {
            self.withdraw(&near);
        } else {
            self.abandon(&near, "its quota is nearly exhausted");
        }
        // Counters continue from their current values.
        let indexes: Vec<u32> = seids
            .iter()
            .filter_map(|seid| match &self.known.get(seid)?.path {
                Path::Moving(installed) => Some(&installed.counted),
                _ => None,
            })
            .flatten()
            .map(|counted| counted.index)
            .collect();
        let Reply::Counts(counts) = self.request(Request::Counts(indexes)) else {
            return if held {
                self.withdraw(&seids)
            } else {
                self.abandon(&seids, "the switch does not reply")
            };
        };
        let (mut counts, mut updates) = (counts.into_iter(), Vec::new());
        for seid in &seids {
            let Some(Known { path: Path::Moving(installed), .. }) = self.known.get_mut(seid) else {
                continue;
            };
            for counted in &mut installed.counted {
                (counted.packets, counted.bytes) = counts.next().unwrap_or_default();
            }
            for entry in &installed.entries {
                let was_held = held
                    && installed
                        .holds
                        .iter()
                        .any(|hold| (hold.table, &hold.key) == (entry.table, &entry.key));
                let operation = if was_held { Operation::Modify } else { Operation::Insert };
                updates.push(Update { operation, entry: entry.clone() });
            }
        }
        self.poll_backoff.reset();
        match self.request(Request::Write(updates)) {
            Reply::Done => {
                for seid in &seids {
                    let Some(known) = self.known.get_mut(seid) else { continue };
                    known.path = match std::mem::replace(&mut known.path, Path::Native) {
                        Path::Moving(installed) => Path::Switch(installed),
                        other => other,
                    };
                    self.statistics.moved_on += 1;
                    self.policy.arrived(*seid);
                }
                self.show();
            }
            Reply::Refused(why) if seids.len() > 1 => {
                tracing::debug!(why, "batch rejected: writing its sessions one by one");
                seids.iter().for_each(|seid| self.activate(&[*seid], held));
            }
            reply => {
                if held {
                    self.withdraw(&seids);
                    seids.iter().for_each(|seid| self.fail(*seid, format!("{reply:?}")));
                } else {
                    self.abandon(&seids, &format!("{reply:?}"));
                }
            }
        }
    }
}
