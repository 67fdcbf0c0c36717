//! Errors of decoding and encoding.

/// Why bytes do not decode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes end inside a value.
    #[error("the bytes end inside a value")]
    Truncated,
    /// A number is outside its bounds.
    #[error("a number is outside its bounds")]
    Range,
    /// A choice has an unknown index.
    #[error("a choice or an enumeration has the unknown index {0}")]
    Index(u64),
    /// A length that the type does not allow, or in a wrong form.
    #[error("a length that the type does not allow")]
    Length,
    /// A character that the string type does not allow.
    #[error("a character that the string type does not allow")]
    Character,
    /// Bytes are left after the value.
    #[error("{0} bytes are left after the message")]
    Trailing(usize),
    /// A mandatory information element of this identity is missing.
    #[error("the mandatory information element {0} is missing")]
    Missing(u32),
    /// An unknown information element with this identity has the criticality "reject".
    #[error("the information element {0} is unknown and has the criticality reject")]
    NotUnderstood(u32),
}

/// Why a value cannot be encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// A number is outside its bounds.
    #[error("{value} is outside {min} to {max}")]
    Range {
        /// The number.
        value: i128,
        /// The lower bound.
        min: i128,
        /// The upper bound.
        max: i128,
    },
    /// A string or a list has a size that its type does not allow.
    #[error("the type does not allow the size {0}")]
    Size(usize),
    /// A character that the string type does not allow.
    #[error("a character that the string type does not allow")]
    Character,
    /// A member of an extension group is missing while another one is present.
    #[error("{0} is missing in a group that has others")]
    Incomplete(&'static str),
}
