//! Sessions move onto the switch, and off it.
use super::{Known, Orphan, Place, State};
use crate::controller::{Ask, Told};
use crate::neighbours::{self, Away};
use crate::plan::{Next, Plan, Version};
use crate::tables::{ACCESS, CORE};
use martlet_switch_control::model::{Operation, TableEntry, Update};
use martlet_upf_kernel::netns;
use std::collections::HashMap;
use std::time::Instant;

impl State {
    /// Sessions take the native path from here on, and all that the switch has counted of them is
    /// known.
    pub fn take_off(&mut self, seids: &[u64]) {
        let mut gone = Vec::new();
        for seid in seids {
            let Some(known) = self.known.get_mut(seid) else { continue };
            let (placed, moving) = match std::mem::replace(&mut known.place, Place::Native) {
                Place::Native => continue,
                Place::Moving(placed) => (placed, true),
                Place::Switch(placed) => (placed, false),
            };
            gone.push((*seid, placed, moving));
        }
        if gone.is_empty() {
            return;
        }
        let entries = gone
            .iter()
            .flat_map(|(_, placed, moving)| if *moving { &placed.holds } else { &placed.entries });
        let updates = entries
            .map(|entry| Update { operation: Operation::Delete, entry: entry.clone() })
            .collect();
        if let Told::Refused(why) = self.ask(Ask::Write(updates)) {
            // Somebody else has had a hand in it.
            tracing::warn!(why, "switch rules out of sync: writing them again");
            self.reconcile();
        }
        for (seid, mut placed, moving) in gone {
            self.happened.moved_off += u64::from(!moving);
            if moving || self.count(seid, &mut placed.counted) {
                self.tables.free(&placed);
            } else {
                self.orphans.push(Orphan { seid, placed });
            }
            self.adjust(seid);
        }
        self.show();
    }

