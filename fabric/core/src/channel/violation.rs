//! Protocol violations by a peer. Each closes the channel.
use crate::memory::pool::NotLentError;
use crate::memory::ring::InvalidIndex;

/// What the peer did wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// An invalid ring index.
    #[error("invalid ring index")]
    Index,
    /// A descriptor that does not decode.
    #[error("invalid descriptor")]
    Descriptor,
    /// A buffer that does not exist, or a length that exceeds it.
    #[error("invalid buffer")]
    Buffer,
    /// A returned buffer that was not lent.
    #[error("invalid buffer returned")]
    Return,
    /// Pieces that do not form a frame, or a frame that is too long or does not decode.
    #[error("invalid frame")]
    Frame,
    /// A frame that is not allowed in the state of its call or connection.
    #[error("frame not allowed in this state")]
    Order,
    /// More data than the granted credit, or more queued data than the limits allow.
    #[error("limit exceeded")]
    Limit,
}

impl From<InvalidIndex> for Violation {
    fn from(_: InvalidIndex) -> Self {
        Violation::Index
    }
}

impl From<NotLentError> for Violation {
    fn from(_: NotLentError) -> Self {
        Violation::Return
    }
}
