//! Mutated messages: bits flipped, bytes changed, truncated, spliced. The same seed gives the same
//! inputs, so that a failure can be reproduced.
//!
//! It replaces a coverage-guided fuzzer where there is no nightly toolchain: `fuzz/` has that.

/// SplitMix64: small, and good enough to choose bytes.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `limit`; 0 for a limit of 0.
    pub fn below(&mut self, limit: usize) -> usize {
        let limit = u64::try_from(limit).unwrap_or(u64::MAX);
        usize::try_from(self.number() % limit.max(1)).unwrap_or(0)
    }
}

/// Octets that lengths, counts and flags break on.
const AWKWARD: [u8; 10] = [0x00, 0x01, 0x7f, 0x80, 0xff, 0xfe, 0x40, 0x20, 0x3f, 0xc0];
/// No input is longer.
const LONGEST: usize = 9000;

/// Makes inputs from seeds.
#[derive(Debug)]
pub struct Mutator {
    seeds: Vec<Vec<u8>>,
    random: Random,
}

impl Mutator {
    /// A mutator of these messages.
    ///
    /// # Panics
    /// Without a message there is nothing to start from.
    pub fn new(seed: u64, seeds: Vec<Vec<u8>>) -> Self {
        assert!(!seeds.is_empty(), "no messages to start from");
        Self { seeds, random: Random::new(seed) }
    }

    /// The next input.
    pub fn input(&mut self) -> Vec<u8> {
        let at = self.random.below(self.seeds.len());
        let mut input = self.seeds.get(at).cloned().unwrap_or_default();
        for _ in 0..=self.random.below(4) {
            self.change(&mut input);
        }
        input.truncate(LONGEST);
        input
    }

    /// Make one change.
    fn change(&mut self, input: &mut Vec<u8>) {
        let at = self.random.below(input.len());
        let until = at + self.random.below(input.len() - at);
        match self.random.below(10) {
            0 | 1 => {
                let bit = 1 << self.random.below(8);
                if let Some(octet) = input.get_mut(at) {
                    *octet ^= bit;
                }
            }
            2 | 3 => {
                let value = AWKWARD[self.random.below(AWKWARD.len())];
                if let Some(octet) = input.get_mut(at) {
                    *octet = value;
                }
            }
            4 => input.truncate(at),
            5 => {
                let random = &mut self.random;
                let more: Vec<u8> =
                    (0..=random.below(24)).map(|_| random.number().to_le_bytes()[0]).collect();
                input.splice(at..at, more);
            }
            6 => {
                input.drain(at..until);
            }
            7 => {
                let again = input[at..until].to_vec();
                input.splice(at..at, again);
            }
            8 => {
                // The end of another message in place of the end of this one.
                let other = self.random.below(self.seeds.len());
                let from = self.random.below(self.seeds[other].len());
                input.truncate(at);
                input.extend_from_slice(&self.seeds[other][from..]);
            }
            _ => {
                let value = self.random.number().to_le_bytes()[0];
                if let Some(octet) = input.get_mut(at) {
                    *octet = value;
                }
            }
        }
    }
}

/// Prints the input if the test panics.
struct Culprit<'a>(&'a [u8]);

impl Drop for Culprit<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the input that it fails on: {}", hex::encode(self.0));
        }
    }
}

/// Runs `decode` on every message, on every message truncated at each byte, and on `count` mutated
/// ones.
///
/// # Panics
/// If `decode` does; the input is printed first.
pub fn run(seed: u64, seeds: Vec<Vec<u8>>, count: usize, mut decode: impl FnMut(&[u8])) {
    let mut decode = |input: &[u8]| {
        let culprit = Culprit(input);
        decode(culprit.0);
    };
    decode(&[]);
    for message in &seeds {
        decode(message);
        // Every end of a short message, and some of a long one.
        let step = message.len() / 256 + 1;
        (0..message.len()).step_by(step).for_each(|end| decode(&message[..end]));
    }
    let mut mutator = Mutator::new(seed, seeds);
    (0..count).for_each(|_| decode(&mutator.input()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_its_inputs_again_and_another_gives_others() {
        let inputs = |seed| {
            let mut mutator = Mutator::new(seed, vec![vec![1, 2, 3, 4], vec![], vec![9; 100]]);
            (0..500).map(|_| mutator.input()).collect::<Vec<_>>()
        };
        assert_eq!(inputs(1), inputs(1));
        assert_ne!(inputs(1), inputs(2));
        let different: std::collections::HashSet<_> = inputs(1).into_iter().collect();
        assert!(different.len() > 300, "{} inputs differ", different.len());
    }

    #[test]
    fn every_end_of_a_message_is_tried() {
        let mut seen = Vec::new();
        run(1, vec![vec![7; 5]], 0, |input| seen.push(input.len()));
        assert_eq!(seen, [0, 5, 0, 1, 2, 3, 4]);
    }
}
