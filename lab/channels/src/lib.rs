//! The channels that the lab compares: those of `martlet-lcs-channel`, the same protocols by other
//! TLS libraries, and plain TCP and UDP as the baseline.
//!
//! The interface is that of `martlet-lcs-channel`, with a larger [`Kind`]. [`Kind::ALL`] lists the
//! kinds of this build, which the features `openssl`, `wolfssl`, `mbedtls` and `msquic` extend. All
//! of them pass the suite in `lcs/channel/tests/suite`.

#[cfg_attr(not(feature = "wolfssl"), allow(dead_code, reason = "only DTLS uses it"))]
mod arq;
mod connector;
#[cfg(feature = "wolfssl")]
mod dtls;
mod kind;
#[cfg(feature = "mbedtls")]
mod mbedtls;
#[cfg(any(feature = "mbedtls", feature = "openssl", feature = "wolfssl"))]
mod memory;
#[cfg(feature = "msquic")]
mod msquic;
#[cfg(feature = "openssl")]
mod openssl;
mod raw;
#[cfg(feature = "wolfssl")]
mod wolfssl;

#[doc(hidden)]
pub use arq::fuzz as fuzz_arq;
pub use connector::Connector;
pub use kind::{Kind, connect, listen};
pub use martlet_lcs_channel::{
    Channel, ChannelError, Description, Identity, Listener, Options, Resumption, Trust,
};
