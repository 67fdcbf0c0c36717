//! BIT STRING.

/// A string of bits; the first is the most significant of the first octet.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct BitString {
    bytes: Vec<u8>,
    bits: usize,
}

impl BitString {
    /// `bits` bits, all zero.
    pub fn zeros(bits: usize) -> Self {
        BitString { bytes: vec![0; bits.div_ceil(8)], bits }
    }

    /// The `bits` low bits of `value`, at most 64.
    pub fn from_number(value: u64, bits: u32) -> Self {
        let bits = bits.min(64);
        let shifted = if bits == 0 { 0 } else { value << (64 - bits) };
        let bytes = shifted.to_be_bytes()[..(bits as usize).div_ceil(8)].to_vec();
        BitString { bytes, bits: bits as usize }
    }

    /// A string of at least `bits` bits in which the bits of `ones` are set: a list of named bits.
    pub fn from_ones(bits: usize, ones: &[usize]) -> Self {
        let mut it = Self::zeros(ones.iter().map(|one| one + 1).fold(bits, usize::max));
        ones.iter().for_each(|&one| it.bytes[one / 8] |= 0x80 >> (one % 8));
        it
    }

    /// The first `bits` bits of `bytes`.
    ///
    /// # Panics
    /// If `bytes` has fewer than `bits` bits.
    pub fn from_octets(mut bytes: Vec<u8>, bits: usize) -> Self {
        assert!(bytes.len() * 8 >= bits, "{bits} bits in {} bytes", bytes.len());
        bytes.truncate(bits.div_ceil(8));
        if let (Some(last), rest @ 1..) = (bytes.last_mut(), bits % 8) {
            *last &= 0xff << (8 - rest);
        }
        BitString { bytes, bits }
    }

    /// Number of bits.
    pub fn len(&self) -> usize {
        self.bits
    }

    /// Whether the string is empty.
    pub fn is_empty(&self) -> bool {
        self.bits == 0
    }

    /// The bit at an index; zero beyond the end.
    pub fn bit(&self, at: usize) -> bool {
        at < self.bits && self.bytes[at / 8] & 0x80 >> (at % 8) != 0
    }

    /// The bits, padded with zeros to whole bytes.
    pub fn as_octets(&self) -> &[u8] {
        &self.bytes
    }

    /// The bits as a number; `None` for more than 64 bits.
    pub fn number(&self) -> Option<u64> {
        if self.bits > 64 {
            return None;
        }
        let mut wide = [0; 8];
        wide[..self.bytes.len()].copy_from_slice(&self.bytes);
        Some(if self.bits == 0 { 0 } else { u64::from_be_bytes(wide) >> (64 - self.bits) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_counted_from_the_left() {
        let some = BitString::from_ones(3, &[1, 9]);
        assert_eq!((some.len(), some.as_octets()), (10, &[0x40, 0x40][..]));
        assert!(some.bit(1) && some.bit(9) && !some.bit(0) && !some.bit(100));
        assert_eq!(BitString::from_number(0x123, 10).number(), Some(0x123));
        assert_eq!(BitString::from_number(0xf23, 10).as_octets(), [0xc8, 0xc0]);
        assert_eq!(BitString::from_octets(vec![0xff, 0xff], 9).as_octets(), [0xff, 0x80]);
        assert_eq!(BitString::from_number(u64::MAX, 64).number(), Some(u64::MAX));
        assert_eq!(BitString::zeros(65).number(), None);
    }
}
