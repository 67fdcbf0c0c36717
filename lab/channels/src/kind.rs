//! The kinds of channels, and functions that listen and connect by kind.

use crate::raw::{RawTcp, RawTcpListener, RawUdp, RawUdpListener};
use martlet_lcs_channel as product;
use martlet_lcs_channel::tcp::{TlsChannel, TlsListener, Wire};
use martlet_lcs_channel::{Channel, ChannelError, Engines, Identity, Listener, Options, Trust};
use std::net::{SocketAddr, TcpListener};

/// The library and transport of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Plain TCP: the baseline.
    RawTcp,
    /// Plain UDP: the baseline.
    RawUdp,
    /// TLS over TCP by rustls.
    Rustls,
    /// TLS over TCP by OpenSSL.
    #[cfg(feature = "openssl")]
    OpenSsl,
    /// TLS over TCP by wolfSSL.
    #[cfg(feature = "wolfssl")]
    WolfSsl,
    /// DTLS 1.3 over UDP by wolfSSL, with retransmission and ordering above it.
    #[cfg(feature = "wolfssl")]
    Dtls,
    /// TLS over TCP by Mbed TLS.
    #[cfg(feature = "mbedtls")]
    MbedTls,
    /// TLS over TCP: rustls does the handshake, the kernel the records.
    Ktls,
    /// QUIC by quinn.
    Quinn,
    /// QUIC by MsQuic.
    #[cfg(feature = "msquic")]
    MsQuic,
}

impl Kind {
    /// The kinds of this build.
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

    /// The name on command lines and in reports.
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

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<Kind> {
        Kind::ALL.iter().copied().find(|kind| kind.name() == name)
    }

    /// The same kind in `martlet-lcs-channel`, which implements it.
    pub(crate) fn product(self) -> Option<product::Kind> {
        product::Kind::from_name(self.name())
    }

    /// Whether it protects what it carries.
    pub fn is_secure(self) -> bool {
        !matches!(self, Kind::RawTcp | Kind::RawUdp)
    }

    /// Whether it can verify an IP address in the LMF's certificate, not only a DNS name.
    pub fn verifies_addresses(self) -> bool {
        !matches!(self.name(), "wolfssl" | "dtls")
    }

    /// Whether it is TLS over TCP. All such kinds interoperate.
    pub fn is_tls_over_tcp(self) -> bool {
        self.is_secure() && !self.is_quic() && self.name() != "dtls"
    }

    /// Whether it is QUIC.
    pub fn is_quic(self) -> bool {
        matches!(self.name(), "quinn" | "msquic")
    }

    /// Whether [`crate::Connector`] resumes its sessions. The `wolfssl` crate does not expose DTLS
    /// sessions, and wolfSSL has session tickets only if built with them (`wolfssl.site`).
    pub fn resumes(self) -> bool {
        self.is_secure()
            && self.name() != "dtls"
            && (self.name() != "wolfssl" || cfg!(wolfssl_tickets))
    }

    /// Whether it supports 0-RTT data with protection against replay. MsQuic and Mbed TLS leave
    /// that protection to the application; wolfSSL supports it only if built so (`wolfssl.site`).
    pub fn supports_early_data(self) -> bool {
        self.product().is_some_and(product::Kind::supports_early_data)
            || self.name() == "wolfssl" && cfg!(wolfssl_early)
    }

    /// Whether this machine supports it: kernel TLS needs the kernel's `tls` module.
    pub fn is_available(self) -> bool {
        self.product().is_none_or(product::Kind::is_available)
    }

    /// The kinds that this build has and this machine supports.
    pub fn available() -> Vec<Kind> {
        Kind::ALL.iter().copied().filter(|kind| kind.is_available()).collect()
    }
}

/// Makes the engines of an LMF. None for a kind that is not TLS by a library in C.
fn server_engines(
    kind: Kind,
    identity: &Identity,
    early_data: bool,
) -> Result<Option<Engines>, ChannelError> {
    let _ = (identity, early_data);
    match kind {
        #[cfg(feature = "openssl")]
        Kind::OpenSsl => crate::openssl::servers(identity).map(Some),
        #[cfg(wolfssl_early)]
        Kind::WolfSsl if early_data => crate::wolfssl::early_data_servers(identity).map(Some),
        #[cfg(feature = "wolfssl")]
        Kind::WolfSsl => crate::wolfssl::servers(identity).map(Some),
        #[cfg(feature = "mbedtls")]
        Kind::MbedTls => crate::mbedtls::servers(identity).map(Some),
        _ => Ok(None),
    }
}

/// Makes the engines of a UE, each of which resumes the session of the previous one. None for a
/// kind that is not TLS by a library in C.
pub(crate) fn client_engines(kind: Kind, trust: &Trust) -> Result<Option<Engines>, ChannelError> {
    let _ = trust;
    match kind {
        #[cfg(feature = "openssl")]
        Kind::OpenSsl => crate::openssl::clients(trust).map(Some),
        #[cfg(feature = "wolfssl")]
        Kind::WolfSsl => crate::wolfssl::clients(trust).map(Some),
        #[cfg(feature = "mbedtls")]
        Kind::MbedTls => crate::mbedtls::clients(trust).map(Some),
        _ => Ok(None),
    }
}

/// Makes the engines of a UE that sends 0-RTT data. None for a kind that does not support it.
pub(crate) fn early_data_client_engines(
    kind: Kind,
    trust: &Trust,
) -> Result<Option<Engines>, ChannelError> {
    let _ = trust;
    match kind {
        #[cfg(wolfssl_early)]
        Kind::WolfSsl => crate::wolfssl::early_data_clients(trust).map(Some),
        _ => Ok(None),
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
    if let Some(kind) = kind.product() {
        return product::listen(kind, at, identity, options);
    }
    match kind {
        Kind::RawUdp => return Ok(Box::new(RawUdpListener::bind(at, options)?)),
        #[cfg(feature = "wolfssl")]
        Kind::Dtls => return Ok(Box::new(crate::dtls::DtlsListener::new(at, identity, options)?)),
        #[cfg(feature = "msquic")]
        Kind::MsQuic => {
            return Ok(Box::new(crate::msquic::MsQuicListener::new(at, identity, options)?));
        }
        _ => {}
    }
    let listener = TcpListener::bind(at)?;
    Ok(match server_engines(kind, identity, options.early_data)? {
        Some(engines) => Box::new(TlsListener::new(listener, engines, options)),
        None => Box::new(RawTcpListener(listener, options.clone())),
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
    if let Some(kind) = kind.product() {
        return product::connect(kind, to, trust, options);
    }
    match kind {
        Kind::RawUdp => return Ok(Box::new(RawUdp::connect(to, options)?)),
        #[cfg(feature = "wolfssl")]
        Kind::Dtls => return Ok(Box::new(crate::dtls::Dtls::connect(to, trust, options)?)),
        #[cfg(feature = "msquic")]
        Kind::MsQuic => {
            return Ok(Box::new(crate::msquic::MsQuic::connect(to, trust, options, None)?));
        }
        _ => {}
    }
    let engines = client_engines(kind, trust)?;
    let wire = Wire::connect(to, options)?;
    Ok(match engines {
        Some(engines) => Box::new(TlsChannel::handshake(wire, engines()?, &[])?),
        None => Box::new(RawTcp::new(wire)),
    })
}
