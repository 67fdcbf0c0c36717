//! The binding `http` of the service-based interface: HTTP/2 with JSON (TS 29.500, 5), between
//! processes, machines and vendors.
#![forbid(unsafe_code)]

mod certificate;
mod client;
mod connections;
mod convert;
mod dial;
mod limits;
mod local_sockets;
mod metrics;
mod preface;
mod server;
mod tls;

pub use certificate::{PeerCertificate, as_own, peer_certificate};
pub use client::{ClientLimits, HttpBinding};
pub use dial::{Dial, Listen, OverFabric, Stream, Tcp, Unix};
pub use limits::{Check, Guard, Refusal, ServerLimits};
pub use local_sockets::{LocalListener, LocalSockets};
pub use server::HttpServer;
pub use tls::{Tls, TlsError};
