//! The compact encoding of bodies, for a peer of the same build. It is positional, not
//! self-describing: values follow each other without names. Types that JSON represents as text
//! (bytes, addresses, enumerations) have a binary form.
//!
//! | value | encoding |
//! | --- | --- |
//! | struct | one bit for each `Option` member, lowest bit first; then all members that are set |
//! | enumeration | number of the variant (1 byte), then its members |
//! | `Option` elsewhere | 0, or 1 and the value |
//! | unsigned integer | LEB128; 1 byte for `u8` |
//! | signed integer | zigzag (−1 is 1, 1 is 2), then as unsigned |
//! | floating-point number | 8 bytes, little-endian |
//! | `bool` | 0 or 1 |
//! | text, bytes | length, then the bytes |
//! | list, map | number of elements, then the elements |
//! | any JSON value | its text |
//!
//! Builds with different types misread each other, so a sender must know that its peer has the same
//! types. `#[derive(Compact)]` implements the encoding.
mod reader;
#[cfg(test)]
mod tests;
mod values;

pub use martlet_sbi_derive::Compact;
pub use reader::Reader;
pub use values::{write_bytes, write_text};

use std::borrow::Cow;
use std::fmt::Display;

/// Version of the encoding. Raise it with any change of this module or of the derived code.
pub const VERSION: u64 = 2;

/// A type with a compact encoding.
pub trait Compact: Sized {
    /// Appends the value.
    fn write(&self, out: &mut Vec<u8>);
    /// Reads the next value.
    ///
    /// # Errors
    /// The bytes are truncated, or are not a value of this type.
    fn read(from: &mut Reader<'_>) -> Result<Self, Error>;
}

/// Why bytes do not decode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(Cow<'static, str>);

impl Error {
    /// An error with a fixed text.
    #[cold]
    pub fn new(what: &'static str) -> Self {
        Error(Cow::Borrowed(what))
    }

    /// An error with the text of a failed check.
    #[cold]
    pub fn invalid(why: impl Display) -> Self {
        Error(Cow::Owned(why.to_string()))
    }
}

/// Appends a value.
pub fn to_vec<T: Compact>(value: &T, out: &mut Vec<u8>) {
    value.write(out);
}

/// Decodes a value from untrusted bytes.
///
/// # Errors
/// The bytes are not exactly one value of this type.
pub fn from_slice<T: Compact>(bytes: &[u8]) -> Result<T, Error> {
    let mut reader = Reader::new(bytes);
    let value = T::read(&mut reader)?;
    if reader.is_empty() { Ok(value) } else { Err(Error::new("trailing bytes")) }
}
