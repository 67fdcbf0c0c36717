//! Which UE a message of the AMF is for: the UEs that are connected through a gNB, and those that
//! are idle in its cell.
use super::ue_task::ToUe;
use martlet_nas::STmsi;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use tokio::sync::mpsc;

/// Messages to one UE's task.
pub(crate) type Mailbox = mpsc::Sender<ToUe>;

struct Maps {
    by_ran_id: HashMap<u32, Mailbox>,
    ran_id_of_amf_id: HashMap<u64, u32>,
    camped: HashMap<u64, Mailbox>,
    next_ran_id: u32,
}

/// The table. Every method takes and leaves its lock at once.
pub(crate) struct UeTable(Mutex<Maps>);

impl Default for UeTable {
    fn default() -> Self {
        UeTable(Mutex::new(Maps {
            by_ran_id: HashMap::new(),
            ran_id_of_amf_id: HashMap::new(),
            camped: HashMap::new(),
            next_ran_id: 1,
        }))
    }
}

impl UeTable {
    /// One whose RAN UE NGAP IDs begin there: those of a gNB are its own, whichever AMF knows them.
    pub(crate) fn beginning_at(first: u32) -> Self {
        let table = UeTable::default();
        table.lock().next_ran_id = first;
        table
    }

    /// A UE that had this RAN UE NGAP ID with another AMF.
    pub(crate) fn take(&self, ran_id: u32, mailbox: Mailbox) {
        self.lock().by_ran_id.insert(ran_id, mailbox);
    }

    fn lock(&self) -> MutexGuard<'_, Maps> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// A RAN UE NGAP ID for a UE that connects.
    pub(crate) fn connect(&self, mailbox: Mailbox) -> u32 {
        let mut maps = self.lock();
        loop {
            let id = maps.next_ran_id;
            maps.next_ran_id = id.wrapping_add(1);
            if let std::collections::hash_map::Entry::Vacant(entry) = maps.by_ran_id.entry(id) {
                entry.insert(mailbox);
                return id;
            }
        }
    }

    /// The AMF UE NGAP ID that the AMF gave a connected UE.
    pub(crate) fn learn_amf_id(&self, ran_id: u32, amf_id: u64) {
        self.lock().ran_id_of_amf_id.insert(amf_id, ran_id);
    }

    /// The UE's connection is released.
    pub(crate) fn disconnect(&self, ran_id: u32, amf_id: Option<u64>) {
        let mut maps = self.lock();
        maps.by_ran_id.remove(&ran_id);
        if let Some(amf_id) = amf_id
            && maps.ran_id_of_amf_id.get(&amf_id) == Some(&ran_id)
        {
            maps.ran_id_of_amf_id.remove(&amf_id);
        }
    }

    /// The connected UE with this RAN UE NGAP ID.
    pub(crate) fn by_ran_id(&self, ran_id: u32) -> Option<Mailbox> {
        self.lock().by_ran_id.get(&ran_id).cloned()
    }

    pub(crate) fn by_amf_id(&self, amf_id: u64) -> Option<Mailbox> {
        let maps = self.lock();
        let ran_id = maps.ran_id_of_amf_id.get(&amf_id)?;
        maps.by_ran_id.get(ran_id).cloned()
    }

    /// All connected UEs.
    pub(crate) fn connected(&self) -> Vec<Mailbox> {
        self.lock().by_ran_id.values().cloned().collect()
    }

    /// All UEs, connected or idle.
    pub(crate) fn all(&self) -> Vec<Mailbox> {
        let maps = self.lock();
        maps.by_ran_id.values().chain(maps.camped.values()).cloned().collect()
    }

    /// An idle UE listens to paging with its 5G-S-TMSI.
    pub(crate) fn camp(&self, s_tmsi: STmsi, mailbox: Mailbox) {
        self.lock().camped.insert(s_tmsi.to_u64(), mailbox);
    }

    /// It does not any more.
    pub(crate) fn leave(&self, s_tmsi: STmsi) {
        self.lock().camped.remove(&s_tmsi.to_u64());
    }

    pub(crate) fn camped(&self, s_tmsi: u64) -> Option<Mailbox> {
        self.lock().camped.get(&s_tmsi).cloned()
    }

    /// How many UEs are connected, and how many are idle.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let maps = self.lock();
        (maps.by_ran_id.len(), maps.camped.len())
    }
}
