//! Everything that lies in the memory that two processes share: layout, rings, buffers and flags.
pub mod copy;
pub mod layout;
pub mod mapping;
pub mod need_wakeup;
pub mod pool;
pub mod ring;
#[cfg(test)]
mod ring_tests;
