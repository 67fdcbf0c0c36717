//! Domain names of packet flow descriptions (TS 29.244, 8.2.39): patterns, and their addresses from
//! DNS responses.
//!
//! UEs query DNS through the UPF before they connect. Datapaths copy the responses to N4 for
//! sessions that detect an application by name (`Event::Answer`); N4 adds the addresses to the
//! application's flows until the record expires.
mod answer;
mod pattern;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use answer::{Answer, DNS_PORT, answer_in};
pub use pattern::{NameError, NamePattern};
