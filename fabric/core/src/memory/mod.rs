//! The memory that two processes share, and what lies in it.
pub mod attention;
pub mod layout;
pub mod mapping;
pub mod octets;
pub mod pool;
pub mod ring;
#[cfg(test)]
mod ring_tests;
