//! The kinds of channels, and functions that listen and connect by kind.

use crate::ktls::{self, Ktls, KtlsListener};
use crate::quic::{Quic, QuicListener};
use crate::tcp::{TlsChannel, TlsListener, Wire};
use crate::{
    Channel, ChannelError, Engines, Identity, Listener, Options, Trust, rustls, unbuffered,
};
use std::net::{SocketAddr, TcpListener};

/// The library and transport of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// TLS over TCP by rustls.
    Rustls,
    /// TLS over TCP: rustls does the handshake, the kernel the records.
    Ktls,
    /// QUIC by quinn.
    Quinn,
}

impl Kind {
    /// All kinds.
    pub const ALL: &[Kind] = &[Kind::Rustls, Kind::Ktls, Kind::Quinn];

    /// The name in configuration files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Rustls => "rustls",
            Kind::Ktls => "ktls",
            Kind::Quinn => "quinn",
        }
    }

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<Kind> {
        Kind::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// Whether it is TLS over TCP. All such kinds interoperate.
    pub fn is_tls_over_tcp(self) -> bool {
        !self.is_quic()
    }

    /// Whether it is QUIC.
    pub fn is_quic(self) -> bool {
        self == Kind::Quinn
    }

    /// Whether it supports 0-RTT data (RFC 8446, 2.3) with protection against replay.
    pub fn supports_early_data(self) -> bool {
        self != Kind::Ktls
    }

    /// Whether it has an [`AsyncChannel`](crate::AsyncChannel), as an LMF with many UEs on one
    /// thread needs.
    pub fn is_async(self) -> bool {
        self != Kind::Ktls
    }

    /// Whether this machine supports it: kernel TLS needs the kernel's `tls` module.
    pub fn is_available(self) -> bool {
        self != Kind::Ktls || ktls::is_available()
    }

    /// The kinds that this machine supports.
    pub fn available() -> Vec<Kind> {
        Kind::ALL.iter().copied().filter(|kind| kind.is_available()).collect()
    }
}

/// Makes the engines of an LMF, one per connection. None for a kind without
/// [`Engine`](crate::Engine).
///
/// # Errors
/// The certificate or key is invalid.
pub fn server_engines(kind: Kind, identity: &Identity) -> Result<Option<Engines>, ChannelError> {
    match kind {
        Kind::Rustls => unbuffered::servers(identity).map(Some),
        Kind::Ktls | Kind::Quinn => Ok(None),
    }
}

/// Makes the engines of a UE. Each resumes the session of the previous one. None for a kind without
/// [`Engine`](crate::Engine).
///
/// # Errors
/// The trusted root certificates are invalid.
pub fn client_engines(kind: Kind, trust: &Trust) -> Result<Option<Engines>, ChannelError> {
    match kind {
        Kind::Rustls => unbuffered::clients(trust).map(Some),
        Kind::Ktls | Kind::Quinn => Ok(None),
    }
}

/// Listens for connections of a kind.
///
/// # Errors
/// The address is in use, or the certificate or key is invalid.
pub fn listen(
    kind: Kind,
    at: SocketAddr,
    identity: &Identity,
    options: &Options,
) -> Result<Box<dyn Listener>, ChannelError> {
    Ok(match kind {
        Kind::Quinn => Box::new(QuicListener::new(at, identity, options)?),
        Kind::Ktls => Box::new(KtlsListener::new(TcpListener::bind(at)?, identity, options)?),
        Kind::Rustls => {
            let listener = TcpListener::bind(at)?;
            let engines = if options.early_data {
                rustls::early_data_servers(identity)?
            } else {
                unbuffered::servers(identity)?
            };
            Box::new(TlsListener::new(listener, engines, options))
        }
    })
}

/// Opens a connection of a kind.
///
/// # Errors
/// No LMF listens at the address, or its certificate is not trusted.
pub fn connect(
    kind: Kind,
    to: SocketAddr,
    trust: &Trust,
    options: &Options,
) -> Result<Box<dyn Channel>, ChannelError> {
    Ok(match kind {
        Kind::Quinn => Box::new(Quic::connect(to, trust, options)?),
        Kind::Ktls => Box::new(Ktls::connect(to, &ktls::Client::new(trust)?, options)?),
        Kind::Rustls => {
            let engine = unbuffered::clients(trust)?()?;
            Box::new(TlsChannel::handshake(Wire::connect(to, options)?, engine, &[])?)
        }
    })
}
