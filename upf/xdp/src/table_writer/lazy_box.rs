//! Lists that are empty for most sessions: an empty one is a null pointer.
use std::collections::{BTreeMap, VecDeque};
use std::ops::{Deref, DerefMut};

/// A value that is rarely non-empty.
pub(super) trait Empty: Default + 'static {
    /// The empty value.
    const EMPTY: &'static Self;
    /// Whether it is empty.
    fn nothing(&self) -> bool;
}

impl<T: 'static> Empty for Vec<T> {
    const EMPTY: &'static Self = &Vec::new();
    fn nothing(&self) -> bool {
        self.is_empty()
    }
}

impl<T: 'static> Empty for VecDeque<T> {
    const EMPTY: &'static Self = &VecDeque::new();
    fn nothing(&self) -> bool {
        self.is_empty()
    }
}

impl<K: 'static, V: 'static> Empty for BTreeMap<K, V> {
    const EMPTY: &'static Self = &BTreeMap::new();
    fn nothing(&self) -> bool {
        self.is_empty()
    }
}

/// A lazily allocated list.
pub(super) struct LazyBox<T>(Option<Box<T>>);

impl<T> Default for LazyBox<T> {
    fn default() -> Self {
        LazyBox(None)
    }
}

impl<T: Empty> LazyBox<T> {
    /// Sets the value.
    pub fn set(&mut self, value: T) {
        self.0 = (!value.nothing()).then(|| Box::new(value));
    }

    /// Takes the value and leaves it empty.
    pub fn take(&mut self) -> T {
        self.0.take().map_or_else(T::default, |value| *value)
    }

    /// The value for modification, if it is not empty.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut()
    }
}

impl<T: Empty> Deref for LazyBox<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::EMPTY)
    }
}

impl<T: Empty> DerefMut for LazyBox<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_list_takes_one_pointer() {
        let mut list: LazyBox<Vec<u64>> = LazyBox::default();
        assert!(
            list.is_empty() && list.get_mut().is_none() && size_of_val(&list) == size_of::<usize>()
        );
        list.push(7);
        assert_eq!((list.len(), list.take(), list.len()), (1, vec![7], 0));
        list.set(Vec::new());
        assert!(list.get_mut().is_none());
        list.set(vec![1, 2]);
        assert_eq!(list.get_mut().map(|list| list.len()), Some(2));
    }
}
