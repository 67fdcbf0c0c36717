//! The table of policy associations: limited, one per subject (UE or PDU session). Associations are
//! stored encoded, which saves memory: most of their many members are absent, and they are read
//! rarely.
use martlet_nf::nf_set;
use martlet_sbi::compact::{self, Compact};
use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::{Mutex, MutexGuard};

struct Tables {
    /// Encoded association and subject, by identity.
    by_id: HashMap<u64, (Box<str>, Box<[u8]>)>,
    /// Identity by subject.
    by_subject: HashMap<Box<str>, u64>,
    last: u64,
}

/// The table.
pub struct Associations<T> {
    tables: Mutex<Tables>,
    max: usize,
    kind: PhantomData<fn() -> T>,
}

fn encode<T: Compact>(association: &T) -> Box<[u8]> {
    let mut bytes = Vec::new();
    compact::to_vec(association, &mut bytes);
    bytes.into()
}

fn decode<T: Compact>(bytes: &[u8]) -> Option<T> {
    compact::from_slice(bytes)
        .inspect_err(|error| tracing::error!(%error, "policy association does not decode"))
        .ok()
}

impl<T: Compact> Associations<T> {
    pub fn new(max: usize) -> Self {
        // AMFs and SMFs hold the identities of a former process, which have to stay unknown.
        let last = nf_set::last_number_without_set();
        let tables = Tables { by_id: HashMap::new(), by_subject: HashMap::new(), last };
        Associations { tables: Mutex::new(tables), max, kind: PhantomData }
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Adds an association and returns its identity. Replaces one with the same subject, since its
    /// owner has lost it. None if the table is full.
    pub fn add(&self, subject: String, association: T) -> Option<String> {
        let mut tables = self.tables();
        if let Some(before) = tables.by_subject.remove(subject.as_str()) {
            tables.by_id.remove(&before);
        }
        if tables.by_id.len() >= self.max {
            return None;
        }
        tables.last += 1;
        let (id, subject) = (tables.last, subject.into_boxed_str());
        tables.by_id.insert(id, (subject.clone(), encode(&association)));
        tables.by_subject.insert(subject, id);
        Some(id.to_string())
    }

    /// Modifies an association. None if there is no such association.
    pub fn change<R>(&self, id: &str, change: impl FnOnce(&mut T) -> R) -> Option<R> {
        let id: u64 = id.parse().ok()?;
        let mut tables = self.tables();
        let (_, bytes) = tables.by_id.get_mut(&id)?;
        let mut association = decode(bytes)?;
        let outcome = change(&mut association);
        *bytes = encode(&association);
        Some(outcome)
    }

    /// Returns an association.
    pub fn get(&self, id: &str) -> Option<T> {
        let id: u64 = id.parse().ok()?;
        self.tables().by_id.get(&id).and_then(|(_, bytes)| decode(bytes))
    }

    /// Returns all associations with their identities.
    pub fn all(&self) -> Vec<(String, T)> {
        let tables = self.tables();
        tables
            .by_id
            .iter()
            .filter_map(|(id, (_, bytes))| Some((id.to_string(), decode(bytes)?)))
            .collect()
    }

    /// Returns the identities of the associations that `is` accepts.
    pub fn select(&self, mut is: impl FnMut(&T) -> bool) -> Vec<String> {
        let tables = self.tables();
        let selected = tables
            .by_id
            .iter()
            .filter(|(_, (_, bytes))| decode(bytes).is_some_and(|association: T| is(&association)));
        selected.map(|(id, _)| id.to_string()).collect()
    }

    /// Removes an association. Returns whether it existed.
    pub fn remove(&self, id: &str) -> bool {
        let Ok(id) = id.parse::<u64>() else { return false };
        let mut tables = self.tables();
        let Some((subject, _)) = tables.by_id.remove(&id) else { return false };
        if tables.by_subject.get(&subject) == Some(&id) {
            tables.by_subject.remove(&subject);
        }
        true
    }

    pub fn len(&self) -> usize {
        self.tables().by_id.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn associations_are_unique_per_subject_and_limited() {
        let table = Associations::new(2);
        let first = table.add("a".into(), 1).unwrap();
        let second = table.add("a".into(), 2).unwrap();
        assert_eq!((table.get(&first), table.get(&second)), (None, Some(2)));
        table.add("b".into(), 3).unwrap();
        assert_eq!(table.add("c".into(), 4), None);
        assert!(table.remove(&second));
        assert!(!table.remove(&second));
        assert_eq!(table.len(), 1);
    }

    #[test]
    fn an_identity_of_a_former_process_is_unknown() {
        let former = Associations::new(1);
        let held = former.add("a".into(), 1).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(1));
        let restarted = Associations::new(1);
        restarted.add("b".into(), 2).unwrap();
        assert_eq!(restarted.get(&held), None);
        assert!(!restarted.remove(&held));
    }

    #[test]
    fn encoded_associations_are_smaller() {
        use crate::sm_policy::SmAssociation;
        use martlet_sbi_api::common::{PduSessionType, Snssai};
        use martlet_sbi_api::npcf_sm_policy_control::SmPolicyContextData;
        let supi = "imsi-001010000000001".parse().unwrap();
        let uri = "http://127.0.0.16:7777/nsmf-callback/v1/sm-policy/29348729384798".to_string();
        let dnn = "internet".parse().unwrap();
        let context =
            SmPolicyContextData::new(supi, 1, PduSessionType::Ipv4, dnn, uri, Snssai::new(1, None));
        let association = SmAssociation { context: context.clone(), requested: Vec::new() };
        let packed = encode(&association);
        let loose = size_of::<SmAssociation>();
        println!("{} bytes encoded, {loose} decoded", packed.len());
        assert!(packed.len() * 3 < loose, "{} of {loose}", packed.len());
        assert_eq!(
            decode::<SmAssociation>(&packed).map(|association| association.context),
            Some(context)
        );
    }
}
