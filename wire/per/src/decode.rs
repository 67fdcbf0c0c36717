//! Decoding: bytes in, values out.

use crate::{BitString, DecodeError, FRAGMENT, LARGE, Size, Variant, bits_for};

type Result<T> = std::result::Result<T, DecodeError>;

/// Decodes values in sequence.
#[derive(Debug, Clone)]
pub struct Decoder<'a> {
    bytes: &'a [u8],
    /// Bit positions: start of the value, start of the next one, and the end of the input.
    start: usize,
    at: usize,
    end: usize,
    variant: Variant,
}

/// The extension additions that are present.
#[derive(Debug, Clone)]
pub struct Additions(Vec<bool>);

impl Additions {
    /// Whether the addition with this index is present.
    pub fn has(&self, at: usize) -> bool {
        self.0.get(at).copied().unwrap_or(false)
    }
}

impl<'a> Decoder<'a> {
    /// A decoder at the start of `bytes`.
    pub fn new(bytes: &'a [u8], variant: Variant) -> Self {
        Decoder { bytes, start: 0, at: 0, end: bytes.len() * 8, variant }
    }

    /// Ends a complete value: only padding may be left.
    ///
    /// # Errors
    /// Whole bytes are left.
    pub fn finish(&self) -> Result<()> {
        // A value without bits still has one octet.
        let used = (self.at - self.start).div_ceil(8).max(1);
        match ((self.end - self.start) / 8).saturating_sub(used) {
            0 => Ok(()),
            left => Err(DecodeError::Trailing(left)),
        }
    }

    fn aligned(&self) -> bool {
        self.variant == Variant::Aligned
    }

    /// In the aligned variant, advances to the next octet.
    pub fn align(&mut self) {
        if self.aligned() {
            self.at = self.start + (self.at - self.start).next_multiple_of(8);
        }
    }

    /// Bits that are left.
    fn left(&self) -> usize {
        self.end.saturating_sub(self.at)
    }

    /// One bit.
    ///
    /// # Errors
    /// The input is truncated.
    pub fn bit(&mut self) -> Result<bool> {
        Ok(self.bits(1)? != 0)
    }

    /// A number of `count` bits, at most 64.
    ///
    /// # Errors
    /// The input is truncated.
    pub fn bits(&mut self, mut count: u32) -> Result<u64> {
        if self.left() < count as usize {
            return Err(DecodeError::Truncated);
        }
        let mut value = 0;
        while count > 0 {
            let used = (self.at % 8) as u32;
            let take = count.min(8 - used);
            let part = self.bytes[self.at / 8] << used >> (8 - take);
            value = value << take | u64::from(part);
            self.at += take as usize;
            count -= take;
        }
        Ok(value)
    }

    /// Appends whole bytes to `out`, from the current bit position.
    fn take(&mut self, count: usize, out: &mut Vec<u8>) -> Result<()> {
        if self.left() / 8 < count {
            return Err(DecodeError::Truncated);
        }
        if self.at.is_multiple_of(8) {
            let from = self.at / 8;
            out.extend_from_slice(&self.bytes[from..from + count]);
            self.at += count * 8;
        } else {
            out.reserve(count);
            for _ in 0..count {
                out.push(self.bits(8)? as u8);
            }
        }
        Ok(())
    }

    /// INTEGER (min..max) (X.691, 11.5).
    ///
    /// # Errors
    /// The input is truncated, or the number is outside its bounds.
    pub fn constrained(&mut self, min: i128, max: i128) -> Result<i128> {
        let range = (max - min) as u128 + 1;
        let bits = bits_for(range);
        let offset = if !self.aligned() || range <= 255 {
            self.bits(bits)?
        } else if range <= 65_536 {
            self.align();
            self.bits(if range == 256 { 8 } else { 16 })?
        } else {
            let bytes = self.bits(bits_for(bits.div_ceil(8).into()))? + 1;
            self.align();
            if bytes > 8 {
                return Err(DecodeError::Range);
            }
            self.bits(bytes as u32 * 8)?
        };
        let value = min + i128::from(offset);
        if value > max { Err(DecodeError::Range) } else { Ok(value) }
    }

    /// INTEGER (min..max, …).
    ///
    /// # Errors
    /// The input is truncated, or the number does not fit 128 bits.
    pub fn extensible(&mut self, min: i128, max: i128) -> Result<i128> {
        if self.bit()? { self.unconstrained() } else { self.constrained(min, max) }
    }

