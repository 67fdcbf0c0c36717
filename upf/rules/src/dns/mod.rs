//! Names of hosts that packet flow descriptions tell of (TS 29.244, 8.2.39): what they look like,
//! and which addresses DNS says that they have.
//!
//! A UE asks DNS before it sends to a host, and the answer comes through the UPF. Datapaths show N4
//! the answers that UEs get whose session detects an application by names
//! ([`Event::Answer`]); N4 adds the addresses to the application's
//! flows for as long as the answer holds.
mod answer;
mod pattern;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use answer::{Answer, DNS_PORT, answer_in};
pub use pattern::{NameError, NamePattern};
