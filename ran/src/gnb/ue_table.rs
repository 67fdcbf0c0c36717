//! The UEs of a gNB: connected ones by their NGAP identifiers, idle ones by 5G-S-TMSI.
use martlet_nas::STmsi;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use tokio::sync::mpsc;

struct Maps<M> {
    by_ran_id: HashMap<u32, mpsc::Sender<M>>,
    ran_id_of_amf_id: HashMap<u64, u32>,
    camped: HashMap<u64, mpsc::Sender<M>>,
    next_ran_id: u32,
}

/// The queues of the UEs' tasks, which take messages `M`. No method holds the lock beyond its end.
pub(crate) struct UeTable<M>(Mutex<Maps<M>>);

impl<M> Default for UeTable<M> {
    fn default() -> Self {
        UeTable(Mutex::new(Maps {
            by_ran_id: HashMap::new(),
            ran_id_of_amf_id: HashMap::new(),
            camped: HashMap::new(),
            next_ran_id: 1,
        }))
    }
}

impl<M> UeTable<M> {
    /// A table whose first RAN UE NGAP ID is `first`. The associations of a gNB use separate
    /// ranges.
    pub(crate) fn beginning_at(first: u32) -> Self {
        let table = UeTable::default();
        table.lock().next_ran_id = first;
        table
    }

    /// Adds a UE that had this RAN UE NGAP ID on another association.
    pub(crate) fn insert(&self, ran_id: u32, inbox: mpsc::Sender<M>) {
        self.lock().by_ran_id.insert(ran_id, inbox);
    }

    fn lock(&self) -> MutexGuard<'_, Maps<M>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Adds a connected UE. Returns its new RAN UE NGAP ID.
    pub(crate) fn connect(&self, inbox: mpsc::Sender<M>) -> u32 {
        let mut maps = self.lock();
        loop {
            let id = maps.next_ran_id;
            maps.next_ran_id = id.wrapping_add(1);
            if let std::collections::hash_map::Entry::Vacant(entry) = maps.by_ran_id.entry(id) {
                entry.insert(inbox);
                return id;
            }
        }
    }

    /// Sets the AMF UE NGAP ID of a connected UE.
    pub(crate) fn set_amf_id(&self, ran_id: u32, amf_id: u64) {
        self.lock().ran_id_of_amf_id.insert(amf_id, ran_id);
    }

    /// Removes a UE whose connection is released.
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
    pub(crate) fn by_ran_id(&self, ran_id: u32) -> Option<mpsc::Sender<M>> {
        self.lock().by_ran_id.get(&ran_id).cloned()
    }

    /// The connected UE with this AMF UE NGAP ID.
    pub(crate) fn by_amf_id(&self, amf_id: u64) -> Option<mpsc::Sender<M>> {
        let maps = self.lock();
        let ran_id = maps.ran_id_of_amf_id.get(&amf_id)?;
        maps.by_ran_id.get(ran_id).cloned()
    }

    /// All connected UEs.
    pub(crate) fn connected(&self) -> Vec<mpsc::Sender<M>> {
        self.lock().by_ran_id.values().cloned().collect()
    }

    /// All UEs, connected or idle.
    pub(crate) fn all(&self) -> Vec<mpsc::Sender<M>> {
        let maps = self.lock();
        maps.by_ran_id.values().chain(maps.camped.values()).cloned().collect()
    }

    /// Adds an idle UE, which listens to paging with its 5G-S-TMSI.
    pub(crate) fn camp(&self, s_tmsi: STmsi, inbox: mpsc::Sender<M>) {
        self.lock().camped.insert(s_tmsi.to_u64(), inbox);
    }

    /// Removes an idle UE.
    pub(crate) fn leave(&self, s_tmsi: STmsi) {
        self.lock().camped.remove(&s_tmsi.to_u64());
    }

    /// The idle UE with this 5G-S-TMSI.
    pub(crate) fn camped(&self, s_tmsi: u64) -> Option<mpsc::Sender<M>> {
        self.lock().camped.get(&s_tmsi).cloned()
    }

    /// Number of connected UEs, and of idle UEs.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let maps = self.lock();
        (maps.by_ran_id.len(), maps.camped.len())
    }
}
