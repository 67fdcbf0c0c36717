//! The atomics used in shared memory. `tests/model.rs` compiles the same sources with those of the
//! model checker.
pub use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
