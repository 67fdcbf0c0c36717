//! Longest prefix match as disjoint ranges: a binary search for each packet.

/// A value for each address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ranges<A>(Vec<(A, u8)>);

impl<A> Default for Ranges<A> {
    fn default() -> Self {
        Ranges(Vec::new())
    }
}

macro_rules! ranges {
    ($($address:ty),*) => {$(
        impl Ranges<$address> {
            /// From prefixes: first address, length, and value. The longest prefix counts; outside
            /// of all, the value is 0.
            pub fn new(prefixes: impl Iterator<Item = ($address, u8, u8)>) -> Self {
                let last = |first: $address, length: u8| {
                    first | <$address>::MAX.checked_shr(length.into()).unwrap_or(0)
                };
                let mut prefixes: Vec<_> = prefixes.collect();
                prefixes.sort_unstable_by_key(|(first, length, _)| (*first, *length));
                let mut starts: Vec<($address, u8)> = vec![(0, 0)];
                let mut open: Vec<($address, u8)> = Vec::new();
                let close = |open: &mut Vec<($address, u8)>,
                                 starts: &mut Vec<($address, u8)>,
                                 before: Option<$address>| {
                    while let Some((end, _)) = open.last().copied()
                        && before.is_none_or(|before| end < before)
                    {
                        open.pop();
                        let outer = open.last().map_or(0, |(_, value)| *value);
                        if let Some(next) = end.checked_add(1) {
                            starts.push((next, outer));
                        }
                    }
                };
                for (first, length, value) in prefixes {
                    close(&mut open, &mut starts, Some(first));
                    starts.push((first, value));
                    open.push((last(first, length), value));
                }
                close(&mut open, &mut starts, None);
                // Of ranges that begin at the same address, the last one counts.
                let mut merged: Vec<($address, u8)> = Vec::with_capacity(starts.len());
                for (start, value) in starts {
                    match merged.last_mut() {
                        Some(before) if before.0 == start => before.1 = value,
                        _ => merged.push((start, value)),
                    }
                }
                merged.dedup_by_key(|(_, value)| *value);
                Ranges(merged)
            }

            /// The value of an address.
            pub fn get(&self, address: $address) -> u8 {
                let after = self.0.partition_point(|(start, _)| *start <= address);
                after.checked_sub(1).and_then(|at| self.0.get(at)).map_or(0, |(_, value)| *value)
            }
        }
    )*};
}

ranges!(u32, u128);

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn mask(length: u8) -> u32 {
        u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0)
    }

    #[test]
    fn the_longest_prefix_counts() {
        // A linear congruential generator: the same prefixes in each run.
        let mut state = 1u64;
        let mut draw = |below: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((state >> 33) as u32) % below
        };
        for round in 0..2000u32 {
            let prefixes: BTreeMap<(u32, u8), u8> = (0..round % 12)
                .map(|_| {
                    let length = draw(33) as u8;
                    let first = (draw(8) << 29 | draw(1 << 16)) & mask(length);
                    ((first, length), draw(4) as u8)
                })
                .collect();
            let table = Ranges::<u32>::new(prefixes.iter().map(|((f, l), v)| (*f, *l, *v)));
            let edges = prefixes.keys().flat_map(|(first, length)| {
                let last = first | !mask(*length);
                [*first, last, first.wrapping_sub(1), last.wrapping_add(1)]
            });
            for address in edges.chain([0, u32::MAX, 1 << 31]) {
                let within = |(first, length): &(u32, u8)| address & mask(*length) == *first;
                let longest = prefixes.iter().filter(|(p, _)| within(p)).max_by_key(|(p, _)| p.1);
                let due = longest.map_or(0, |(_, value)| *value);
                assert_eq!(table.get(address), due, "{prefixes:?} {address:#x}");
            }
        }
    }
}
