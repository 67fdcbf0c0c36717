//! P4Runtime 1.4 over gRPC: server and client.
mod arbitration;
pub mod convert;
pub mod messages;
mod packets;
mod reads;
pub mod resolve;
mod server;
mod status;
mod writes;

pub use server::{Server, VERSION};

use std::time::Duration;

/// TCP keepalive of connections, at both ends: one that is lost ends after 30 seconds. Pings of
/// HTTP/2 are no alternative: by default, gRPC servers allow one in five minutes, and end the
/// connection at more.
pub const KEEPALIVE_IDLE: Duration = Duration::from_secs(15);
/// Interval of the probes of [`KEEPALIVE_IDLE`].
pub const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// Number of the probes of [`KEEPALIVE_IDLE`].
pub const KEEPALIVE_PROBES: u32 = 3;

/// Code generated from the service definition.
#[allow(missing_docs, clippy::all)]
pub mod service {
    include!(concat!(env!("OUT_DIR"), "/p4.v1.P4Runtime.rs"));
}
