//! Secure channels for LCS-UP connections: TLS 1.3 with `TLS_AES_128_GCM_SHA256` (TS 33.501, Q.2:
//! "a TLS based mechanism"), over TCP and over QUIC.
//!
//! - [`Channel`] is one end of a connection, blocking. [`connect`] and [`Listener::accept`] make
//!   one of a [`Kind`].
//! - [`Engine`] is a TLS session without I/O. A program that runs many connections on one thread
//!   uses it and does its own I/O.
//! - [`AsyncChannel`] is a channel on tokio, TLS over TCP or QUIC. [`AsyncConnector`] and
//!   [`AsyncListener`] make them.
//! - [`Identity`] holds the LMF's certificate and key; [`Trust`] the certificates that a UE
//!   accepts.
//!
//! Every [`Kind`] passes `tests/suite`. The lab's crate `martlet-lab-channels` adds channels of
//! other TLS libraries, built on [`tcp`], [`udp`] and [`wait`].

mod asynchronous;
mod channel;
mod connector;
mod engine;
mod error;
mod identity;
mod kind;
mod ktls;
mod quic;
mod records;
mod rustls;
pub mod tcp;
pub mod udp;
mod unbuffered;
pub mod wait;

pub use asynchronous::{AsyncChannel, AsyncConnector, ConnectedSocket};
pub use channel::{Channel, Description, Listener, Options, Resumption};
pub use connector::Connector;
pub use engine::{Engine, Engines};
pub use error::ChannelError;
pub use identity::{Identity, Trust};
pub use kind::{Kind, client_engines, connect, listen, server_engines};
pub use quic::{AsyncListener, IdentityRenewal, Incoming};
#[doc(hidden)]
pub use records::fuzz as fuzz_records;
pub use rustls::{MAX_EARLY_DATA, SESSION_CACHE_SIZE};
pub use wait::until;
