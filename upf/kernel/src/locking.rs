//! Locks of the forwarder's state.
use std::sync::{Mutex, MutexGuard, PoisonError};

/// No code panics while it holds one of these locks; should it, the state is still whole.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
