//! `libmartlet_fabric`: the fabric's sockets for C, and for what calls C. The header is
//! `include/martlet_fabric.h`.
//!
//! Every function may be called from every thread, also while others wait in calls on the same
//! object; only `_free` has to be the last one on its object.
mod error;
mod events;
mod fabric;
mod listener;
mod stream;

pub use error::*;
pub use events::*;
pub use fabric::*;
pub use listener::*;
pub use stream::*;

use std::time::{Duration, Instant};

/// When a call gives up that may take so many milliseconds; never, where that is negative.
fn deadline(timeout_ms: i64) -> Option<Instant> {
    let wait = Duration::from_millis(u64::try_from(timeout_ms).ok()?);
    // So far away that the clock does not count it is never, too.
    Instant::now().checked_add(wait)
}