    /// INTEGER without bounds (X.691, 11.8).
    ///
    /// # Errors
    /// The input is truncated, or the number does not fit 128 bits.
    pub fn unconstrained(&mut self) -> Result<i128> {
        let bytes = self.octet_string(None)?;
        let sign = if bytes.first().ok_or(DecodeError::Length)? & 0x80 != 0 { -1 } else { 0 };
        if bytes.len() > 16 {
            return Err(DecodeError::Range);
        }
        Ok(bytes.iter().fold(sign, |value, &octet| value << 8 | i128::from(octet)))
    }

    /// INTEGER (min..MAX) (X.691, 11.7).
    ///
    /// # Errors
    /// The input is truncated, or the number does not fit 127 bits.
    pub fn semi_constrained(&mut self, min: i128) -> Result<i128> {
        let bytes = self.octet_string(None)?;
        if bytes.is_empty() {
            return Err(DecodeError::Length);
        }
        if bytes.len() > 15 {
            return Err(DecodeError::Range);
        }
        min.checked_add(bytes.iter().fold(0, |value, &octet| value << 8 | i128::from(octet)))
            .ok_or(DecodeError::Range)
    }

    /// A normally small non-negative number (X.691, 11.6).
    ///
    /// # Errors
    /// The input is truncated, or the number does not fit 64 bits.
    pub fn small(&mut self) -> Result<u64> {
        if !self.bit()? {
            return self.bits(6);
        }
        u64::try_from(self.semi_constrained(0)?).map_err(|_| DecodeError::Range)
    }

    /// The index of an enumeration or a choice of `root` values (X.691, 14 and 23); of an
    /// extension, counted from there.
    ///
    /// # Errors
    /// The input is truncated, or the type does not have the index.
    pub fn index(&mut self, root: u64, extensible: bool) -> Result<u64> {
        if extensible && self.bit()? {
            return self.small()?.checked_add(root).ok_or(DecodeError::Range);
        }
        // An unknown index is reported.
        let max = i128::from(root) - 1;
        let before = self.clone();
        match self.constrained(0, max) {
            Ok(index) => Ok(index as u64),
            Err(DecodeError::Range) => {
                *self = before;
                self.bits(bits_for(root.into())).and_then(|index| Err(DecodeError::Index(index)))
            }
            Err(error) => Err(error),
        }
    }

    /// The number of elements of a list.
    ///
    /// # Errors
    /// The input is truncated, or the size is outside its bounds.
    pub fn count(&mut self, size: Option<Size>) -> Result<usize> {
        if let Some(count) = self.sized(size)? {
            return Ok(count);
        }
        self.align();
        let count = self.length()?;
        if count >= FRAGMENT { Err(DecodeError::Length) } else { checked(count, size) }
    }

    /// Capacity to reserve for a list of `count` elements. It is limited, since elements may have
    /// no bits.
    pub fn reserve(&self, count: usize) -> usize {
        count.min(self.left() + 1).min(1024)
    }

    fn sized(&mut self, size: Option<Size>) -> Result<Option<usize>> {
        let Some(Size { min, max, extensible }) = size else { return Ok(None) };
        if extensible && self.bit()? {
            return Ok(None);
        }
        match max {
            Some(max) if max < LARGE => {
                Ok(Some(self.constrained(min as i128, max as i128)? as usize))
            }
            _ => Ok(None),
        }
    }

    /// A length without bounds; a multiple of a fragment where more follow.
    fn length(&mut self) -> Result<usize> {
        if !self.bit()? {
            return Ok(self.bits(7)? as usize);
        }
        if !self.bit()? {
            return Ok(self.bits(14)? as usize);
        }
        match self.bits(6)? {
            fragments @ 1..=4 => Ok(fragments as usize * FRAGMENT),
            _ => Err(DecodeError::Length),
        }
    }

    fn fragments(&mut self, out: &mut Vec<u8>) -> Result<()> {
        loop {
            self.align();
            let length = self.length()?;
            self.take(length, out)?;
            if length < FRAGMENT {
                return Ok(());
            }
        }
    }

