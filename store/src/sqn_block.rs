//! Blocks of sequence numbers: a server commits one for many authentications of a subscriber.
//!
//! The database holds the last number of the last block. A UDR has committed that before it hands
//! out the first number of the block, so a restarted UDR and another one continue above it: no
//! number is in two blocks.
//!
//! A number is handed out only after a read of the subscriber that began with its request. The
//! block is dropped if the row was removed, replaced or changed. It is also dropped if the row
//! holds a lower number than the block's last one, as in a restored backup.
//!
//! A USIM accepts a number that is above the last one with the same index (IND), and at most 2^28
//! above the highest of all (TS 33.102, C.2). A block uses [`INDEXES`] of the 32 indexes, and the
//! next block the next ones: the USIM accepts numbers of two UDRs in any order. A block is dropped
//! when another UDR has taken eight blocks more. The numbers of a block are two apart in SEQ, so
//! that the intervals between what the UDM reads and what it writes do not overlap.
//!
//! After a resynchronisation a UDR drops its block. Another UDR's block is above or below the
//! USIM's number: what the USIM does not accept makes that UDR drop its block in the same way.

/// Numbers of a block.
const NUMBERS: u64 = 32;
/// Distance of two numbers in SEQ.
const STEP: u64 = 2;
/// Indexes of a block. The USIM accepts vectors of a block that are out of order by fewer than
/// these.
const INDEXES: u64 = 4;
/// A block that holds this many numbers is renewed when the subscriber's contexts are written.
const LOW: u64 = NUMBERS / 4;
/// Blocks after this one until its indexes are used again.
const LATER_BLOCKS: u64 = 32 / INDEXES - 1;
/// How far SEQ may be above the USIM's (TS 33.102, C.2.1).
const DELTA: u64 = 1 << 28;
/// 48 bits.
const MAX: u64 = (1 << 48) - 1;

/// SQL for the last number of the block after the number `sqn`: SEQ is 64 higher, and the index is
/// the last one of the next group.
pub(crate) fn last_of_next_sql(sqn: &str) -> String {
    format!(
        "((((({sqn} >> 5) + 64) << 5) | (((({sqn} >> 2) + 1) & 7) << 2) | 3) & 281474976710655)"
    )
}

/// Outcome of [`Block::take`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// This number is handed out.
    Number(u64),
    /// The block is used up or dropped. Another one is to be committed, above this number too.
    Above(u64),
}

/// Sequence numbers that a server has committed for this process.
#[derive(Debug)]
pub(crate) struct Block {
    last: u64,
    used: u64,
    /// The last number of another block.
    following: Option<u64>,
    /// [`revision`](crate::statements::revision) of the subscriber.
    revision: u64,
}

impl Block {
    /// The block that ends at `last`, of a subscriber with this revision.
    pub fn ending_at(last: u64, revision: u64) -> Block {
        Block { last, used: 0, following: None, revision }
    }

    /// Takes a number. `sqn` and `revision` are those of the subscriber's row now.
    pub fn take(&mut self, sqn: u64, revision: u64) -> Taken {
        if revision != self.revision {
            return Taken::Above(0);
        }
        if self.used == NUMBERS {
            let Some(last) = self.following.take() else { return Taken::Above(self.last) };
            (self.last, self.used) = (last, 0);
        }
        if sqn < self.last {
            // After a resynchronisation the row is further below: the USIM accepts no number here.
            let is_restored = (self.last >> 5) - (sqn >> 5) <= DELTA;
            let last = self.following.unwrap_or(self.last);
            return Taken::Above(if is_restored { last } else { 0 });
        }
        if (sqn >> 5) - (self.last >> 5) > LATER_BLOCKS * NUMBERS * STEP {
            return Taken::Above(0);
        }
        self.used += 1;
        let seq = (self.last >> 5).wrapping_sub((NUMBERS - self.used) * STEP);
        let first_index = self.last & 31 & !(INDEXES - 1);
        Taken::Number(((seq << 5) | first_index | ((self.used - 1) % INDEXES)) & MAX)
    }

    /// The last number of the block.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Adds a block that ends at `last`.
    pub fn renew(&mut self, last: u64) {
        if last > self.last {
            self.following = Some(last);
        }
    }

