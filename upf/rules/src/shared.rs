//! Interning of rules: URRs, QERs and uplink FARs are mostly equal for all UEs of a data network
//! and stored once.
use super::ById;
use std::any::{Any, TypeId};
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::ops::Index;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// Limit of shared values of one kind; unused ones are removed first.
const MAX_VALUES: usize = 4096;

type Kinds = HashMap<TypeId, Box<dyn Any + Send>>;
static KNOWN: LazyLock<Mutex<Kinds>> = LazyLock::new(|| Mutex::new(Kinds::new()));

/// A value equal to this one, which others have, too.
pub fn shared<V: Hash + Eq + Send + Sync + ?Sized + 'static>(value: Arc<V>) -> Arc<V> {
    let mut kinds = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let kind =
        kinds.entry(TypeId::of::<Arc<V>>()).or_insert_with(|| Box::new(HashSet::<Arc<V>>::new()));
    let Some(known) = kind.downcast_mut::<HashSet<Arc<V>>>() else { return value };
    if let Some(same) = known.get(&value) {
        return same.clone();
    }
    if known.len() >= MAX_VALUES {
        known.retain(|value| Arc::strong_count(value) > 1);
    }
    // All are in use and differ, so sharing another one saves nothing.
    if known.len() < MAX_VALUES {
        known.insert(value.clone());
    }
    value
}

/// Rules of a session by ID, as [`ById`], which may be shared with other sessions.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SharedById<K, V>(ById<K, Arc<V>>);

impl<K, V> Default for SharedById<K, V> {
    fn default() -> Self {
        SharedById(ById::default())
    }
}

impl<K: Ord + Copy, V: Clone + Hash + Eq + Send + Sync + 'static> SharedById<K, V> {
    /// Without entries.
    pub fn new() -> Self {
        Self::default()
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
        self.0.get(key).map(Arc::as_ref)
    }

    /// A mutable entry, which is no longer shared with other sessions.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.0.get_mut(key).map(Arc::make_mut)
    }

    /// Whether an entry exists.
    pub fn contains_key(&self, key: &K) -> bool {
        self.0.contains_key(key)
    }

    /// Adds or replaces an entry; returns the previous one.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let before = self.0.insert(key, Arc::new(value))?;
        Some(Arc::unwrap_or_clone(before))
    }

    /// Removes an entry.
    pub fn remove(&mut self, key: &K) -> Option<V> {
        self.0.remove(key).map(Arc::unwrap_or_clone)
    }

    /// Retains the entries for which the closure returns true.
    pub fn retain(&mut self, mut wanted: impl FnMut(&K, &V) -> bool) {
        self.0.retain(|key, value| wanted(key, value));
    }

    /// Keys and values, by key.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> + ExactSizeIterator + Clone {
        self.0.iter().map(|(key, value)| (key, value.as_ref()))
    }

    /// The keys, in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + ExactSizeIterator + Clone {
        self.0.keys()
    }

    /// The values, by key.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator + Clone {
        self.0.values().map(Arc::as_ref)
    }

    /// The values as they are shared, by key.
    pub fn shared_values(&self) -> impl DoubleEndedIterator<Item = &Arc<V>> + ExactSizeIterator {
        self.0.values()
    }

    /// The same, to be changed: from then on they are this session's alone.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> + ExactSizeIterator {
        self.0.values_mut().map(Arc::make_mut)
    }

    /// Retains entries; they remain shared.
    pub fn values_mut_if(&mut self, wanted: impl Fn(&V) -> bool) -> impl Iterator<Item = &mut V> {
        self.0.values_mut().filter(move |value| wanted(value)).map(Arc::make_mut)
    }

    /// Shares rules that are equal to those of other sessions.
    pub fn share(&mut self) {
        for value in self.0.values_mut() {
            *value = shared(value.clone());
        }
    }
}

impl<K: Ord + Copy, V: Clone + Hash + Eq + Send + Sync + 'static> Index<&K> for SharedById<K, V> {
    type Output = V;

    /// # Panics
    /// If the entry does not exist.
    fn index(&self, key: &K) -> &V {
        self.get(key).expect("an entry with this key")
    }
}

impl<K: Ord + Copy, V: Clone + Hash + Eq + Send + Sync + 'static> FromIterator<(K, V)>
    for SharedById<K, V>
{
    fn from_iter<T: IntoIterator<Item = (K, V)>>(entries: T) -> Self {
        SharedById(entries.into_iter().map(|(key, value)| (key, Arc::new(value))).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_shared_until_one_is_modified() {
        let of = |value: u64| SharedById::from_iter([(1u8, value)]);
        let (mut one, mut two) = (of(0x5a5a), of(0x5a5a));
        let address = |rules: &SharedById<u8, u64>| std::ptr::from_ref(rules.get(&1).unwrap());
        assert_ne!(address(&one), address(&two));
        one.share();
        two.share();
        assert_eq!(address(&one), address(&two));
        *two.get_mut(&1).unwrap() += 1;
        assert_eq!((one[&1], two[&1]), (0x5a5a, 0x5a5b));
    }

    #[test]
    fn unused_values_are_removed_first() {
        for n in 0..3 * MAX_VALUES as u32 {
            shared(Arc::new((n, "many")));
        }
        let (one, two) =
            (shared(Arc::new((u32::MAX, "many"))), shared(Arc::new((u32::MAX, "many"))));
        assert!(Arc::ptr_eq(&one, &two));
    }
}
