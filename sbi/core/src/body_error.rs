//! Why a body was not encoded or decoded.

/// The error of a body. As a [`Problem`](crate::Problem) it has a status and a cause of TS 29.500,
/// table 5.2.7.2-1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// The message has no body, and the operation needs one.
    #[error("the message has no body")]
    Missing,
    /// The media type is not the operation's.
    #[error("expected {expected} instead of {found:?}")]
    UnsupportedMediaType {
        /// What the operation needs.
        expected: &'static str,
        /// The media type of the message.
        found: String,
    },
    /// The bytes are not a value of the type.
    #[error("{0}")]
    Malformed(String),
    /// The form of an OAuth 2.0 request is malformed (RFC 6749, 5.2).
    #[error("{0}")]
    InvalidRequest(&'static str),
    /// The value cannot be encoded, because of a limit or a defect of this program.
    #[error("{0}")]
    NotEncodable(String),
}
