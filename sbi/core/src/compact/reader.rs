//! Reads values from bytes.
use super::{Compact, Error};

/// Maximum nesting of lists, maps and boxes, equal to that of `serde_json`. A recursive type needs
/// one of these.
const MAX_DEPTH: u32 = 128;

/// The rest of the bytes to read.
pub struct Reader<'a> {
    rest: &'a [u8],
    /// Remaining levels of nesting.
    depth: u32,
}

#[cold]
fn truncated() -> Error {
    Error::new("truncated")
}

impl<'a> Reader<'a> {
    /// A reader of all bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes, depth: MAX_DEPTH }
    }

    /// Whether everything was read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next byte.
    ///
    /// # Errors
    /// There is none.
    #[inline]
    pub fn byte(&mut self) -> Result<u8, Error> {
        let (first, rest) = self.rest.split_first().ok_or_else(truncated)?;
        self.rest = rest;
        Ok(*first)
    }

    /// The next `N` bytes.
    ///
    /// # Errors
    /// There are fewer.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (first, rest) = self.rest.split_first_chunk().ok_or_else(truncated)?;
        self.rest = rest;
        Ok(*first)
    }

    /// An unsigned integer.
    ///
    /// # Errors
    /// The bytes are truncated, or the number exceeds 64 bits.
    #[inline]
    pub fn unsigned(&mut self) -> Result<u64, Error> {
        match *self.rest {
            [first @ 0..=0x7f, ref rest @ ..] => {
                self.rest = rest;
                Ok(first.into())
            }
            _ => self.long_unsigned(),
        }
    }

    fn long_unsigned(&mut self) -> Result<u64, Error> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            if shift == 63 && part > 1 {
                break;
            }
            value |= part << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Error::new("number too large"))
    }

    /// Length-prefixed bytes.
    ///
    /// # Errors
    /// The bytes are truncated.
    #[inline]
    pub fn bytes(&mut self) -> Result<&'a [u8], Error> {
        let length = usize::try_from(self.unsigned()?).map_err(|_| truncated())?;
        let (taken, rest) = self.rest.split_at_checked(length).ok_or_else(truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    /// Text.
    ///
    /// # Errors
    /// The bytes are truncated or are not UTF-8.
    #[inline]
    pub fn text(&mut self) -> Result<&'a str, Error> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Error::new("text is not UTF-8"))
    }

    /// The number of elements that follow. Each takes at least one byte, so a larger number is
    /// rejected.
    ///
    /// # Errors
    /// The bytes are truncated.
    #[inline]
    pub fn count(&mut self) -> Result<usize, Error> {
        let count = usize::try_from(self.unsigned()?).map_err(|_| truncated())?;
        if count <= self.rest.len() { Ok(count) } else { Err(truncated()) }
    }

    /// Reads one level of nesting deeper.
    ///
    /// # Errors
    /// The nesting is too deep, or `read` fails.
    #[inline]
    pub fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.depth = self.depth.checked_sub(1).ok_or_else(|| Error::new("nesting too deep"))?;
        let value = read(self)?;
        self.depth += 1;
        Ok(value)
    }

    /// A counted sequence of elements.
    ///
    /// # Errors
    /// An element does not decode.
    #[inline]
    pub fn elements<T: Compact, C: FromIterator<T>>(&mut self) -> Result<C, Error> {
        let count = self.count()?;
        self.deeper(|reader| (0..count).map(|_| T::read(reader)).collect())
    }
}
