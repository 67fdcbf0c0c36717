//! Connecting with the switch, and having it be what it is to be.
use super::{Place, State};
use crate::controller::{Ask, Told};
use crate::tables::OURS;
use martlet_switch_control::model::{Key, Operation, TableEntry, Update};
use std::collections::HashMap;

impl State {
    /// Connects, and has the switch be what it is to be. False where there is none.
    pub fn connect(&mut self) -> bool {
        match self.controller.ask(Ask::Connect) {
            Told::Done => {}
            Told::Lost(why) | Told::Refused(why) => {
                self.happened.why = why;
                return false;
            }
            _ => return false,
        }
        self.connected = true;
        let ports = self.tables.ports(&self.ues, self.longest);
        if !matches!(self.ask(Ask::Write(ports)), Told::Done) || !self.reconcile() {
            self.connected = false;
            return false;
        }
        self.happened.connections += 1;
        tracing::info!(sessions = self.on_switch(), "switch connected");
        true
    }

    /// Makes our entries in the switch what they are to be, whatever is there.
    pub(super) fn reconcile(&mut self) -> bool {
        let Told::Entries(there) = self.ask(Ask::Entries) else { return false };
        let mut wanted: HashMap<(usize, Key), TableEntry> = HashMap::new();
        let placed = self.known.values().filter_map(|known| match &known.place {
            Place::Switch(placed) => Some(&placed.entries),
            Place::Moving(placed) => Some(&placed.holds),
            Place::Native => None,
        });
        for entry in placed.flatten().cloned().chain(self.tables.hop_entries()) {
            wanted.insert((entry.table, entry.key.clone()), entry);
        }
        let mut updates = Vec::new();
        for entry in there {
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
            if let told @ (Told::Lost(_) | Told::Refused(_)) = self.ask(Ask::Write(chunk.to_vec()))
            {
                tracing::error!(?told, "switch rejected the rules of before");
                return false;
            }
        }
        let meters: Vec<_> = self
            .known
            .values()
            .filter_map(|known| match &known.place {
                Place::Switch(placed) | Place::Moving(placed) => Some(placed.meters.clone()),
                Place::Native => None,
            })
            .flatten()
            .collect();
        if !meters.is_empty() && !matches!(self.ask(Ask::Meters(meters)), Told::Done) {
            return false;
        }
        for mut orphan in std::mem::take(&mut self.orphans) {
            if !self.count(orphan.seid, &mut orphan.placed.counted) {
                self.orphans.push(orphan);
                return false;
            }
            self.tables.free(&orphan.placed);
        }
        true
    }
}
