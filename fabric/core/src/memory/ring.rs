//! A ring with one producer and one consumer, neither of which trusts the other.
//!
//! Indices run freely from 0 through 2³²−1 and around; the slot is the index modulo the capacity, a
//! power of two. Each side keeps its own index in private memory and only publishes it, so that
//! what the other side writes into shared memory can at most be wrong, and a wrong index is found
//! out before it is used. A slot is made of atomic words and read once.
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// A word on a cache line of its own.
#[repr(C, align(64))]
#[derive(Default)]
pub struct Line(pub AtomicU32);

/// The published indices of a ring.
#[repr(C)]
#[derive(Default)]
pub struct Indices {
    /// Slots that the producer has filled so far; only the producer writes it.
    pub tail: Line,
    /// Slots that the consumer has emptied so far; only the consumer writes it.
    pub head: Line,
}

/// Where a ring of slots of `W` words lies.
pub trait RingMemory<const W: usize> {
    /// The published indices.
    fn indices(&self) -> &Indices;
    /// The slots; their number is a power of two.
    fn slots(&self) -> &[[AtomicU64; W]];
}

/// The other side published an index that cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrongIndex;

fn slot<const W: usize>(memory: &impl RingMemory<W>, index: u32) -> Option<&[AtomicU64; W]> {
    let slots = memory.slots();
    slots.get(index as usize & slots.len().wrapping_sub(1))
}

/// The side that fills slots.
pub struct Producer<M, const W: usize> {
    memory: M,
    tail: u32,
    /// The consumer's index as last seen.
    head: u32,
}

impl<M: RingMemory<W>, const W: usize> Producer<M, W> {
    /// The producer of a ring that nobody has used yet.
    pub fn new(memory: M) -> Self {
        Producer { memory, tail: 0, head: 0 }
    }

    #[cfg(test)]
    pub(super) fn starting_at(memory: M, index: u32) -> Self {
        memory.indices().tail.0.store(index, Ordering::Relaxed);
        memory.indices().head.0.store(index, Ordering::Relaxed);
        Producer { memory, tail: index, head: index }
    }

    fn capacity(&self) -> u32 {
        self.memory.slots().len() as u32
    }

    /// Free slots, at least `wanted` if there are as many.
    pub fn room(&mut self, wanted: u32) -> Result<u32, WrongIndex> {
        let capacity = self.capacity();
        let mut used = self.tail.wrapping_sub(self.head);
        if capacity - used < wanted {
            // Acquire: the consumer has read what it says it has emptied.
            let head = self.memory.indices().head.0.load(Ordering::Acquire);
            let now_used = self.tail.wrapping_sub(head);
            if now_used > used {
                return Err(WrongIndex);
            }
            (self.head, used) = (head, now_used);
        }
        Ok(capacity - used)
    }

    /// Fills the next slot and publishes it; `false` where none is free.
    pub fn push(&mut self, words: &[u64; W]) -> Result<bool, WrongIndex> {
        if self.room(1)? == 0 {
            return Ok(false);
        }
        let Some(slot) = slot(&self.memory, self.tail) else { return Err(WrongIndex) };
        for (place, word) in slot.iter().zip(words) {
            place.store(*word, Ordering::Relaxed);
        }
        self.tail = self.tail.wrapping_add(1);
        // Release: the slot, and the buffer that it names, are written before the consumer sees the
        // index.
        self.memory.indices().tail.0.store(self.tail, Ordering::Release);
        Ok(true)
    }
}

/// The side that empties slots.
pub struct Consumer<M, const W: usize> {
    memory: M,
    head: u32,
    /// The producer's index as last seen.
    tail: u32,
    published: u32,
}

impl<M: RingMemory<W>, const W: usize> Consumer<M, W> {
    /// The consumer of a ring that nobody has used yet.
    pub fn new(memory: M) -> Self {
        Consumer { memory, head: 0, tail: 0, published: 0 }
    }

    #[cfg(test)]
    pub(super) fn starting_at(memory: M, index: u32) -> Self {
        Consumer { memory, head: index, tail: index, published: index }
    }

    /// Slots that are filled, as the producer says now.
    pub fn filled(&mut self) -> Result<u32, WrongIndex> {
        let capacity = self.memory.slots().len() as u32;
        // Acquire: what the producer wrote before it published is seen.
        let tail = self.memory.indices().tail.0.load(Ordering::Acquire);
        let filled = tail.wrapping_sub(self.head);
        if filled > capacity || filled < self.tail.wrapping_sub(self.head) {
            return Err(WrongIndex);
        }
        self.tail = tail;
        Ok(filled)
    }

    /// A copy of the next slot. The producer learns of the free slot with [`Consumer::publish`].
    pub fn pop(&mut self) -> Result<Option<[u64; W]>, WrongIndex> {
        if self.head == self.tail && self.filled()? == 0 {
            return Ok(None);
        }
        let Some(slot) = slot(&self.memory, self.head) else { return Err(WrongIndex) };
        let words = std::array::from_fn(|n| slot[n].load(Ordering::Relaxed));
        self.head = self.head.wrapping_add(1);
        Ok(Some(words))
    }

    /// Lets the producer use the emptied slots again; whether there were any.
    pub fn publish(&mut self) -> bool {
        if self.published == self.head {
            return false;
        }
        self.published = self.head;
        // Release: the slots are read before the producer may fill them again.
        self.memory.indices().head.0.store(self.head, Ordering::Release);
        true
    }
}