    /// Whether it is to be renewed.
    pub fn is_low(&self) -> bool {
        self.following.is_none() && NUMBERS - self.used <= LOW
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statements::before_advance;
    use martlet_security::sqn::{self, Accepted};

    /// [`last_of_next_sql`].
    fn last_of_next(sqn: u64) -> u64 {
        ((((sqn >> 5) + 64) << 5) | ((((sqn >> 2) + 1) & 7) << 2) | 3) & MAX
    }

    /// A number while the row holds `sqn`.
    fn number(block: &mut Block, sqn: u64) -> Option<u64> {
        match block.take(sqn, 1) {
            Taken::Number(number) => Some(number),
            Taken::Above(_) => None,
        }
    }

    fn all_of(mut block: Block, sqn: u64) -> Vec<u64> {
        std::iter::from_fn(|| number(&mut block, sqn)).collect()
    }

    #[test]
    fn the_numbers_of_a_block_are_above_the_database_and_end_at_its_last() {
        for before in [0, 1, 31, 33, 0x2a1f, 1 << 40] {
            let last = last_of_next(before);
            let numbers = all_of(Block::ending_at(last, 1), last);
            assert_eq!((numbers.len() as u64, numbers.last()), (NUMBERS, Some(&last)));
            // What the UDM reads for a number is above the number before.
            let all: Vec<u64> = std::iter::once(before).chain(numbers).collect();
            for pair in all.windows(2) {
                assert!(before_advance(pair[1]) > pair[0], "{pair:x?}");
                assert_eq!(sqn::next(before_advance(pair[1])), pair[1]);
            }
        }
    }

    #[test]
    fn a_usim_accepts_the_blocks_of_several_udrs_in_any_order() {
        let mut last = 5 << 5;
        let mut usim = Accepted::at(last);
        let mut udrs: Vec<Block> = (0..4)
            .map(|_| {
                last = last_of_next(last);
                Block::ending_at(last, 1)
            })
            .collect();
        // Each UDR takes a block when its own is used up, however uneven the turns are.
        let mut turn: u64 = 1;
        for _ in 0..400 {
            turn = turn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
            let udr = &mut udrs[(turn >> 33) as usize % 4];
            let number = number(udr, last).unwrap_or_else(|| {
                last = last_of_next(last);
                *udr = Block::ending_at(last, 1);
                number(udr, last).unwrap()
            });
            assert!(usim.accept(number), "{number:x}");
            assert!(!usim.accept(number), "{number:x} again");
        }
    }

    #[test]
    fn a_low_block_is_continued_by_its_renewal() {
        let first = last_of_next(0);
        let mut block = Block::ending_at(first, 1);
        let taken: Vec<u64> =
            std::iter::from_fn(|| if block.is_low() { None } else { number(&mut block, first) })
                .collect();
        assert_eq!(taken.len() as u64, NUMBERS - LOW);
        let second = last_of_next(first);
        block.renew(second);
        assert!(!block.is_low());
        let rest = all_of(block, second);
        assert_eq!(rest.len() as u64, LOW + NUMBERS);
        assert!(taken.iter().chain(&rest).is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn a_block_is_dropped_when_the_row_shows_that_it_is_not_the_subscribers_any_more() {
        let last = last_of_next(1 << 20);
        let block = || Block::ending_at(last, 1);
        assert_eq!(block().take(last, 2), Taken::Above(0), "replaced");
        // A restored row is lower. The next block is above the numbers that were handed out.
        assert_eq!(block().take(last - 1, 1), Taken::Above(last));
        let mut renewed = block();
        renewed.renew(last_of_next(last));
        assert_eq!(renewed.take(last - 1, 1), Taken::Above(last_of_next(last)));
        let far = 1 << 40;
        assert_eq!(Block::ending_at(far, 1).take(last, 1), Taken::Above(0), "resynchronised");
        // Seven blocks of others have other indexes.
        let mut others = last;
        for _ in 0..7 {
            others = last_of_next(others);
            assert!(number(&mut block(), others).is_some());
        }
        assert_eq!(block().take(last_of_next(others), 1), Taken::Above(0));
    }
}