    /// The number of a next hop; with its entries where it is new.
    pub(super) fn next_hop(&mut self, next: Next) -> Result<(u32, Vec<TableEntry>), Away> {
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
            Ok::<_, Away>((to, neighbours::hop(to)?))
        };
        let (to, hop) =
            netns::within(netns.as_deref(), || Ok(find())).map_err(|error| error.to_string())??;
        Ok(self.tables.hop(if matches!(next, Next::Gnb(_)) { ACCESS } else { CORE }, to, hop)?)
    }

    /// The next hops of a plan, which loses the packets of a version that there is no way for,
    /// where there are others.
    fn next_hops(
        &mut self,
        mut plan: Plan,
        hops: &mut HashMap<Next, u32>,
        entries: &mut Vec<TableEntry>,
    ) -> Result<Plan, Away> {
        for next in plan.nexts() {
            if hops.contains_key(&next) {
                continue;
            }
            match (self.next_hop(next), next) {
                (Ok((number, entry)), _) => {
                    hops.insert(next, number);
                    entries.extend(entry);
                }
                (Err(Away::NoWay(why)), Next::Network(version)) => {
                    let other = if version == Version::V4 { Version::V6 } else { Version::V4 };
                    plan = plan.only(other).ok_or(Away::NoWay(why))?;
                }
                (Err(why), _) => return Err(why),
            }
        }
        Ok(plan)
    }

    /// Neighbours may have other link addresses than before.
    pub fn renew_hops(&mut self) {
        for (port, to) in self.tables.hop_targets() {
            let netns = self.netns[usize::from(port == CORE)].clone();
            let Ok(Ok(hop)) = netns::within(netns.as_deref(), || Ok(neighbours::hop(to))) else {
                continue;
            };
            if let Some(entry) = self.tables.renew_hop(port, to, hop) {
                self.ask(Ask::Write(vec![Update { operation: Operation::Modify, entry }]));
            }
        }
    }

    /// Makes the entries of sessions that are to move. Gives, with what it needs of next hops, each
    /// that can.
    pub fn prepare(&mut self, seids: &[u64]) -> Vec<u64> {
        let seids = if self.ended { &[] } else { seids };
        let (mut ready, mut hops, mut meters, mut hop_entries) =
            (Vec::new(), HashMap::<Next, u32>::new(), Vec::new(), Vec::new());
        for &seid in seids {
            let Some(known) = self.known.get(&seid) else { continue };
            let Ok(plan) = known.plan.clone() else { continue };
            if !matches!(known.place, Place::Native) || !known.wanted {
                continue;
            }
            let plan = match self.next_hops(plan, &mut hops, &mut hop_entries) {
                Ok(plan) => plan,
                Err(why) => {
                    // It was asked for, and is known in a moment.
                    self.retry(seid, why.to_string());
                    continue;
                }
            };
            match self.tables.place(&plan, &hops) {
                Ok(placed) => {
                    meters.extend(placed.meters.iter().copied());
                    if let Some(known) = self.known.get_mut(&seid) {
                        known.place = Place::Moving(placed);
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
        let mut done =
            hop_updates.is_empty() || matches!(self.ask(Ask::Write(hop_updates)), Told::Done);
        if done && !meters.is_empty() {
            done &= matches!(self.ask(Ask::Meters(meters)), Told::Done);
        }
        if !done {
            self.abandon(&ready, "the switch does not take what the sessions need");
            self.reconcile();
            return Vec::new();
        }
        ready
    }

    pub(super) fn fail(&mut self, seid: u64, why: String) {
        tracing::debug!(seid, why, "the session stays on the native path");
        self.happened.failed += 1;
        self.happened.why = why;
        self.policy.failed(seid, Instant::now());
    }

    /// A session stays where it is for a reason that passes.
    pub fn retry(&mut self, seid: u64, why: String) {
        tracing::debug!(seid, why, "the session stays on the native path for a moment");
        self.happened.failed += 1;
        self.happened.why = why;
        self.policy.again(seid, Instant::now());
    }

    /// Sessions that were to move and have no entry in the switch yet.
    pub(super) fn abandon(&mut self, seids: &[u64], why: &str) {
        for &seid in seids {
            if let Some(known) = self.known.get_mut(&seid)
                && let Place::Moving(placed) = std::mem::replace(&mut known.place, Place::Native)
            {
                self.tables.free(&placed);
            }
            self.fail(seid, why.into());
        }
    }

    /// Has the packets of sessions wait at the switch. Gives those that do.
    pub fn hold(&mut self, seids: Vec<u64>) -> Vec<u64> {
        let holds = seids.iter().filter_map(|seid| match &self.known.get(seid)?.place {
            Place::Moving(placed) => Some(&placed.holds),
            _ => None,
        });
        let updates: Vec<Update> = holds
            .flatten()
            .map(|entry| Update { operation: Operation::Insert, entry: entry.clone() })
            .collect();
        match self.ask(Ask::Write(updates)) {
            Told::Done => seids,
            Told::Refused(why) if seids.len() > 1 => {
                tracing::debug!(why, "one by one");
                seids.into_iter().flat_map(|seid| self.hold(vec![seid])).collect()
            }
            told => {
                self.abandon(&seids, &format!("{told:?}"));
                Vec::new()
            }
        }
    }

    /// Puts sessions onto the switch whose packets wait there, or that have had none.
    pub fn put_on(&mut self, seids: &[u64], held: bool) {
        for &seid in seids {
            self.carry(seid);
        }
        let (near, seids): (Vec<u64>, Vec<u64>) =
            seids.iter().partition(|seid| self.is_near_quota(**seid));
        if held {
            self.take_off(&near);
        } else {
            self.abandon(&near, "its quota is nearly used up");
        }
        // Counters go on from wherever they are.
        let indexes: Vec<u32> = seids
            .iter()
            .filter_map(|seid| match &self.known.get(seid)?.place {
                Place::Moving(placed) => Some(&placed.counted),
                _ => None,
            })
            .flatten()
            .map(|counted| counted.index)
            .collect();
        let Told::Counts(counts) = self.ask(Ask::Counts(indexes)) else {
            return if held {
                self.take_off(&seids)
            } else {
                self.abandon(&seids, "the switch does not answer")
            };
        };
        let (mut counts, mut updates) = (counts.into_iter(), Vec::new());
        for seid in &seids {
            let Some(Known { place: Place::Moving(placed), .. }) = self.known.get_mut(seid) else {
                continue;
            };
            for counted in &mut placed.counted {
                (counted.packets, counted.bytes) = counts.next().unwrap_or_default();
            }
            for entry in &placed.entries {
                let was_held = held
                    && placed
                        .holds
                        .iter()
                        .any(|hold| (hold.table, &hold.key) == (entry.table, &entry.key));
                let operation = if was_held { Operation::Modify } else { Operation::Insert };
                updates.push(Update { operation, entry: entry.clone() });
            }
        }
        self.rest.disturb();
        match self.ask(Ask::Write(updates)) {
            Told::Done => {
                for seid in &seids {
                    let Some(known) = self.known.get_mut(seid) else { continue };
                    known.place = match std::mem::replace(&mut known.place, Place::Native) {
                        Place::Moving(placed) => Place::Switch(placed),
                        other => other,
                    };
                    self.happened.moved_on += 1;
                    self.policy.arrived(*seid);
                }
                self.show();
            }
            Told::Refused(why) if seids.len() > 1 => {
                tracing::debug!(why, "one by one");
                seids.iter().for_each(|seid| self.put_on(&[*seid], held));
            }
            told => {
                if held {
                    self.take_off(&seids);
                    seids.iter().for_each(|seid| self.fail(*seid, format!("{told:?}")));
                } else {
                    self.abandon(&seids, &format!("{told:?}"));
                }
            }
        }
    }
}
