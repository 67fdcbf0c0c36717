//! Errors of the configuration.
/// A value that cannot be used: the key below `oam.api`, and what to write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {message}")]
pub struct ConfigError {
    /// The key.
    pub key: &'static str,
    /// What is wrong, and what to write.
    pub message: &'static str,
}
