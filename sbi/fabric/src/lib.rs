//! The binding `fabric`: service calls and sockets through memory that two processes share.

pub mod memory;
mod sync;
