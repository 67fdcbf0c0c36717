//! The kinds of channels, and how to make one.

use crate::ktls::{self, Ktls, KtlsListener};
use crate::quic::{Quic, QuicListener};
use crate::raw::{RawTcp, RawTcpListener, RawUdp, RawUdpListener, shared_udp};
use crate::tcp::{Engines, TlsChannel, TlsListener, Wire};
use crate::{Channel, ChannelError, Engine, Identity, Listener, Options, Trust, rustls, swift};
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
    /// DTLS 1.3 over UDP by wolfSSL, with repetition and order above it.
    #[cfg(feature = "wolfssl")]
    Dtls,
    /// TLS over TCP by Mbed TLS.
    #[cfg(feature = "mbedtls")]
    MbedTls,
    /// TLS over TCP, the handshake by rustls, then the records by the kernel.
    Ktls,
    /// QUIC by quinn.
    Quinn,
    /// QUIC by MsQuic.
    #[cfg(feature = "msquic")]
    MsQuic,
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
        #[cfg(feature = "wolfssl")]
        Kind::Dtls,
        #[cfg(feature = "mbedtls")]
        Kind::MbedTls,
        Kind::Ktls,
        Kind::Quinn,
        #[cfg(feature = "msquic")]
        Kind::MsQuic,
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
            #[cfg(feature = "wolfssl")]
            Kind::Dtls => "dtls",
            #[cfg(feature = "mbedtls")]
            Kind::MbedTls => "mbedtls",
            Kind::Ktls => "ktls",
            Kind::Quinn => "quinn",
            #[cfg(feature = "msquic")]
            Kind::MsQuic => "msquic",
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
        !matches!(self.name(), "wolfssl" | "dtls")
    }

    /// Whether it is TLS over TCP, so that it works with every other one that is.
    pub fn is_tls_over_tcp(self) -> bool {
        self.is_secure() && !self.is_quic() && self.name() != "dtls"
    }

    /// Whether it is QUIC.
    pub fn is_quic(self) -> bool {
        matches!(self.name(), "quinn" | "msquic")
    }

    /// Whether its connections go on with what those before were given ([`crate::Connector`]): not
    /// those of DTLS, whose sessions its crate does not give, and those of wolfSSL where it was
    /// built with tickets (`wolfssl.site`).
    pub fn resumes(self) -> bool {
        self.is_secure()
            && self.name() != "dtls"
            && (self.name() != "wolfssl" || cfg!(wolfssl_tickets))
    }

    /// Whether octets may go with the first flight, and one that is sent again is not taken: not
    /// those of MsQuic and Mbed TLS, which leave that to who uses them, and those of wolfSSL
    /// where it was built so (`wolfssl.site`).
    pub fn takes_early(self) -> bool {
        matches!(self, Kind::Rustls | Kind::Quinn)
            || self.name() == "wolfssl" && cfg!(wolfssl_early)
    }

    /// Whether it has an [`Engine`].
    pub fn has_engine(self) -> bool {
        self.is_tls_over_tcp() && self != Kind::Ktls
    }

    /// Whether it is for an LMF with many UEs on one thread ([`crate::AsyncChannel`]).
    pub fn runs_many(self) -> bool {
        self.has_engine() || self == Kind::Quinn
    }

    /// Whether this machine can do it: its kernel may know nothing of TLS.
    pub fn is_available(self) -> bool {
        self != Kind::Ktls || ktls::is_available()
    }

    /// Those that this build has and this machine can do.
    pub fn available() -> Vec<Kind> {
        Kind::ALL.iter().copied().filter(|kind| kind.is_available()).collect()
    }
}

/// Makes the engines of an LMF, one for each connection. None where the kind has no engine of its
/// own.
///
/// # Errors
/// The identity cannot be used.
pub fn server_engines(kind: Kind, identity: &Identity) -> Result<Option<Engines>, ChannelError> {
    match kind {
        Kind::Rustls => swift::servers(identity).map(Some),
        #[cfg(feature = "openssl")]
        Kind::OpenSsl => crate::openssl::servers(identity).map(Some),
        #[cfg(feature = "wolfssl")]
        Kind::WolfSsl => crate::wolfssl::servers(identity).map(Some),
        #[cfg(feature = "mbedtls")]
        Kind::MbedTls => crate::mbedtls::servers(identity).map(Some),
        _ => Ok(None),
    }
}

/// The same of an LMF that takes octets with the first flight of who was here before, where the
/// kind has that.
fn early_server_engines(kind: Kind, identity: &Identity) -> Result<Option<Engines>, ChannelError> {
    match kind {
        Kind::Rustls => rustls::early_servers(identity).map(Some),
        #[cfg(wolfssl_early)]
        Kind::WolfSsl => crate::wolfssl::early_servers(identity).map(Some),
        _ => server_engines(kind, identity),
    }
}

