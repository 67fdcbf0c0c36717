//! What a peer must not do. Its channel is closed for it.
use crate::memory::pool::NotLent;
use crate::memory::ring::WrongIndex;

/// How a peer broke the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A ring's index that cannot be.
    #[error("wrong ring index")]
    Index,
    /// A descriptor that makes no sense.
    #[error("wrong descriptor")]
    Descriptor,
    /// A buffer that does not exist, or more octets than it holds.
    #[error("wrong buffer")]
    Buffer,
    /// A buffer given back that was not lent.
    #[error("wrong buffer returned")]
    Return,
    /// Pieces that do not make up a frame, or too long a frame.
    #[error("wrong frame")]
    Frame,
    /// A frame that does not fit what the call or connection is at.
    #[error("wrong order")]
    Order,
    /// More octets on a connection than there was credit for, or more connections or calls than
    /// allowed.
    #[error("limit exceeded")]
    Limit,
}

impl From<WrongIndex> for Violation {
    fn from(_: WrongIndex) -> Self {
        Violation::Index
    }
}

impl From<NotLent> for Violation {
    fn from(_: NotLent) -> Self {
        Violation::Return
    }
}
