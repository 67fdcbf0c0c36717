//! The atomics of everything that lies in shared memory. The model checker compiles the same files
//! with its own.
pub use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
