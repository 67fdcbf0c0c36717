//! Why bytes are no message, and the cause that answers it.
use crate::ie::Cause;

/// Why bytes are no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Fewer bytes than a header, or than its length field says: dropped without an answer (TS
    /// 29.244, 7.6.2).
    #[error("the message is cut off")]
    Truncated,
    /// Another version than 1: answered with Version Not Supported (7.6.3).
    #[error("version {0} of PFCP is not known")]
    Version(u8),
    /// A message type that is not known: dropped (7.6.4).
    #[error("message type {0} is not known")]
    UnknownMessage(u8),
    /// A mandatory element is missing (7.6.5).
    #[error("information element {0} is missing")]
    Missing(u16),
    /// An element's length does not fit it (7.6.6).
    #[error("information element {0} has a wrong length")]
    Length(u16),
    /// An element's value makes no sense (7.6.7).
    #[error("information element {0} has a wrong value")]
    Incorrect(u16),
    /// Elements within elements, deeper than any message needs.
    #[error("information elements are nested too deep")]
    Depth,
}

impl DecodeError {
    /// The cause for a response; `None` where there is none to send.
    pub fn cause(&self) -> Option<Cause> {
        match self {
            DecodeError::Missing(_) => Some(Cause::MANDATORY_IE_MISSING),
            DecodeError::Length(_) | DecodeError::Depth => Some(Cause::INVALID_LENGTH),
            DecodeError::Incorrect(_) => Some(Cause::MANDATORY_IE_INCORRECT),
            DecodeError::Truncated | DecodeError::Version(_) | DecodeError::UnknownMessage(_) => {
                None
            }
        }
    }

    /// The type of the element at fault, if it is known.
    pub fn offending(&self) -> Option<u16> {
        match *self {
            // Type 0 is reserved; it stands for the message itself.
            DecodeError::Length(0) => None,
            DecodeError::Missing(ie) | DecodeError::Length(ie) | DecodeError::Incorrect(ie) => {
                Some(ie)
            }
            _ => None,
        }
    }
}
