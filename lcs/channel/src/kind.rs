//! The kinds of channels, and how to make one.

use crate::quic::{Quic, QuicListener};
use crate::raw::{RawTcp, RawTcpListener, RawUdp, RawUdpListener, shared_udp};
use crate::tcp::{Engines, TlsChannel, TlsListener, Wire};
use crate::{Channel, ChannelError, Engine, Identity, Listener, Options, Trust, rustls};
use std::net::{SocketAddr, TcpListener};

/// What a channel is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Plain TCP, to compare with.
    RawTcp,
    /// Plain UDP, to compare with.
    RawUdp,
    /// TLS over TCP by rustls.
    Rustls,
    /// TLS over TCP by OpenSSL.
    #[cfg(feature = "openssl")]
    OpenSsl,
    /// TLS over TCP by wolfSSL.
    #[cfg(feature = "wolfssl")]
    WolfSsl,
    /// QUIC by quinn.
    Quinn,
}

impl Kind {
    /// Those that this build has.
    pub const ALL: &[Kind] = &[
        Kind::RawTcp,
        Kind::RawUdp,
        Kind::Rustls,
        #[cfg(feature = "openssl")]
        Kind::OpenSsl,
        #[cfg(feature = "wolfssl")]
        Kind::WolfSsl,
        Kind::Quinn,
    ];

    /// As a person writes it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::RawTcp => "raw_tcp",
            Kind::RawUdp => "raw_udp",
            Kind::Rustls => "rustls",
            #[cfg(feature = "openssl")]
            Kind::OpenSsl => "openssl",
            #[cfg(feature = "wolfssl")]
            Kind::WolfSsl => "wolfssl",
            Kind::Quinn => "quinn",
        }
    }

    /// By its name.
    pub fn from_name(name: &str) -> Option<Kind> {
        Kind::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// Whether it protects what it carries.
    pub fn is_secure(self) -> bool {
        !matches!(self, Kind::RawTcp | Kind::RawUdp)
    }

    /// Whether a UE may know the LMF by an address in its certificate, and not by a name alone.
    pub fn knows_addresses(self) -> bool {
        self.name() != "wolfssl"
    }

    /// Whether it is TLS over TCP, so that it works with every other one that is.
    pub fn is_tls_over_tcp(self) -> bool {
        self.is_secure() && self != Kind::Quinn
    }
}

/// Makes the engines of an LMF, one for each connection. None where the kind has no engine of its own.
///
/// # Errors
/// The identity cannot be used.
pub fn server_engines(kind: Kind, identity: &Identity) -> Result<Option<Engines>, ChannelError> {
    match kind {
        Kind::Rustls => rustls::servers(identity).map(Some),
        #[cfg(feature = "openssl")]
        Kind::OpenSsl => crate::openssl::servers(identity).map(Some),
        #[cfg(feature = "wolfssl")]
        Kind::WolfSsl => crate::wolfssl::servers(identity).map(Some),
        Kind::RawTcp | Kind::RawUdp | Kind::Quinn => Ok(None),
    }
}

/// The engine of a UE. None where the kind has no engine of its own.
///
/// # Errors
/// The trust cannot be used.
pub fn client_engine(kind: Kind, trust: &Trust) -> Result<Option<Box<dyn Engine>>, ChannelError> {
    match kind {
        Kind::Rustls => rustls::client(trust).map(Some),
        #[cfg(feature = "openssl")]
        Kind::OpenSsl => crate::openssl::client(trust).map(Some),
        #[cfg(feature = "wolfssl")]
        Kind::WolfSsl => crate::wolfssl::client(trust).map(Some),
        Kind::RawTcp | Kind::RawUdp | Kind::Quinn => Ok(None),
    }
}

/// Wait for connections of a kind.
///
/// # Errors
/// The address is taken, or the identity cannot be used.
pub fn listen(
    kind: Kind,
    at: SocketAddr,
    identity: &Identity,
    options: &Options,
) -> Result<Box<dyn Listener>, ChannelError> {
    match kind {
        Kind::RawUdp => return Ok(Box::new(RawUdpListener(shared_udp(at)?, options.clone()))),
        Kind::Quinn => return Ok(Box::new(QuicListener::new(at, identity, options)?)),
        _ => {}
    }
    let listener = TcpListener::bind(at)?;
    Ok(match server_engines(kind, identity)? {
        Some(engines) => Box::new(TlsListener::new(listener, engines, options)),
        None => Box::new(RawTcpListener(listener, options.clone())),
    })
}

/// Bring up a connection of a kind.
///
/// # Errors
/// Nobody is there, or it is not who it has to be.
pub fn connect(kind: Kind, to: SocketAddr, trust: &Trust, options: &Options) -> Result<Box<dyn Channel>, ChannelError> {
    match kind {
        Kind::RawUdp => return Ok(Box::new(RawUdp::connect(to, options)?)),
        Kind::Quinn => return Ok(Box::new(Quic::connect(to, trust, options)?)),
        _ => {}
    }
    let engine = client_engine(kind, trust)?;
    let wire = Wire::connect(to, options)?;
    Ok(match engine {
        Some(engine) => Box::new(TlsChannel::handshake(wire, engine)?),
        None => Box::new(RawTcp::new(wire)),
    })
}
