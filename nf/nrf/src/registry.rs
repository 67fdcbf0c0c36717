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

    /// Removes the restored instances that another one replaces: those of its type at its address,
    /// unless both have certificates, of different owners. A core that ended without deregistration
    /// and starts again with `sbi.pki`, or with a process for each function, has another owner.
    /// Returns their identities.
    pub fn remove_replaced(&mut self, by: &NfProfile, owner: Option<&str>) -> Vec<String> {
        let may_replace = |held: Option<&str>| held.zip(owner).is_none_or(|(one, two)| one == two);
        let replaced = |entry: &Entry| {
            let profile = &entry.profile;
            entry.is_restored
                && may_replace(entry.owner.as_deref())
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

    /// The instances with this identity in upper or lower case: producers compare the audience of a
    /// token so, and two owners must not have the same identity.
    pub fn in_any_case(&self, id: &str) -> impl Iterator<Item = &Entry> {
        let same = self.entries.iter().filter(move |(held, _)| held.eq_ignore_ascii_case(id));
        same.map(|(_, entry)| entry)
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

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_sbi_api::nnrf_nfmanagement::NfType;

    fn profile(n: u8, last: u8) -> NfProfile {
        let id = format!("00000000-0000-4000-8000-0000000000{n:02x}").parse().unwrap();
        let mut profile = NfProfile::new(id, NfType::Amf, NfStatus::Registered);
        profile.ipv4_addresses = Some(vec![[127, 0, 0, last].into()]);
        profile
    }

    /// Whether an instance with the owner `held` is left when another one registers.
    fn is_left(is_restored: bool, held: Option<&str>, by: &NfProfile, owner: Option<&str>) -> bool {
        let mut registry = Registry::new(4);
        let entry = Entry {
            profile: profile(1, 17),
            owner: held.map(String::from),
            interval: Duration::from_secs(10),
            seen: Instant::now(),
            is_restored,
        };
        registry.put(entry).unwrap();
        registry.remove_replaced(by, owner).is_empty()
    }

    #[test]
    fn an_identity_in_other_letters_is_the_same_one() {
        let mut registry = Registry::new(4);
        let profile = profile(0xab, 17);
        let id = profile.nf_instance_id.to_string();
        let (interval, seen) = (Duration::from_secs(10), Instant::now());
        let owner = Some("udr".to_string());
        registry.put(Entry { profile, owner, interval, seen, is_restored: false }).unwrap();
        let owners = |id: &str| {
            let found = registry.in_any_case(id).map(|entry| entry.owner.clone());
            found.collect::<Vec<_>>()
        };
        assert_eq!(owners(&id.to_uppercase()), [Some("udr".to_string())]);
        assert_eq!(owners(&id), owners(&id.to_uppercase()));
        assert!(owners("00000000-0000-4000-8000-0000000000ac").is_empty());
    }

    #[test]
    fn a_restored_instance_is_replaced_by_another_one_at_its_address() {
        let by = profile(2, 17);
        let (core, amf) = (Some("core"), Some("amf"));
        // From a process with all functions to processes with certificates, and back.
        for (held, owner) in [(None, None), (None, amf), (amf, None), (amf, amf)] {
            assert!(!is_left(true, held, &by, owner), "{held:?} {owner:?}");
        }
        assert!(is_left(true, core, &by, amf), "another owner's");
        assert!(is_left(false, None, &by, None), "it sends heartbeats");
        assert!(is_left(true, None, &profile(2, 18), None), "it has another address");
        assert!(is_left(true, None, &profile(1, 17), None), "it is the same instance");
    }
}
