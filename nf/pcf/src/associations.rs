//! Policy associations by their identity: bounded, and one for each thing that they are about. They
//! lie there packed: what an SMF or AMF says has many members, few of which are there, and is
//! looked at seldom.
use martlet_sbi::compact::{self, Compact};
use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::{Mutex, MutexGuard};

struct Tables {
    /// With what the association is about.
    by_id: HashMap<u64, (Box<str>, Box<[u8]>)>,
    /// Identity by what the association is about.
    by_subject: HashMap<Box<str>, u64>,
    last: u64,
}

/// The table.
pub struct Associations<T> {
    tables: Mutex<Tables>,
    most: usize,
    kind: PhantomData<fn() -> T>,
}

fn pack<T: Compact>(association: &T) -> Box<[u8]> {
    let mut octets = Vec::new();
    compact::to_vec(association, &mut octets);
    octets.into()
}

fn unpack<T: Compact>(octets: &[u8]) -> Option<T> {
    compact::from_slice(octets)
        .inspect_err(|error| tracing::error!(%error, "a policy association is not as it was"))
        .ok()
}

impl<T: Compact> Associations<T> {
    pub fn new(most: usize) -> Self {
        let tables = Tables { by_id: HashMap::new(), by_subject: HashMap::new(), last: 0 };
        Associations { tables: Mutex::new(tables), most, kind: PhantomData }
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Adds an association; one about the same subject is replaced, since its owner has forgotten
    /// it. `None` where there is no room.
    pub fn add(&self, subject: String, association: T) -> Option<String> {
        let mut tables = self.tables();
        if let Some(before) = tables.by_subject.remove(subject.as_str()) {
            tables.by_id.remove(&before);
        }
        if tables.by_id.len() >= self.most {
            return None;
        }
        tables.last += 1;
        let (id, subject) = (tables.last, subject.into_boxed_str());
        tables.by_id.insert(id, (subject.clone(), pack(&association)));
        tables.by_subject.insert(subject, id);
        Some(id.to_string())
    }

    /// Changes an association: `None` where it is not there.
    pub fn change<R>(&self, id: &str, change: impl FnOnce(&mut T) -> R) -> Option<R> {
        let id: u64 = id.parse().ok()?;
        let mut tables = self.tables();
        let (_, octets) = tables.by_id.get_mut(&id)?;
        let mut association = unpack(octets)?;
        let outcome = change(&mut association);
        *octets = pack(&association);
        Some(outcome)
    }

    /// An association.
    pub fn get(&self, id: &str) -> Option<T> {
        let id: u64 = id.parse().ok()?;
        self.tables().by_id.get(&id).and_then(|(_, octets)| unpack(octets))
    }

    /// All of them with their identities.
    pub fn all(&self) -> Vec<(String, T)> {
        let tables = self.tables();
        tables
            .by_id
            .iter()
            .filter_map(|(id, (_, octets))| Some((id.to_string(), unpack(octets)?)))
            .collect()
    }

    /// Takes an association away: whether it was there.
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
    fn one_for_each_subject_and_no_more_than_fit() {
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
    fn what_few_look_at_lies_packed() {
        use crate::sm_policy::SmAssociation;
        use martlet_sbi_api::common::{PduSessionType, Snssai};
        use martlet_sbi_api::npcf_sm_policy_control::SmPolicyContextData;
        let supi = "imsi-001010000000001".parse().unwrap();
        let uri = "http://127.0.0.16:7777/nsmf-callback/v1/sm-policy/29348729384798".to_string();
        let dnn = "internet".parse().unwrap();
        let context =
            SmPolicyContextData::new(supi, 1, PduSessionType::Ipv4, dnn, uri, Snssai::new(1, None));
        let association = SmAssociation { context: context.clone(), requested: Vec::new() };
        let packed = pack(&association);
        let loose = size_of::<SmAssociation>();
        println!("{} octets packed, {loose} as they are used", packed.len());
        assert!(packed.len() * 3 < loose, "{} of {loose}", packed.len());
        assert_eq!(
            unpack::<SmAssociation>(&packed).map(|association| association.context),
            Some(context)
        );
    }
}
