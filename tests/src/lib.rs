//! What the call-flow tests share: a network namespace of their own, a whole core in it, and a record of what crossed
//! the service-based interface.
#![forbid(unsafe_code)]

mod bodies;
mod counts;
mod namespace;
mod packets;
mod raw_gnb;
mod test_core;

pub use bodies::BodyRecord;
pub use counts::{Counts, eventually};
pub use namespace::in_namespace;
pub use packets::{ping, reaches, sequence_of};
pub use raw_gnb::{RawGnb, cause_of};
pub use test_core::{GATEWAY, SUBSCRIBERS, TestCore, internet, subscriber_keys};
