//! The binding `fabric` of the service-based interface: service calls between processes of one
//! machine over [`martlet_fabric`].
//!
//! [`FabricBinding`] is both sides of the binding: a [`Transport`](martlet_sbi::Transport) for the
//! client, and the request handler behind each [`FabricServer`]. A request that no process of the
//! fabric serves goes to the next binding, usually HTTP.
//!
//! [`frames`] encodes requests and responses: the semantics of HTTP without its framing.
mod binding;
pub mod frames;
mod metrics;
mod scratch;
mod server;

pub use binding::{CallConfig, FabricBinding};
pub use server::FabricServer;
