//! What is wrong with bytes, or with values.

/// Why bytes are no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The message ends inside an element. On a stream: not yet whole.
    #[error("the message is cut off")]
    Truncated,
    /// The first octet is no message type of this protocol.
    #[error("message type {0:#04x} is not known")]
    MessageType(u8),
    /// A payload type that is not known.
    #[error("payload type {0} is not known")]
    PayloadType(u8),
    /// An element has a length that it may not have.
    #[error("{element} has {length} bytes")]
    Length {
        /// The element.
        element: &'static str,
        /// Its bytes.
        length: usize,
    },
    /// An element has a value that it may not have.
    #[error("{element} has the value {value:#04x}")]
    Value {
        /// The element.
        element: &'static str,
        /// The octet that is wrong.
        value: u8,
    },
    /// An element that has to be understood is not known (TS 24.007, 11.2.4).
    #[error("information element {0:#04x} is not known and must be understood")]
    NotUnderstood(u8),
}

/// Why a value cannot be written: an element would not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{element} would have {length} bytes, and may have {least} to {most}")]
pub struct EncodeError {
    /// The element.
    pub element: &'static str,
    /// Its bytes.
    pub length: usize,
    /// The fewest that it may have.
    pub least: usize,
    /// The most that it may have.
    pub most: usize,
}

pub(crate) fn check(
    element: &'static str,
    length: usize,
    least: usize,
    most: usize,
) -> Result<(), EncodeError> {
    if (least..=most).contains(&length) {
        Ok(())
    } else {
        Err(EncodeError { element, length, least, most })
    }
}
