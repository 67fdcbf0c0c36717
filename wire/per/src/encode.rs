//! Encoding: values in, bytes out.

use crate::{BitString, EncodeError, FRAGMENT, LARGE, Size, Variant, bits_for};

type Result<T = ()> = std::result::Result<T, EncodeError>;

/// Encodes values in sequence.
#[derive(Debug)]
pub struct Encoder {
    bytes: Vec<u8>,
    /// Used bits of the last octet; 0 means all.
    used: u32,
    variant: Variant,
}

impl Encoder {
    /// An encoder without output.
    pub fn new(variant: Variant) -> Self {
        Encoder { bytes: Vec::new(), used: 0, variant }
    }

    /// The bytes of a complete value: at least one (X.691, 11.1).
    pub fn finish(mut self) -> Vec<u8> {
        if self.bytes.is_empty() {
            self.bytes.push(0);
        }
        self.bytes
    }

    fn aligned(&self) -> bool {
        self.variant == Variant::Aligned
    }

    /// In the aligned variant, advances to the next octet.
    pub fn align(&mut self) {
        if self.aligned() {
            self.used = 0;
        }
    }

    /// One bit.
    pub fn bit(&mut self, value: bool) {
        self.bits(value.into(), 1);
    }

    /// The low `count` bits of `value`, at most 64.
    pub fn bits(&mut self, value: u64, mut count: u32) {
        while count > 0 {
            if self.used == 0 {
                self.bytes.push(0);
            }
            let take = count.min(8 - self.used);
            let part = (value >> (count - take)) as u8 & (0xff >> (8 - take));
            if let Some(last) = self.bytes.last_mut() {
                *last |= part << (8 - self.used - take);
            }
            self.used = (self.used + take) % 8;
            count -= take;
        }
    }

    /// Writes whole bytes at the current bit position.
    fn put(&mut self, bytes: &[u8]) {
        if self.used == 0 {
            self.bytes.extend_from_slice(bytes);
        } else {
            bytes.iter().for_each(|&octet| self.bits(octet.into(), 8));
        }
    }

    /// INTEGER (min..max) (X.691, 11.5).
    ///
    /// # Errors
    /// The number is outside its bounds.
    pub fn constrained(&mut self, value: i128, min: i128, max: i128) -> Result {
        if !(min..=max).contains(&value) {
            return Err(EncodeError::Range { value, min, max });
        }
        let (range, offset) = ((max - min) as u128 + 1, (value - min) as u128);
        let bits = bits_for(range);
        if !self.aligned() || range <= 255 {
            self.bits(offset as u64, bits);
        } else if range == 256 {
            self.align();
            self.bits(offset as u64, 8);
        } else if range <= 65_536 {
            self.align();
            self.bits(offset as u64, 16);
        } else {
            // The number's bytes, preceded by their count.
            let bytes = ((128 - offset.leading_zeros()).div_ceil(8)).max(1);
            self.bits(u64::from(bytes - 1), bits_for(bits.div_ceil(8).into()));
            self.align();
            self.bits(offset as u64, bytes * 8);
        }
        Ok(())
    }

    /// INTEGER (min..max, …): a value of the extension is written as a number without bounds.
    ///
    /// # Errors
    /// None; the bounds are the root's.
    pub fn extensible(&mut self, value: i128, min: i128, max: i128) -> Result {
        let outside = !(min..=max).contains(&value);
        self.bit(outside);
        if outside { self.unconstrained(value) } else { self.constrained(value, min, max) }
    }

    /// INTEGER without bounds (X.691, 11.8).
    ///
    /// # Errors
    /// None.
    pub fn unconstrained(&mut self, value: i128) -> Result {
        let bytes = value.to_be_bytes();
        let sign = if value < 0 { 0xff } else { 0 };
        let mut from = bytes.iter().position(|&octet| octet != sign).unwrap_or(bytes.len() - 1);
        if from > 0 && (bytes[from] ^ sign) & 0x80 != 0 {
            from -= 1;
        }
        self.octet_string(&bytes[from..], None)
    }

    /// INTEGER (min..MAX) (X.691, 11.7).
    ///
    /// # Errors
    /// The number is less than `min`.
    pub fn semi_constrained(&mut self, value: i128, min: i128) -> Result {
        let Ok(offset) = u128::try_from(value - min) else {
            return Err(EncodeError::Range { value, min, max: i128::MAX });
        };
        let bytes = offset.to_be_bytes();
        let from = bytes.iter().position(|&octet| octet != 0).unwrap_or(bytes.len() - 1);
        self.octet_string(&bytes[from..], None)
    }

    /// A normally small non-negative number (X.691, 11.6).
    pub fn small(&mut self, value: u64) -> Result {
        if value < 64 {
            self.bits(value, 7);
            return Ok(());
        }
        self.bit(true);
        self.semi_constrained(value.into(), 0)
    }

    /// The index of an enumeration or a choice of `root` values (X.691, 14 and 23); of an
    /// extension, counted from there.
    ///
    /// # Errors
    /// The type has no extensions, and not this index.
    pub fn index(&mut self, index: u64, root: u64, extensible: bool) -> Result {
        if extensible {
            self.bit(index >= root);
            if index >= root {
                return self.small(index - root);
            }
        }
        self.constrained(index.into(), 0, i128::from(root) - 1)
    }

