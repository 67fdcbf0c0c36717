//! Secure channels for LCS-UP connections: TLS 1.3 with `TLS_AES_128_GCM_SHA256` (TS 33.501, Q.2:
//! "a TLS based mechanism"), made by different libraries behind one trait.
//!
//! - [`Channel`] is one end of a connection, blocking; [`connect`] and [`Listener::accept`] make
//!   one of a [`Kind`].
//! - [`Engine`] is a TLS session without I/O: octets of the wire in, octets of the application out.
//!   What runs many connections on one thread takes this, and does its own I/O.
//! - [`AsyncChannel`] is a channel on tokio, TLS over TCP or QUIC: [`AsyncConnector`] and
//!   [`AsyncListener`] make them.
//! - [`Identity`] is what the LMF shows; [`Trust`] is what the UE accepts.
//!
//! Kinds that this build has are in [`Kind::ALL`]; every one of them passes `tests/conformance.rs`.
//! The plain kinds, [`Kind::RawTcp`] and [`Kind::RawUdp`], protect nothing: they are there to
//! compare with.

#[cfg_attr(not(feature = "wolfssl"), allow(dead_code, reason = "DTLS alone uses it"))]
mod arq;
mod asynchronous;
mod channel;
mod connector;
#[cfg(feature = "wolfssl")]
mod dtls;
mod engine;
mod error;
mod identity;
mod kind;
mod ktls;
#[cfg(feature = "mbedtls")]
mod mbedtls;
#[cfg(any(feature = "mbedtls", feature = "openssl", feature = "wolfssl"))]
mod memory;
#[cfg(feature = "msquic")]
mod msquic;
#[cfg(feature = "openssl")]
mod openssl;
mod quic;
mod raw;
mod records;
mod rustls;
mod swift;
mod tcp;
mod wait;
#[cfg(feature = "wolfssl")]
mod wolfssl;

#[doc(hidden)]
pub use arq::fuzz as fuzz_arq;
pub use asynchronous::{AsyncChannel, AsyncConnector, Reached};
pub use channel::{Channel, Description, Listener, Options, Resumption};
pub use connector::Connector;
pub use engine::Engine;
pub use error::ChannelError;
pub use identity::{Identity, Trust};
pub use kind::{Kind, client_engine, client_engines, connect, listen, server_engines};
pub use quic::{AsyncListener, Incoming};
#[doc(hidden)]
pub use records::fuzz as fuzz_records;
pub use tcp::Engines;
pub use wait::until;
