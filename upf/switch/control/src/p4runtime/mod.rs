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

/// Code generated from the service definition.
#[allow(missing_docs, clippy::all)]
pub mod service {
    include!(concat!(env!("OUT_DIR"), "/p4.v1.P4Runtime.rs"));
}
