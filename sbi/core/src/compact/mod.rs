//! Bodies for a peer of the same build: values one after the other, without names. Who reads knows
//! the type, so nothing describes itself; what JSON makes text of (octets, addresses, enumerations)
//! stays what it is.
//!
//! | value | octets |
//! | --- | --- |
//! | struct | one bit for each member of type `Option`, in their order, lowest bit first; then the members that are there |
//! | enumeration | number of the variant, one octet, then its members |
//! | `Option` elsewhere | 0, or 1 and the value |
//! | unsigned integer | LEB128; one octet for `u8` |
//! | signed integer | zigzag (−1 is 1, 1 is 2), then as unsigned |
//! | floating point number | 8 octets, little-endian |
//! | `bool` | 0 or 1 |
//! | text, octets | length, then the octets |
//! | list, map | number of elements, then these |
//! | any JSON | its text |
//!
//! Two builds differ as soon as a type does, and would misread each other: who sends this form has
//! to know that the peer has the same one. Types get it by `#[derive(Compact)]`.
mod reader;
#[cfg(test)]
mod tests;
mod values;

pub use martlet_sbi_derive::Compact;
pub use reader::Reader;
pub use values::{write_octets, write_text};

use std::borrow::Cow;
use std::fmt::Display;

/// Version of the form itself: another one for any change of what this module or the derived code
/// writes.
pub const VERSION: u64 = 2;

/// A value with a compact form.
pub trait Compact: Sized {
    /// Appends the value.
    fn write(&self, out: &mut Vec<u8>);
    /// The value that comes next.
    ///
    /// # Errors
    /// The octets end too early, or are no value of this type.
    fn read(from: &mut Reader<'_>) -> Result<Self, Error>;
}

/// Why octets are no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Error(Cow<'static, str>);

impl Error {
    /// For this reason.
    #[cold]
    pub fn new(what: &'static str) -> Self {
        Error(Cow::Borrowed(what))
    }

    /// What a check of a value says.
    #[cold]
    pub fn refused(why: impl Display) -> Self {
        Error(Cow::Owned(why.to_string()))
    }
}

/// Appends a value.
pub fn to_vec<T: Compact>(value: &T, out: &mut Vec<u8>) {
    value.write(out);
}

/// The value that the octets are, all of them. They may come from another process: nothing in them
/// is trusted.
///
/// # Errors
/// They are no value of this type, or more than one.
pub fn from_slice<T: Compact>(octets: &[u8]) -> Result<T, Error> {
    let mut reader = Reader::new(octets);
    let value = T::read(&mut reader)?;
    if reader.is_empty() { Ok(value) } else { Err(Error::new("octets follow the value")) }
}
