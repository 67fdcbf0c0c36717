//! `libmartlet_fabric`: the sockets of the shared-memory fabric for C, and for languages that call
//! C. The header is `include/martlet_fabric.h`.
//!
//! ```c
//! martlet_fabric *fabric;
//! martlet_stream *stream;
//! martlet_fabric_start("my-program", NULL, &fabric);
//! martlet_fabric_joined(fabric, 5000);
//! if (martlet_fabric_connect(fabric, "127.0.0.10:7777", 1000, &stream) < 0)
//!     fprintf(stderr, "%s\n", martlet_error());
//! ```
//!
//! `examples/echo.c` is a whole program, which the tests build and run.
//!
//! All functions are thread-safe, also while other threads wait in calls on the same object. Only
//! `*_free` must be the last call on its object.
//!
//! # Errors
//!
//! Functions return 0 or more, or a negative `errno`; [`martlet_error`] returns the text of the
//! thread's last error. The README lists the values.
//!
//! # Features
//!
//! None.
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

/// The deadline of a call with a timeout; none if the timeout is negative.
fn deadline(timeout_ms: i64) -> Option<Instant> {
    let wait = Duration::from_millis(u64::try_from(timeout_ms).ok()?);
    // A deadline beyond the range of the clock is no deadline.
    Instant::now().checked_add(wait)
}
