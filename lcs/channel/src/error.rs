//! The error of channels.

/// Why a channel failed.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// The network or the socket failed.
    #[error("the connection broke: {0}")]
    Io(#[from] std::io::Error),
    /// TLS failed: untrusted certificate, alert, or modified record.
    #[error("TLS: {0}")]
    Tls(String),
    /// The peer ended the connection without close_notify, so data may be missing.
    #[error("the connection was truncated")]
    Cut,
    /// A time limit passed.
    #[error("timeout: nothing received")]
    Timeout,
    /// A certificate, key or name that cannot be used.
    #[error("{0}")]
    Identity(String),
}

impl ChannelError {
    /// From an error of a TLS library.
    pub fn tls(error: impl std::fmt::Display) -> Self {
        ChannelError::Tls(error.to_string())
    }
}
