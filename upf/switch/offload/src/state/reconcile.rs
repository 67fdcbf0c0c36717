//! Connects to the switch and reconciles its entries.
use super::{Path, State};
use crate::controller::{Reply, Request};
use crate::tables::OURS;
use martlet_switch_control::model::{Key, Operation, TableEntry, Update};
use std::collections::HashMap;

impl State {
    /// Connects and reconciles. Returns false if there is no switch.
    pub fn connect(&mut self) -> bool {
        match self.controller.request(Request::Connect) {
            Reply::Done => {}
            Reply::Lost(why) | Reply::Refused(why) => {
                self.statistics.why = why;
                return false;
            }
            _ => return false,
        }
        self.connected = true;
        let ports = self.tables.ports(&self.ues, self.longest);
        if !matches!(self.request(Request::Write(ports)), Reply::Done) || !self.reconcile() {
            self.connected = false;
            return false;
        }
        self.statistics.connections += 1;
        tracing::info!(sessions = self.on_switch(), "switch connected");
        true
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
        for entry in installed.flatten().cloned().chain(self.tables.hop_entries()) {
            wanted.insert((entry.table, entry.key.clone()), entry);
        }
        let mut updates = Vec::new();
        for entry in existing {
            match wanted.remove(&(entry.table, entry.key.clone())) {
                Some(own) if own.call == entry.call => {}
                Some(own) => updates.push(Update { operation: Operation::Modify, entry: own }),
                None if entry.metadata == OURS => {
                    updates.push(Update { operation: Operation::Delete, entry })
                }
                None => {}
            }
        }
        updates.extend(
            wanted.into_values().map(|entry| Update { operation: Operation::Insert, entry }),
        );
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
