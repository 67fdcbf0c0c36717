//! The binding `http` of the service-based interface: HTTP/2 with JSON (TS 29.500, 5), between
//! processes, machines and vendors.
#![forbid(unsafe_code)]

mod client;
mod convert;
mod dial;
mod local_sockets;
mod metrics;
mod preface;
mod server;
mod tls;

pub use client::{ClientLimits, HttpBinding};
pub use dial::{Dial, Listen, OverFabric, Stream, Tcp, Unix};
pub use local_sockets::{LocalListener, LocalSockets};
pub use server::{Guard, HttpServer, ServerLimits};
pub use tls::{Tls, TlsError};
