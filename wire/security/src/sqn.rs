//! Sequence numbers of authentication vectors (TS 33.102, annex C): SQN = SEQ || IND, 43 and 5
//! bits, profile 2 of C.3.
//!
//! IND spreads the vectors over an array in the USIM, so that vectors that arrive out of order are
//! accepted as long as each is newer than the last one of its index.

/// Bits of IND.
pub const IND_BITS: u32 = 5;
/// Entries of the USIM's array.
pub const INDEXES: usize = 1 << IND_BITS;
/// The largest SQN: 48 bits.
pub const MAX: u64 = (1 << 48) - 1;
/// How far SEQ may be ahead of the USIM's (Δ, C.2.1), so that a faulty network cannot exhaust the
/// numbers.
const DELTA: u64 = 1 << 28;

/// SEQ of a SQN.
fn seq(sqn: u64) -> u64 {
    (sqn & MAX) >> IND_BITS
}

/// IND of a SQN.
fn ind(sqn: u64) -> usize {
    // Five bits.
    (sqn & (INDEXES as u64 - 1)) as usize
}

/// The SQN after `last` in the home network: both SEQ and IND are incremented (C.1.1.3, C.3.2). SEQ
/// wraps after 2^43 authentications.
pub fn next(last: u64) -> u64 {
    let next_seq = (seq(last) + 1) & (MAX >> IND_BITS);
    let next_ind = (ind(last) + 1) % INDEXES;
    next_seq << IND_BITS | next_ind as u64
}

/// The home network's last SQN after the USIM reported `sqn_ms` (TS 33.102, 6.3.5): the USIM's,
/// unless the USIM accepts the home network's next one.
pub fn resynchronised(last: u64, sqn_ms: u64) -> u64 {
    let (ours, theirs) = (seq(next(last)), seq(sqn_ms));
    match ours > theirs && ours - theirs <= DELTA {
        true => last & MAX,
        false => sqn_ms & MAX,
    }
}

/// A SQN in the form of TS 29.505: twelve hexadecimal digits.
pub fn to_text(sqn: u64) -> String {
    format!("{:012x}", sqn & MAX)
}

/// Parses twelve hexadecimal digits.
pub fn from_text(text: &str) -> Option<u64> {
    let is_number = text.len() == 12 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_number.then(|| u64::from_str_radix(text, 16).ok()).flatten()
}

/// The USIM's array: the highest accepted SEQ of each index (C.2.2).
#[derive(Debug, Clone)]
pub struct Accepted {
    array: [u64; INDEXES],
    /// SQN_MS: the highest SQN accepted.
    highest: u64,
}

impl Default for Accepted {
    fn default() -> Self {
        Self::at(0)
    }
}

impl Accepted {
    /// An array of a USIM whose highest SQN is this one, for every index.
    pub fn at(sqn: u64) -> Self {
        Self { array: [seq(sqn); INDEXES], highest: sqn & MAX }
    }

    /// SQN_MS: what a synchronisation failure reports.
    pub fn highest(&self) -> u64 {
        self.highest
    }

    /// Accepts a SQN if it is fresh: newer than the last of its index, and not too far ahead.
    pub fn accept(&mut self, sqn: u64) -> bool {
        let (new, last) = (seq(sqn), seq(self.highest));
        let Some(entry) = self.array.get_mut(ind(sqn)) else { return false };
        if new <= *entry || new.saturating_sub(last) > DELTA {
            return false;
        }
        *entry = new;
        if new > last {
            self.highest = sqn & MAX;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_parts_go_up() {
        assert_eq!(next(0), 1 << 5 | 1);
        assert_eq!(next(1 << 5 | 31), 2 << 5);
        assert_eq!(next(MAX), 0);
        assert_eq!((to_text(33), from_text("000000000021")), ("000000000021".into(), Some(33)));
        assert_eq!(
            (from_text("21"), from_text("00000000002g"), from_text("+00000000021")),
            (None, None, None)
        );
    }

    #[test]
    fn a_number_is_accepted_once_and_out_of_order_within_the_array() {
        let mut usim = Accepted::default();
        let numbers: Vec<u64> =
            std::iter::successors(Some(next(0)), |last| Some(next(*last))).take(40).collect();
        assert!(usim.accept(numbers[1]));
        assert!(!usim.accept(numbers[1]), "the same again");
        assert!(usim.accept(numbers[0]), "an older one of another index");
        assert_eq!(usim.highest(), numbers[1]);
        assert!(usim.accept(numbers[39]));
        assert!(!usim.accept(numbers[7]), "older than the last of its index");
        assert_eq!(ind(numbers[7]), ind(numbers[39]));
        assert!(!usim.accept((DELTA + 1000) << IND_BITS), "too far ahead");
    }

    #[test]
    fn after_resynchronisation_the_next_number_is_accepted() {
        for (home, card) in
            [(0, 5000), (5000, 0), (7 << 5, 7 << 5 | 9), (0, MAX >> 1), (MAX >> 1, 3)]
        {
            let mut usim = Accepted::at(card);
            let next = next(resynchronised(home, usim.highest()));
            assert!(usim.accept(next), "home {home}, USIM {card}: {next}");
        }
    }
}
