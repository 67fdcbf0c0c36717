//! The binding `fabric`: service calls and sockets through memory that two processes share.

pub mod channel;
mod fd;
pub mod link;
pub mod manager;
pub mod memory;
pub mod messages;
mod metrics;
pub mod process;
mod sync;
