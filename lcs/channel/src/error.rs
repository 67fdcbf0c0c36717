//! What may go wrong with a channel.

/// Why a channel is not there, or no more.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// The network.
    #[error("the connection broke: {0}")]
    Io(#[from] std::io::Error),
    /// TLS: a certificate that does not fit, an alert, a record that was changed.
    #[error("TLS: {0}")]
    Tls(String),
    /// The peer ended the connection without the end of TLS: what it sent last may be missing.
    #[error("the connection was cut off")]
    Cut,
    /// Nothing came for too long.
    #[error("nothing came for too long")]
    Timeout,
    /// A certificate, a key or a name that cannot be used.
    #[error("{0}")]
    Identity(String),
}

impl ChannelError {
    /// From an error of a TLS library.
    pub fn tls(error: impl std::fmt::Display) -> Self {
        ChannelError::Tls(error.to_string())
    }
}