    /// Writes the number of elements of a list; the elements follow. A list that would need
    /// fragments is rejected: no type has one.
    ///
    /// # Errors
    /// The size is outside its bounds.
    pub fn count(&mut self, count: usize, size: Option<Size>) -> Result {
        match self.sized(count, size)? {
            Some(()) => Ok(()),
            None if count < FRAGMENT => {
                self.align();
                self.length(count);
                Ok(())
            }
            None => Err(EncodeError::Size(count)),
        }
    }

    /// The length in its constrained form; `None` where it is written without bounds.
    fn sized(&mut self, count: usize, size: Option<Size>) -> Result<Option<()>> {
        let Some(Size { min, max, extensible }) = size else { return Ok(None) };
        let inside = count >= min && max.is_none_or(|max| count <= max);
        if extensible {
            self.bit(!inside);
        } else if !inside {
            return Err(EncodeError::Size(count));
        }
        match max {
            Some(max) if inside && max < LARGE => {
                self.constrained(count as i128, min as i128, max as i128).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// A length of less than a fragment.
    fn length(&mut self, count: usize) {
        if count < 128 { self.bits(count as u64, 8) } else { self.bits(0x8000 | count as u64, 16) }
    }

    /// Bytes preceded by an unconstrained length, in fragments where needed (X.691, 11.9).
    fn fragments(&mut self, mut bytes: &[u8]) {
        loop {
            self.align();
            if bytes.len() < FRAGMENT {
                self.length(bytes.len());
                self.put(bytes);
                return;
            }
            let fragments = (bytes.len() / FRAGMENT).min(4);
            self.bits(0xc0 | fragments as u64, 8);
            let (now, later) = bytes.split_at(fragments * FRAGMENT);
            self.put(now);
            bytes = later;
        }
    }

    /// OCTET STRING (X.691, 17).
    ///
    /// # Errors
    /// The size is outside its bounds.
    pub fn octet_string(&mut self, bytes: &[u8], size: Option<Size>) -> Result {
        match self.sized(bytes.len(), size)? {
            Some(()) => {
                // A fixed size of at most two bytes is not aligned, nor is an empty value.
                let fixed_and_short =
                    size.is_some_and(|size| size.max == Some(size.min) && size.min <= 2);
                if !fixed_and_short && !bytes.is_empty() {
                    self.align();
                }
                self.put(bytes);
            }
            None => self.fragments(bytes),
        }
        Ok(())
    }

    /// BIT STRING (X.691, 16).
    ///
    /// # Errors
    /// The size is outside its bounds.
    pub fn bit_string(&mut self, value: &BitString, size: Option<Size>) -> Result {
        match self.sized(value.len(), size)? {
            Some(()) => {
                let fixed_and_short =
                    size.is_some_and(|size| size.max == Some(size.min) && size.min <= 16);
                if !fixed_and_short && !value.is_empty() {
                    self.align();
                }
            }
            None if value.len() < FRAGMENT => {
                self.align();
                self.length(value.len());
            }
            None => return Err(EncodeError::Size(value.len())),
        }
        let whole = value.len() / 8;
        self.put(&value.as_octets()[..whole]);
        if let rest @ 1.. = value.len() % 8 {
            self.bits((value.as_octets()[whole] >> (8 - rest)).into(), rest as u32);
        }
        Ok(())
    }

    /// VisibleString, UTCTime: 7 bits a character, 8 in the aligned variant (X.691, 30).
    ///
    /// # Errors
    /// The size is outside its bounds, or a character is not allowed.
    pub fn visible_string(&mut self, value: &str, size: Option<Size>) -> Result {
        if !value.bytes().all(|octet| (0x20..0x7f).contains(&octet)) {
            return Err(EncodeError::Character);
        }
        let bits = if self.aligned() { 8 } else { 7 };
        match self.sized(value.len(), size)? {
            Some(()) => {
                // Aligned unless it is short: of a fixed size up to 16 bits, or at most fewer than
                // 16.
                let max = size.and_then(|size| size.max).unwrap_or(0) * 8;
                let fixed = size.is_some_and(|size| size.max == Some(size.min));
                if max > 16 || max == 16 && !fixed {
                    self.align();
                }
            }
            None if value.len() < FRAGMENT => {
                self.align();
                self.length(value.len());
            }
            None => return Err(EncodeError::Size(value.len())),
        }
        value.bytes().for_each(|octet| self.bits(octet.into(), bits));
        Ok(())
    }

    /// An open type (X.691, 11.2): a value preceded by its length in bytes.
    ///
    /// # Errors
    /// Errors of the value.
    pub fn open(&mut self, value: impl FnOnce(&mut Encoder) -> Result) -> Result {
        let mut inner = Encoder::new(self.variant);
        value(&mut inner)?;
        self.fragments(&inner.finish());
        Ok(())
    }

    /// An open type from encoded bytes.
    pub fn open_octets(&mut self, bytes: &[u8]) {
        self.fragments(bytes);
    }

    /// The bitmap of extension additions (X.691, 19.7 and 19.8); each addition follows as an open
    /// type.
    ///
    /// # Errors
    /// None.
    pub fn additions(&mut self, present: &[bool]) -> Result {
        if present.len() <= 64 {
            self.bits(present.len() as u64 - 1, 7);
        } else {
            self.bit(true);
            self.align();
            self.length(present.len());
        }
        present.iter().for_each(|&present| self.bit(present));
        Ok(())
    }
}
