//! The table of registered instances.
use martlet_sbi_api::nnrf_nfmanagement::{NfProfile, NfStatus};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// Heartbeats that may stay out before an instance is suspended.
const MISSED: u32 = 3;
/// After this many intervals without a heartbeat an instance is removed.
const LOST: u32 = 10;

/// A registered instance.
pub struct Entry {
    /// What it says of itself.
    pub profile: NfProfile,
    /// Interval of its heartbeats.
    pub interval: Duration,
    /// Its last sign of life.
    pub seen: Instant,
}

/// What became of an instance whose heartbeats stayed out.
pub enum Overdue {
    /// It is no longer chosen.
    Suspended(Box<NfProfile>),
    /// It is forgotten.
    Removed(Box<NfProfile>),
}

/// The table, bounded, in the order of the identities.
pub struct Registry {
    entries: BTreeMap<String, Entry>,
    most: usize,
}

impl Registry {
    pub fn new(most: usize) -> Self {
        Registry { entries: BTreeMap::new(), most }
    }

    /// Adds or replaces: the profile before, or `Err` where there is no room.
    pub fn put(&mut self, entry: Entry) -> Result<Option<NfProfile>, ()> {
        let id = entry.profile.nf_instance_id.to_string();
        if self.entries.len() >= self.most && !self.entries.contains_key(&id) {
            return Err(());
        }
        Ok(self.entries.insert(id, entry).map(|before| before.profile))
    }

    pub fn get(&self, id: &str) -> Option<&Entry> {
        self.entries.get(id)
    }

    pub fn get_mut(&mut self, id: &str) -> Option<&mut Entry> {
        self.entries.get_mut(id)
    }

    pub fn remove(&mut self, id: &str) -> Option<NfProfile> {
        self.entries.remove(id).map(|entry| entry.profile)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    /// Suspends and removes those whose heartbeats stay out.
    pub fn sweep(&mut self, now: Instant) -> Vec<Overdue> {
        let mut overdue = Vec::new();
        self.entries.retain(|_, entry| {
            let silent = now.saturating_duration_since(entry.seen);
            if silent >= entry.interval * LOST {
                overdue.push(Overdue::Removed(Box::new(entry.profile.clone())));
                return false;
            }
            if silent >= entry.interval * MISSED && entry.profile.nf_status == NfStatus::Registered
            {
                entry.profile.nf_status = NfStatus::Suspended;
                overdue.push(Overdue::Suspended(Box::new(entry.profile.clone())));
            }
            true
        });
        overdue
    }
}
