//! Why bytes are not a message, and the cause for the response.
use crate::ie::Cause;

/// Why bytes do not decode as a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Fewer bytes than the header or its length field requires: dropped without a response (TS
    /// 29.244, 7.6.2).
    #[error("the message is truncated")]
    Truncated,
    /// Another version than 1: answered with Version Not Supported (7.6.3).
    #[error("version {0} of PFCP is unknown")]
    Version(u8),
    /// An unknown message type: dropped (7.6.4).
    #[error("message type {0} is unknown")]
    UnknownMessage(u8),
    /// A mandatory element is missing (7.6.5).
    #[error("information element {0} is missing")]
    Missing(u16),
    /// An element has a wrong length (7.6.6).
    #[error("information element {0} has a wrong length")]
    Length(u16),
    /// An element has an invalid value (7.6.7).
    #[error("information element {0} has a wrong value")]
    Incorrect(u16),
    /// An element requests something that the receiver does not support (7.6.1).
    #[error("information element {0} requests something that is not supported")]
    Unsupported(u16),
    /// Elements within elements, deeper than any message needs.
    #[error("information elements are nested too deep")]
    Depth,
}

impl DecodeError {
    /// The cause for the response; `None` where no response is sent.
    pub fn cause(&self) -> Option<Cause> {
        match self {
            DecodeError::Missing(_) => Some(Cause::MANDATORY_IE_MISSING),
            DecodeError::Length(_) | DecodeError::Depth => Some(Cause::INVALID_LENGTH),
            DecodeError::Incorrect(_) => Some(Cause::MANDATORY_IE_INCORRECT),
            DecodeError::Unsupported(_) => Some(Cause::SERVICE_NOT_SUPPORTED),
            DecodeError::Truncated | DecodeError::Version(_) | DecodeError::UnknownMessage(_) => {
                None
            }
        }
    }

    /// The type of the offending element, if known.
    pub fn offending(&self) -> Option<u16> {
        match *self {
            // Type 0 is reserved; here it means the message itself.
            DecodeError::Length(0) => None,
            DecodeError::Missing(ie)
            | DecodeError::Length(ie)
            | DecodeError::Incorrect(ie)
            | DecodeError::Unsupported(ie) => Some(ie),
            _ => None,
        }
    }
}
