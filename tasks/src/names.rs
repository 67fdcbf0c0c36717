//! The names of functions, by index.
use std::sync::{Mutex, PoisonError};

static NAMES: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());

/// The index of a name, counted from 1.
pub(crate) fn index_of(name: &'static str) -> usize {
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let known = names.iter().position(|known| *known == name);
    known.unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    }) + 1
}

/// The name with an index; `None` for 0.
pub(crate) fn name_of(index: usize) -> Option<&'static str> {
    let names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    names.get(index.checked_sub(1)?).copied()
}
