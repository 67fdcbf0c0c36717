//! What the call-flow tests share: a network namespace of their own, a whole core in it, and a record of what crossed
//! the service-based interface.
#![forbid(unsafe_code)]

mod bodies;
mod namespace;
mod test_core;

pub use bodies::BodyRecord;
pub use namespace::in_namespace;
pub use test_core::{TestCore, subscriber_keys};
