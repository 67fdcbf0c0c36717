//! Connects to the switch and reconciles its entries.
use super::{Path, State};
use crate::controller::{Reply, Request};
use crate::isolation::Isolation;
use crate::tables::ENTRY_METADATA;
use martlet_switch_control::model::{Key, Operation, TableEntry, Update};
use std::collections::{HashMap, HashSet};

impl State {
    /// Connects and reconciles. Returns false if there is no switch.
    pub fn connect(&mut self) -> bool {
        if std::mem::take(&mut self.limits_due) {
            for seid in self.seids_on_switch() {
                self.adjust(seid);
            }
        }
        match self.controller.request(Request::Connect) {
            Reply::Done => {}
            Reply::Lost(why) | Reply::Refused(why) => {
                self.statistics.why = why;
                return false;
            }
            _ => return false,
        }
        self.connected = true;
        // A switch without its earlier state counts from zero again, and has no rules yet: without
        // this poll, what it counts next would be missed until it exceeds the last values.
        self.poll_counters(&self.seids_on_switch());
        self.compute_isolation();
        let ports = self.tables.ports(&self.ues, self.longest);
        if !matches!(self.request(Request::Write(ports)), Reply::Done) || !self.reconcile() {
            self.connected = false;
            return false;
        }
        // What the native UPF has forwarded meanwhile counts against the limits on the switch.
        for seid in self.seids_on_switch() {
            self.take_native_usage(seid);
        }
        self.statistics.connections += 1;
        tracing::info!(sessions = self.on_switch(), "switch connected");
        true
    }

    /// Follows the perimeter; returns the entries before and after, if it has changed.
    fn compute_isolation(&mut self) -> Option<[Vec<TableEntry>; 2]> {
        let perimeter = self.perimeter.clone()?;
        let generation = perimeter.generation();
        if self.isolated.replace(generation) == Some(generation) {
            return None;
        }
        let entries = perimeter.entries().into_iter();
        let denied = entries.filter(|(_, class)| *class != 0).map(|(prefix, _)| prefix);
        Some(self.tables.isolate(Isolation::of(denied)))
    }

    /// Writes what has changed of the perimeter.
    pub fn renew_isolation(&mut self) {
        if !self.connected {
            return;
        }
        let Some([before, after]) = self.compute_isolation() else { return };
        let mut updates = self.tables.ports(&self.ues, self.longest);
        let keyed = |entries: Vec<TableEntry>| -> HashMap<(usize, Key), TableEntry> {
            entries.into_iter().map(|entry| ((entry.table, entry.key.clone()), entry)).collect()
        };
        let (mut before, after) = (keyed(before), keyed(after));
        for (key, entry) in after {
            let operation = match before.remove(&key) {
                None => Operation::Insert,
                Some(old) if old.call == entry.call => continue,
                Some(_) => Operation::Modify,
            };
            updates.push(Update { operation, entry });
        }
        let gone = before.into_values();
        updates.extend(gone.map(|entry| Update { operation: Operation::Delete, entry }));
        for chunk in updates.chunks(4096) {
            if let Reply::Refused(why) = self.request(Request::Write(chunk.to_vec())) {
                tracing::error!(why, "perimeter of N6 not written: writing all rules again");
                if !self.reconcile() {
                    self.connected = false;
                }
                return;
            }
        }
    }

    /// Reconciles our entries in the switch with the intended ones.
    pub(super) fn reconcile(&mut self) -> bool {
        let Reply::Entries(existing) = self.request(Request::Entries) else { return false };
        let mut wanted: HashMap<(usize, Key), TableEntry> = HashMap::new();
        let installed = self.known.values().filter_map(|known| match &known.path {
            Path::Switch(installed) => Some(&installed.entries),
            Path::Moving(installed) => Some(&installed.holds),
            Path::Native => None,
        });
        let isolation = self.tables.isolation_entries();
        let isolating: HashSet<usize> = isolation.iter().map(|entry| entry.table).collect();
        let others = self.tables.hop_entries().into_iter().chain(isolation);
        for entry in installed.flatten().cloned().chain(others) {
            wanted.insert((entry.table, entry.key.clone()), entry);
        }
        let mut updates = Vec::new();
        for entry in existing {
            match wanted.remove(&(entry.table, entry.key.clone())) {
                Some(own) if own.call == entry.call => {}
                Some(own) => updates.push(Update { operation: Operation::Modify, entry: own }),
                None if entry.metadata == ENTRY_METADATA => {
                    updates.push(Update { operation: Operation::Delete, entry })
                }
                None => {}
            }
        }
        updates.extend(
            wanted.into_values().map(|entry| Update { operation: Operation::Insert, entry }),
        );
        // No flow is forwarded before its destination is checked.
        updates.sort_by_key(|update| !isolating.contains(&update.entry.table));
        for chunk in updates.chunks(4096) {
            if let reply @ (Reply::Lost(_) | Reply::Refused(_)) =
                self.request(Request::Write(chunk.to_vec()))
            {
                tracing::error!(?reply, "switch rejected the restored rules");
                return false;
            }
        }
        let meters: Vec<_> = self
            .known
            .values()
            .filter_map(|known| match &known.path {
                Path::Switch(installed) | Path::Moving(installed) => Some(installed.meters.clone()),
                Path::Native => None,
            })
            .flatten()
            .collect();
        if !meters.is_empty() && !matches!(self.request(Request::Meters(meters)), Reply::Done) {
            return false;
        }
        for mut orphan in std::mem::take(&mut self.orphans) {
            if !self.count(orphan.seid, &mut orphan.installed.counted) {
                self.orphans.push(orphan);
                return false;
            }
            self.tables.free(&orphan.installed);
        }
        true
    }
}
