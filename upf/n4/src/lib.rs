//! The N4 server: PFCP (TS 29.244) with SMFs, above a datapath.
//!
//! [`N4`] is sans-IO: its inputs are datagrams, events of the datapath and the time, its outputs
//! datagrams. One file for each procedure.
mod association;
mod by_peer;
mod clock;
mod context;
mod deadlines;
mod deletion;
mod dns;
mod establishment;
mod graceful_release;
mod heartbeat;
mod load;
pub mod metrics;
mod modification;
mod peers;
mod pfd;
mod rejection;
mod remote;
mod report;
mod rules;
mod server;
mod settings;
mod status;
mod teid;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod top;
mod ue_address;
mod usage;

pub use clock::Moment;
pub use server::{N4, Outgoing};
pub use settings::Settings;
pub use top::{SessionTraffic, Snapshot};

#[cfg(test)]
mod tests;