/// Makes the engines of a UE that sends octets with its first flight, where the kind has that over
/// TCP.
pub(crate) fn early_client_engines(
    kind: Kind,
    trust: &Trust,
) -> Result<Option<Engines>, ChannelError> {
    match kind {
        Kind::Rustls => rustls::early_clients(trust).map(Some),
        #[cfg(wolfssl_early)]
        Kind::WolfSsl => crate::wolfssl::early_clients(trust).map(Some),
        _ => Ok(None),
    }
}

/// The engine of a UE. None where the kind has no engine of its own.
///
/// # Errors
/// The trust cannot be used.
pub fn client_engine(kind: Kind, trust: &Trust) -> Result<Option<Box<dyn Engine>>, ChannelError> {
    match kind {
        Kind::Rustls => swift::clients(trust)?().map(Some),
        #[cfg(feature = "openssl")]
        Kind::OpenSsl => crate::openssl::client(trust).map(Some),
        #[cfg(feature = "wolfssl")]
        Kind::WolfSsl => crate::wolfssl::client(trust).map(Some),
        #[cfg(feature = "mbedtls")]
        Kind::MbedTls => crate::mbedtls::client(trust).map(Some),
        _ => Ok(None),
    }
}

/// Makes the engines of a UE, each of which goes on with what the one before was given, where the
/// library can. None where the kind has no engine of its own.
///
/// # Errors
/// The trust cannot be used.
pub fn client_engines(kind: Kind, trust: &Trust) -> Result<Option<Engines>, ChannelError> {
    match kind {
        Kind::Rustls => return swift::clients(trust).map(Some),
        #[cfg(feature = "openssl")]
        Kind::OpenSsl => return crate::openssl::clients(trust).map(Some),
        #[cfg(feature = "wolfssl")]
        Kind::WolfSsl => return crate::wolfssl::clients(trust).map(Some),
        #[cfg(feature = "mbedtls")]
        Kind::MbedTls => return crate::mbedtls::clients(trust).map(Some),
        _ => {}
    }
    // Whether there is one, and whether the trust can be used.
    if client_engine(kind, trust)?.is_none() {
        return Ok(None);
    }
    let trust = trust.clone();
    let gone = || ChannelError::Identity("this kind of channel is not for a UE".into());
    Ok(Some(std::sync::Arc::new(move || client_engine(kind, &trust)?.ok_or_else(gone))))
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
        Kind::Ktls => {
            return Ok(Box::new(KtlsListener::new(TcpListener::bind(at)?, identity, options)?));
        }
        #[cfg(feature = "wolfssl")]
        Kind::Dtls => return Ok(Box::new(crate::dtls::DtlsListener::new(at, identity, options)?)),
        #[cfg(feature = "msquic")]
        Kind::MsQuic => {
            return Ok(Box::new(crate::msquic::MsQuicListener::new(at, identity, options)?));
        }
        _ => {}
    }
    let listener = TcpListener::bind(at)?;
    let engines = match kind {
        _ if options.early_data => early_server_engines(kind, identity)?,
        _ => server_engines(kind, identity)?,
    };
    Ok(match engines {
        Some(engines) => Box::new(TlsListener::new(listener, engines, options)),
        None => Box::new(RawTcpListener(listener, options.clone())),
    })
}

/// Bring up a connection of a kind.
///
/// # Errors
/// Nobody is there, or it is not who it has to be.
pub fn connect(
    kind: Kind,
    to: SocketAddr,
    trust: &Trust,
    options: &Options,
) -> Result<Box<dyn Channel>, ChannelError> {
    match kind {
        Kind::RawUdp => return Ok(Box::new(RawUdp::connect(to, options)?)),
        Kind::Quinn => return Ok(Box::new(Quic::connect(to, trust, options)?)),
        Kind::Ktls => return Ok(Box::new(Ktls::connect(to, &ktls::Known::new(trust)?, options)?)),
        #[cfg(feature = "wolfssl")]
        Kind::Dtls => return Ok(Box::new(crate::dtls::Dtls::connect(to, trust, options)?)),
        #[cfg(feature = "msquic")]
        Kind::MsQuic => {
            return Ok(Box::new(crate::msquic::MsQuic::connect(to, trust, options, None)?));
        }
        _ => {}
    }
    let engine = client_engine(kind, trust)?;
    let wire = Wire::connect(to, options)?;
    Ok(match engine {
        Some(engine) => Box::new(TlsChannel::handshake(wire, engine, &[])?),
        None => Box::new(RawTcp::new(wire)),
    })
}
