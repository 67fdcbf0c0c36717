//! Policy associations by their identity: bounded, and one for each thing that they are about.
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

struct Tables<T> {
    /// Boxed, since most of a hash table's slots may be empty and an association is large.
    by_id: HashMap<String, (String, Box<T>)>,
    /// Identity by what the association is about.
    by_subject: HashMap<String, String>,
    last: u64,
}

/// The table.
pub struct Associations<T> {
    tables: Mutex<Tables<T>>,
    most: usize,
}

impl<T: Clone> Associations<T> {
    pub fn new(most: usize) -> Self {
        let tables = Tables { by_id: HashMap::new(), by_subject: HashMap::new(), last: 0 };
        Associations { tables: Mutex::new(tables), most }
    }

    fn tables(&self) -> MutexGuard<'_, Tables<T>> {
        self.tables.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Adds an association; one about the same subject is replaced, since its owner has forgotten it. `None` where
    /// there is no room.
    pub fn add(&self, subject: String, association: T) -> Option<String> {
        let mut tables = self.tables();
        if let Some(before) = tables.by_subject.remove(&subject) {
            tables.by_id.remove(&before);
        }
        if tables.by_id.len() >= self.most {
            return None;
        }
        tables.last += 1;
        let id = tables.last.to_string();
        tables.by_id.insert(id.clone(), (subject.clone(), Box::new(association)));
        tables.by_subject.insert(subject, id.clone());
        Some(id)
    }

    /// Changes an association: `None` where it is not there.
    pub fn change<R>(&self, id: &str, change: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.tables().by_id.get_mut(id).map(|(_, association)| change(association))
    }

    /// An association.
    pub fn get(&self, id: &str) -> Option<T> {
        self.tables().by_id.get(id).map(|(_, association)| T::clone(association))
    }

    /// All of them with their identities.
    pub fn all(&self) -> Vec<(String, T)> {
        self.tables().by_id.iter().map(|(id, (_, association))| (id.clone(), T::clone(association))).collect()
    }

    /// Takes an association away: whether it was there.
    pub fn remove(&self, id: &str) -> bool {
        let mut tables = self.tables();
        let Some((subject, _)) = tables.by_id.remove(id) else { return false };
        if tables.by_subject.get(&subject).is_some_and(|owner| owner == id) {
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
}
