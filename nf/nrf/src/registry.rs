//! The table of registered instances.
use martlet_sbi_api::nnrf_nfmanagement::{NfProfile, NfStatus};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;
use tokio::time::Instant;

/// Missed heartbeats after which an instance is suspended.
const SUSPEND_AFTER: u32 = 3;
/// Missed heartbeats after which an instance is removed.
const REMOVE_AFTER: u32 = 10;

/// A registered instance.
pub struct Entry {
    /// Its profile.
    pub profile: NfProfile,
    /// Identity of the certificate that registered it; `None` over the fabric or in the process.
    pub owner: Option<String>,
    /// Its heartbeat interval.
    pub interval: Duration,
    /// Time of the last heartbeat.
    pub seen: Instant,
    /// It registered with an earlier process of the NRF, and has sent no heartbeat since.
    pub is_restored: bool,
}

/// The table has `nrf.max_instances` instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegistryFull;

impl fmt::Display for RegistryFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the table of instances is full: raise nrf.max_instances")
    }
}

impl std::error::Error for RegistryFull {}

/// What happened to an instance without heartbeats.
pub enum Overdue {
    /// It is suspended: no longer selected.
    Suspended(Box<NfProfile>),
    /// It is removed.
    Removed(Box<NfProfile>),
}

/// Where an instance serves: its addresses, and the ports of its services.
fn address(profile: &NfProfile) -> impl PartialEq + use<> {
    let listed = profile.nf_service_list.iter().flat_map(|list| list.values());
    let services = listed.chain(profile.nf_services.iter().flatten());
    let endpoints = services.flat_map(|service| service.ip_end_points.iter().flatten());
    let mut ports: Vec<_> = endpoints.filter_map(|endpoint| endpoint.port).collect();
    ports.sort_unstable();
    ports.dedup();
    let (ipv4, ipv6) = (profile.ipv4_addresses.clone(), profile.ipv6_addresses.clone());
    (profile.fqdn.clone(), ipv4, ipv6, ports)
}

/// The table, limited in size, ordered by identity.
pub struct Registry {
    entries: BTreeMap<String, Entry>,
    max: usize,
}

impl Registry {
    pub fn new(max: usize) -> Self {
        Registry { entries: BTreeMap::new(), max }
    }

    /// Removes the restored instances that another one replaces: those of its type and owner at its
    /// address. Returns their identities.
    pub fn remove_replaced(&mut self, by: &NfProfile, owner: Option<&str>) -> Vec<String> {
        let replaced = |entry: &Entry| {
            let profile = &entry.profile;
            entry.is_restored
                && entry.owner.as_deref() == owner
                && profile.nf_instance_id != by.nf_instance_id
                && profile.nf_type == by.nf_type
                && address(profile) == address(by)
        };
        let all = self.entries.iter().filter(|(_, entry)| replaced(entry));
        let all: Vec<String> = all.map(|(id, _)| id.clone()).collect();
        all.iter().for_each(|id| drop(self.entries.remove(id)));
        all
    }

    /// Adds or replaces an instance. Returns the previous profile.
    ///
    /// # Errors
    /// The table is full.
    pub fn put(&mut self, entry: Entry) -> Result<Option<NfProfile>, RegistryFull> {
        let id = entry.profile.nf_instance_id.to_string();
        if self.entries.len() >= self.max && !self.entries.contains_key(&id) {
            return Err(RegistryFull);
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

    /// Suspends or removes the instances whose heartbeats are missing.
    pub fn sweep(&mut self, now: Instant) -> Vec<Overdue> {
        let mut overdue = Vec::new();
        self.entries.retain(|_, entry| {
            let silent = now.saturating_duration_since(entry.seen);
            let suspend_after = if entry.is_restored { 1 } else { SUSPEND_AFTER };
            if silent >= entry.interval.saturating_mul(REMOVE_AFTER) {
                overdue.push(Overdue::Removed(Box::new(entry.profile.clone())));
                return false;
            }
            if silent >= entry.interval.saturating_mul(suspend_after)
                && entry.profile.nf_status == NfStatus::Registered
            {
                entry.profile.nf_status = NfStatus::Suspended;
                overdue.push(Overdue::Suspended(Box::new(entry.profile.clone())));
            }
            true
        });
        overdue
    }
}
