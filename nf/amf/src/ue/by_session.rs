//! A map by PDU session identity, in a vector of exact size. Most UEs have one or two sessions; a
//! `BTreeMap` node has room for eleven.

/// A small map, ordered by key.
#[derive(Debug, Clone)]
pub struct BySession<V>(Vec<(u8, V)>);

impl<V> Default for BySession<V> {
    fn default() -> Self {
        BySession(Vec::new())
    }
}

impl<V> BySession<V> {
    /// An empty map.
    pub fn new() -> Self {
        Self::default()
    }

    fn position(&self, psi: u8) -> Result<usize, usize> {
        self.0.binary_search_by_key(&psi, |(own, _)| *own)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    pub fn contains_key(&self, psi: &u8) -> bool {
        self.position(*psi).is_ok()
    }

    pub fn get(&self, psi: &u8) -> Option<&V> {
        self.position(*psi).ok().and_then(|at| self.0.get(at)).map(|(_, value)| value)
    }

    pub fn get_mut(&mut self, psi: &u8) -> Option<&mut V> {
        let at = self.position(*psi).ok()?;
        self.0.get_mut(at).map(|(_, value)| value)
    }

    /// Inserts or replaces an entry; returns the replaced value.
    pub fn insert(&mut self, psi: u8, value: V) -> Option<V> {
        match self.position(psi) {
            Ok(_) => self.get_mut(&psi).map(|old| std::mem::replace(old, value)),
            Err(at) => {
                self.0.reserve_exact(1);
                self.0.insert(at, (psi, value));
                None
            }
        }
    }

    pub fn remove(&mut self, psi: &u8) -> Option<V> {
        self.position(*psi).ok().map(|at| self.0.remove(at).1)
    }

    pub fn keys(&self) -> impl Iterator<Item = &u8> + Clone {
        self.0.iter().map(|(psi, _)| psi)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&u8, &V)> + Clone {
        self.0.iter().map(|(psi, value)| (psi, value))
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&u8, &mut V)> {
        self.0.iter_mut().map(|(psi, value)| (&*psi, value))
    }
}

impl<V> Extend<(u8, V)> for BySession<V> {
    fn extend<I: IntoIterator<Item = (u8, V)>>(&mut self, entries: I) {
        entries.into_iter().for_each(|(psi, value)| drop(self.insert(psi, value)));
    }
}

impl<V> IntoIterator for BySession<V> {
    type Item = (u8, V);
    type IntoIter = std::vec::IntoIter<(u8, V)>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_ordered_by_session_identity() {
        let mut map = BySession::new();
        assert_eq!(
            (map.insert(5, 'b'), map.insert(1, 'a'), map.insert(5, 'c')),
            (None, None, Some('b'))
        );
        assert_eq!(
            map.iter().map(|(psi, value)| (*psi, *value)).collect::<Vec<_>>(),
            [(1, 'a'), (5, 'c')]
        );
        map.extend([(3, 'd')]);
        assert_eq!(
            (map.remove(&1), map.remove(&1), map.get(&3), map.len()),
            (Some('a'), None, Some(&'d'), 2)
        );
        assert_eq!(map.into_iter().map(|(psi, _)| psi).collect::<Vec<_>>(), [3, 5]);
    }
}
