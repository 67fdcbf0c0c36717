//! Rules of a session by ID, in a compact sorted vector: sessions have few rules of each kind.
use std::ops::Index;

/// A map of few entries, in the order of their keys.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ById<K, V>(Vec<(K, V)>);

impl<K, V> Default for ById<K, V> {
    fn default() -> Self {
        ById(Vec::new())
    }
}

impl<K: Ord + Copy, V> ById<K, V> {
    /// Without entries.
    pub fn new() -> Self {
        Self::default()
    }

    fn position(&self, key: &K) -> Result<usize, usize> {
        self.0.binary_search_by(|(k, _)| k.cmp(key))
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// An entry.
    pub fn get(&self, key: &K) -> Option<&V> {
        self.position(key).ok().map(|at| &self.0[at].1)
    }

    /// An entry, to be changed.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.position(key).ok().map(|at| &mut self.0[at].1)
    }

    /// An entry, which is created if it does not exist.
    pub fn get_or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> &mut V {
        let at = match self.position(&key) {
            Ok(at) => at,
            Err(at) => {
                self.0.reserve_exact(1);
                self.0.insert(at, (key, make()));
                at
            }
        };
        &mut self.0[at].1
    }

    /// Whether an entry exists.
    pub fn contains_key(&self, key: &K) -> bool {
        self.position(key).is_ok()
    }

    /// Adds or replaces an entry; returns the previous one.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.position(&key) {
            Ok(at) => Some(std::mem::replace(&mut self.0[at].1, value)),
            Err(at) => {
                self.0.reserve_exact(1);
                self.0.insert(at, (key, value));
                None
            }
        }
    }

    /// Removes an entry.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        self.position(key).ok().map(|at| self.0.remove(at).1)
    }

    /// Retains the entries for which the closure returns true.
    pub fn retain(&mut self, mut wanted: impl FnMut(&K, &mut V) -> bool) {
        self.0.retain_mut(|(key, value)| wanted(key, value));
    }

    /// Keys and values, by key.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> + ExactSizeIterator + Clone {
        self.0.iter().map(|(key, value)| (key, value))
    }

    /// The same, to be changed.
    pub fn iter_mut(
        &mut self,
    ) -> impl DoubleEndedIterator<Item = (&K, &mut V)> + ExactSizeIterator {
        self.0.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// The keys, in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + ExactSizeIterator + Clone {
        self.0.iter().map(|(key, _)| key)
    }

    /// The values, by key.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator + Clone {
        self.0.iter().map(|(_, value)| value)
    }

    /// The same, to be changed.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> + ExactSizeIterator {
        self.0.iter_mut().map(|(_, value)| value)
    }
}

impl<K: Ord + Copy, V> Index<&K> for ById<K, V> {
    type Output = V;

    /// # Panics
    /// If the entry does not exist.
    fn index(&self, key: &K) -> &V {
        self.get(key).expect("an entry with this key")
    }
}

impl<K: Ord + Copy, V> FromIterator<(K, V)> for ById<K, V> {
    fn from_iter<T: IntoIterator<Item = (K, V)>>(entries: T) -> Self {
        let mut all = Self::new();
        for (key, value) in entries {
            all.insert(key, value);
        }
        all
    }
}

impl<K, V> IntoIterator for ById<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn it_is_a_map(steps in proptest::collection::vec((0u8..3, 0u16..8, any::<u8>()), 0..40)) {
            let (mut ours, mut theirs) = (ById::new(), BTreeMap::new());
            for (what, key, value) in steps {
                match what {
                    0 => prop_assert_eq!(ours.insert(key, value), theirs.insert(key, value)),
                    1 => prop_assert_eq!(ours.remove(&key), theirs.remove(&key)),
                    _ => {
                        let entry = *ours.get_or_insert_with(key, || value);
                        prop_assert_eq!(entry, *theirs.entry(key).or_insert(value));
                    }
                }
                prop_assert!(ours.iter().eq(theirs.iter()));
                prop_assert_eq!(ours.get(&key), theirs.get(&key));
            }
        }
    }
}
