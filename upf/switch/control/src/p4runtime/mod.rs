//! P4Runtime 1.4 over gRPC, the interface of this field's controllers: server and client.
mod arbitration;
pub mod convert;
pub mod messages;
mod packets;
mod reads;
mod server;
mod writes;

pub use server::{Server, VERSION};

/// What the build made of the methods.
#[allow(missing_docs, clippy::all)]
pub mod service {
    include!(concat!(env!("OUT_DIR"), "/p4.v1.P4Runtime.rs"));
}
