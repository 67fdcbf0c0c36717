//! What is wrong with bytes, or with values.

/// Why bytes do not decode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// They end inside a value.
    #[error("the bytes end inside a value")]
    Truncated,
    /// A number lies outside its bounds.
    #[error("a number lies outside its bounds")]
    Range,
    /// A choice has an index that its type does not have.
    #[error("a choice or an enumeration has the index {0}, which its type does not have")]
    Index(u64),
    /// A length that the type does not allow, or that is written in a form that is not.
    #[error("a length that the type does not allow")]
    Length,
    /// A character that the string does not have.
    #[error("a character that its string type does not have")]
    Character,
    /// Octets are left behind the value.
    #[error("{0} bytes are left behind the message")]
    Trailing(usize),
    /// A mandatory information element of this identity is missing.
    #[error("the mandatory information element {0} is missing")]
    Missing(u32),
    /// An information element of this identity is not known and has the criticality "reject".
    #[error("the information element {0} is not known, and is to be rejected")]
    NotUnderstood(u32),
}

/// Why a value cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// A number lies outside its bounds.
    #[error("{value} lies outside {least} to {most}")]
    Range {
        /// The number.
        value: i128,
        /// Its least value.
        least: i128,
        /// Its greatest value.
        most: i128,
    },
    /// A string or a list has a size that its type does not allow.
    #[error("{0} is a size that the type does not allow")]
    Size(usize),
    /// A character that the string does not have.
    #[error("a character that its string type does not have")]
    Character,
    /// A member of an extension group is missing while another one is there.
    #[error("{0} is missing in a group that has others")]
    Incomplete(&'static str),
}
