//! The checksum of the Internet (RFC 1071).

/// The checksum over these bytes. An odd number of bytes is padded with a 0.
pub fn internet(bytes: &[u8]) -> u16 {
    !sum(bytes, 0)
}

/// The sum whose complement is the checksum, continued from `start`. It is 0 only if all words are.
///
/// Words of 8 bytes are added: a carry out of 16 bits goes into the next 16.
pub fn sum(bytes: &[u8], start: u64) -> u16 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let words = words.iter().chain([&last]).map(|word| u128::from(u64::from_be_bytes(*word)));
    let mut total = u128::from(start) + words.sum::<u128>();
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    total as u16
}

/// The checksum after some bytes that it covers, an even number of them at an even offset, are
/// replaced by as many others (RFC 1624).
pub fn replaced(sum: u16, old: &[u8], new: &[u8]) -> u16 {
    let words = |bytes: &[u8]| -> Vec<u16> {
        bytes.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect()
    };
    let removed = words(old).into_iter().map(|word| u32::from(!word));
    let added = words(new).into_iter().map(u32::from);
    let mut total = u32::from(!sum) + removed.chain(added).sum::<u32>();
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    !(total as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_that_of_rfc_1071() {
        assert_eq!(sum(&[0, 1, 0xf2, 3, 0xf4, 0xf5, 0xf6, 0xf7], 0), 0xddf2);
        assert_eq!(sum(&[0xff; 40], 0), 0xffff);
        for length in 0..70usize {
            let bytes: Vec<u8> = (0..length).map(|n| (n * 151 + 7) as u8).collect();
            let mut plain: u32 = 77;
            for pair in bytes.chunks(2) {
                plain += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
            }
            let plain = (plain & 0xffff) + (plain >> 16);
            let plain = (plain & 0xffff) + (plain >> 16);
            assert_eq!(u32::from(sum(&bytes, 77)), plain, "{length} bytes");
        }
    }

    #[test]
    fn a_replacement_gives_the_checksum_of_the_result() {
        let mut bytes = [0x45, 0, 0, 28, 1, 2, 3, 4, 10, 0, 0, 1, 0xff, 0xff, 0, 0];
        let before = internet(&bytes);
        let new = [0xfe, 0xdc, 0xba, 0x98];
        let after = replaced(before, &bytes[8..12], &new);
        bytes[8..12].copy_from_slice(&new);
        assert_eq!(after, internet(&bytes));
    }
}
