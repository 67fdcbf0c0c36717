//! Counts the volumes of the lines for a reader of status or metrics.
use martlet_upf_n4::N4;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Sessions that are counted at a time. N4 serves requests between two of them.
const CHUNK: usize = 1024;

/// Brings the volumes up to date, unless another reader did so just now.
pub(crate) fn count(n4: &Mutex<N4>) {
    let lock = || n4.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(seids) = lock().sessions_to_count(Instant::now()) else { return };
    for chunk in seids.chunks(CHUNK) {
        lock().count_volumes(chunk);
    }
}