    /// OCTET STRING (X.691, 17).
    ///
    /// # Errors
    /// The input is truncated, or the size is outside its bounds.
    pub fn octet_string(&mut self, size: Option<Size>) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        match self.sized(size)? {
            Some(length) => {
                let fixed_and_short =
                    size.is_some_and(|size| size.max == Some(size.min) && size.min <= 2);
                if !fixed_and_short && length > 0 {
                    self.align();
                }
                self.take(length, &mut out)?;
            }
            None => {
                self.fragments(&mut out)?;
                checked(out.len(), size)?;
            }
        }
        Ok(out)
    }

    /// BIT STRING (X.691, 16).
    ///
    /// # Errors
    /// The input is truncated, or the size is outside its bounds.
    pub fn bit_string(&mut self, size: Option<Size>) -> Result<BitString> {
        let length = match self.sized(size)? {
            Some(length) => {
                let fixed_and_short =
                    size.is_some_and(|size| size.max == Some(size.min) && size.min <= 16);
                if !fixed_and_short && length > 0 {
                    self.align();
                }
                length
            }
            None => {
                self.align();
                let length = self.length()?;
                if length >= FRAGMENT {
                    return Err(DecodeError::Length);
                }
                checked(length, size)?
            }
        };
        let mut bytes = Vec::new();
        self.take(length / 8, &mut bytes)?;
        if let rest @ 1.. = length % 8 {
            bytes.push((self.bits(rest as u32)? << (8 - rest)) as u8);
        }
        Ok(BitString::from_octets(bytes, length))
    }

    /// VisibleString, UTCTime (X.691, 30).
    ///
    /// # Errors
    /// The input is truncated, the size is outside its bounds, or a character is not allowed.
    pub fn visible_string(&mut self, size: Option<Size>) -> Result<String> {
        let bits = if self.aligned() { 8 } else { 7 };
        let length = match self.sized(size)? {
            Some(length) => {
                let max = size.and_then(|size| size.max).unwrap_or(0) * 8;
                let fixed = size.is_some_and(|size| size.max == Some(size.min));
                if max > 16 || max == 16 && !fixed {
                    self.align();
                }
                length
            }
            None => {
                self.align();
                let length = self.length()?;
                if length >= FRAGMENT {
                    return Err(DecodeError::Length);
                }
                checked(length, size)?
            }
        };
        if self.left() < length * bits as usize {
            return Err(DecodeError::Truncated);
        }
        let mut out = String::with_capacity(length);
        for _ in 0..length {
            match self.bits(bits)? as u8 {
                octet @ 0x20..0x7f => out.push(octet.into()),
                _ => return Err(DecodeError::Character),
            }
        }
        Ok(out)
    }

    /// An open type (X.691, 11.2). Bytes after the value are skipped.
    ///
    /// # Errors
    /// Errors of the value, and truncated input.
    pub fn open<T>(&mut self, value: impl FnOnce(&mut Decoder) -> Result<T>) -> Result<T> {
        self.align();
        let before = self.clone();
        let length = self.length()?;
        if length < FRAGMENT {
            if self.left() / 8 < length {
                return Err(DecodeError::Truncated);
            }
            let end = self.at + length * 8;
            let mut inner = Decoder { start: self.at, end, ..self.clone() };
            let value = value(&mut inner)?;
            self.at = end;
            return Ok(value);
        }
        *self = before;
        let mut bytes = Vec::new();
        self.fragments(&mut bytes)?;
        value(&mut Decoder::new(&bytes, self.variant))
    }

    /// The bytes of an open type.
    ///
    /// # Errors
    /// The input is truncated.
    pub fn open_octets(&mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.fragments(&mut bytes)?;
        Ok(bytes)
    }

    /// Skips an open type.
    ///
    /// # Errors
    /// The input is truncated.
    pub fn skip_open(&mut self) -> Result<()> {
        self.open(|_| Ok(()))
    }

    /// The bitmap of extension additions (X.691, 19.7 and 19.8); each addition follows as an open
    /// type.
    ///
    /// # Errors
    /// The input is truncated.
    pub fn additions(&mut self) -> Result<Additions> {
        let count = if self.bit()? {
            self.align();
            self.length()?
        } else {
            self.bits(6)? as usize + 1
        };
        if self.left() < count {
            return Err(DecodeError::Truncated);
        }
        (0..count).map(|_| self.bit()).collect::<Result<_>>().map(Additions)
    }

    /// Skips the additions after the first `known` ones.
    ///
    /// # Errors
    /// The input is truncated.
    pub fn skip_additions(&mut self, additions: &Additions, known: usize) -> Result<()> {
        additions
            .0
            .iter()
            .skip(known)
            .filter(|&&present| present)
            .try_for_each(|_| self.skip_open())
    }
}

fn checked(count: usize, size: Option<Size>) -> Result<usize> {
    match size {
        // An extensible size encoded without bounds is outside them.
        Some(Size { min, max, extensible: false })
            if count < min || max.is_some_and(|max| count > max) =>
        {
            Err(DecodeError::Length)
        }
        _ => Ok(count),
    }
}
