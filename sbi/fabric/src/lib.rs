//! The binding `fabric`: service calls and sockets through memory that two processes share.

pub mod channel;
mod fd;
pub mod memory;
mod metrics;
mod sync;
