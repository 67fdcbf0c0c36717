//! Octets that are read one value after the other.
use super::{Compact, Error};

/// Levels of lists, maps and boxes, as `serde_json` has it. Without one of these a type cannot
/// contain itself.
const DEEPEST: u32 = 128;

/// What is left to read.
pub struct Reader<'a> {
    rest: &'a [u8],
    /// Levels that may still follow.
    depth: u32,
}

#[cold]
fn cut_off() -> Error {
    Error::new("the octets end too early")
}

impl<'a> Reader<'a> {
    /// All of some octets.
    pub fn new(octets: &'a [u8]) -> Self {
        Reader { rest: octets, depth: DEEPEST }
    }

    /// Whether all has been read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next octet.
    ///
    /// # Errors
    /// There is none.
    #[inline]
    pub fn octet(&mut self) -> Result<u8, Error> {
        let (first, rest) = self.rest.split_first().ok_or_else(cut_off)?;
        self.rest = rest;
        Ok(*first)
    }

    /// The next `N` octets.
    ///
    /// # Errors
    /// There are fewer.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (first, rest) = self.rest.split_first_chunk().ok_or_else(cut_off)?;
        self.rest = rest;
        Ok(*first)
    }

    /// An unsigned integer.
    ///
    /// # Errors
    /// The octets end, or it does not fit.
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
            let octet = self.octet()?;
            let part = u64::from(octet & 0x7f);
            if shift == 63 && part > 1 {
                break;
            }
            value |= part << shift;
            if octet & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Error::new("a number is too large"))
    }

    /// Octets with their length before them.
    ///
    /// # Errors
    /// The octets end too early.
    #[inline]
    pub fn octets(&mut self) -> Result<&'a [u8], Error> {
        let length = usize::try_from(self.unsigned()?).map_err(|_| cut_off())?;
        let (taken, rest) = self.rest.split_at_checked(length).ok_or_else(cut_off)?;
        self.rest = rest;
        Ok(taken)
    }

    /// Text.
    ///
    /// # Errors
    /// The octets end too early, or are no UTF-8.
    #[inline]
    pub fn text(&mut self) -> Result<&'a str, Error> {
        std::str::from_utf8(self.octets()?).map_err(|_| Error::new("text that is not UTF-8"))
    }

    /// The number of elements that follow. Each takes an octet at least: more than that is not
    /// believed.
    ///
    /// # Errors
    /// The octets end too early.
    #[inline]
    pub fn count(&mut self) -> Result<usize, Error> {
        let count = usize::try_from(self.unsigned()?).map_err(|_| cut_off())?;
        if count <= self.rest.len() { Ok(count) } else { Err(cut_off()) }
    }

    /// Reads what lies one level deeper.
    ///
    /// # Errors
    /// There are too many levels, or what `read` says.
    #[inline]
    pub fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.depth = self.depth.checked_sub(1).ok_or_else(|| Error::new("too many levels"))?;
        let value = read(self)?;
        self.depth += 1;
        Ok(value)
    }

    /// Elements, so many as announced.
    ///
    /// # Errors
    /// As [`Compact::read`] of one.
    #[inline]
    pub fn elements<T: Compact, C: FromIterator<T>>(&mut self) -> Result<C, Error> {
        let count = self.count()?;
        self.deeper(|reader| (0..count).map(|_| T::read(reader)).collect())
    }
}
