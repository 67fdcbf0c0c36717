//! The `http` binding: HTTP/2 with JSON (TS 29.500, 5), between processes, machines and vendors.
#![forbid(unsafe_code)]

mod client;
mod convert;
mod first_flight;
mod metrics;
mod net;
mod server;
mod tls;

pub use client::{ClientLimits, HttpBinding};
pub use net::{Dial, Listen, OverFabric, Stream, Tcp, Unix};
pub use server::{Guard, HttpServer, ServerLimits};
pub use tls::Tls;
