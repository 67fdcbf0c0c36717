//! Ranges as values with masks, for switches without range matches.

/// The minimal set of value and mask pairs that matches `low` to `high`, with a bit width.
pub fn prefixes(low: u64, high: u64, bits: u32) -> Vec<(u64, u64)> {
    let all = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
    let mut found = Vec::new();
    let mut from = u128::from(low);
    let end = u128::from(high);
    while from <= end {
        // The largest aligned block that starts here and does not exceed the end.
        let aligned = if from == 0 { bits } else { from.trailing_zeros().min(bits) };
        let fits = 127 - (end - from + 1).leading_zeros();
        let size = aligned.min(fits);
        let mask = if size >= 64 { 0 } else { all & !((1u64 << size) - 1) };
        found.push((from as u64, mask));
        from += 1 << size;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_worst_range_of_ports_is_thirty_pairs() {
        assert_eq!(prefixes(1, 65534, 16).len(), 30);
        assert_eq!(prefixes(0, 65535, 16), [(0, 0)]);
        assert_eq!(prefixes(80, 80, 16), [(80, 0xffff)]);
        assert_eq!(prefixes(0, u64::MAX, 64), [(0, 0)]);
    }

    proptest! {
        #[test]
        fn each_number_is_matched_by_one_pair_if_it_is_in_the_range(a in 0u64..65536,
            b in 0u64..65536, probe in 0u64..65536) {
            let (low, high) = (a.min(b), a.max(b));
            let hits =
                prefixes(low, high,
                16).iter().filter(|(value, mask)| probe & mask == *value).count();
            prop_assert_eq!(hits, usize::from((low..=high).contains(&probe)));
        }
    }
}
