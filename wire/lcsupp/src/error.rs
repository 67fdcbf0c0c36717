//! Errors of decoding and encoding.

/// Why bytes do not decode as a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The message ends inside an element. On a stream: incomplete so far.
    #[error("the message is truncated")]
    Truncated,
    /// The first octet is not a message type of this protocol.
    #[error("message type {0:#04x} is unknown")]
    MessageType(u8),
    /// An unknown payload type.
    #[error("payload type {0} is unknown")]
    PayloadType(u8),
    /// An element has an invalid length.
    #[error("{element} has an invalid length of {length} bytes")]
    Length {
        /// The element.
        element: &'static str,
        /// Its length in bytes.
        length: usize,
    },
    /// An element has an invalid value.
    #[error("{element} has the invalid value {value:#04x}")]
    Value {
        /// The element.
        element: &'static str,
        /// The octet that is wrong.
        value: u8,
    },
    /// An unknown element requires comprehension (TS 24.007, 11.2.4).
    #[error("information element {0:#04x} is unknown and requires comprehension")]
    NotUnderstood(u8),
}

/// Why a value cannot be encoded: an element does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{element} has {length} bytes; allowed are {min} to {max}")]
pub struct EncodeError {
    /// The element.
    pub element: &'static str,
    /// Its length in bytes.
    pub length: usize,
    /// The minimum.
    pub min: usize,
    /// The maximum.
    pub max: usize,
}

pub(crate) fn check(
    element: &'static str,
    length: usize,
    min: usize,
    max: usize,
) -> Result<(), EncodeError> {
    if (min..=max).contains(&length) {
        Ok(())
    } else {
        Err(EncodeError { element, length, min, max })
    }
}
