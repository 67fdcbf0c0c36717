//! A ring with one producer and one consumer that do not trust each other.
//!
//! Indices are 32-bit counters that wrap; a slot's position is the index modulo the capacity, a
//! power of two. Each side keeps its own index in private memory and publishes a copy. The other
//! side's published index is validated before use. Slots consist of atomic words, each read once.
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// A word that fills a cache line, to avoid false sharing.
#[repr(C, align(64))]
#[derive(Default)]
pub struct CacheLine(pub AtomicU32);

/// The published indices of a ring, in shared memory.
#[repr(C)]
#[derive(Default)]
pub struct Indices {
    /// Number of slots filled so far, written by the producer.
    pub tail: CacheLine,
    /// Number of slots emptied so far, written by the consumer.
    pub head: CacheLine,
}

/// The memory of a ring whose slots have `W` words.
pub trait RingMemory<const W: usize> {
    /// The published indices.
    fn indices(&self) -> &Indices;
    /// The slots. Their number must be a power of two.
    fn slots(&self) -> &[[AtomicU64; W]];
}

/// The other side published an index outside the valid range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidIndex;

fn slot<const W: usize>(memory: &impl RingMemory<W>, index: u32) -> Option<&[AtomicU64; W]> {
    let slots = memory.slots();
    slots.get(index as usize & slots.len().wrapping_sub(1))
}

/// The side that fills slots.
pub struct Producer<M, const W: usize> {
    memory: M,
    tail: u32,
    /// The consumer's index as last read.
    head: u32,
}

impl<M: RingMemory<W>, const W: usize> Producer<M, W> {
    /// The producer of an unused ring.
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

    /// Number of free slots. Reads the consumer's index only if fewer than `wanted` are known free.
    pub fn room(&mut self, wanted: u32) -> Result<u32, InvalidIndex> {
        let capacity = self.capacity();
        let mut used = self.tail.wrapping_sub(self.head);
        if capacity - used < wanted {
            // Acquire: the consumer finished reading the slots that it published as empty.
            let head = self.memory.indices().head.0.load(Ordering::Acquire);
            let now_used = self.tail.wrapping_sub(head);
            if now_used > used {
                return Err(InvalidIndex);
            }
            (self.head, used) = (head, now_used);
        }
        Ok(capacity - used)
    }

    /// Fills the next slot and publishes it. Returns `false` if the ring is full.
    pub fn push(&mut self, words: &[u64; W]) -> Result<bool, InvalidIndex> {
        if self.room(1)? == 0 {
            return Ok(false);
        }
        let Some(slot) = slot(&self.memory, self.tail) else { return Err(InvalidIndex) };
        for (target, word) in slot.iter().zip(words) {
            target.store(*word, Ordering::Relaxed);
        }
        self.tail = self.tail.wrapping_add(1);
        // Release: the slot and the buffer that it names are written before the consumer sees the
        // index.
        self.memory.indices().tail.0.store(self.tail, Ordering::Release);
        Ok(true)
    }
}

/// The side that empties slots.
pub struct Consumer<M, const W: usize> {
    memory: M,
    head: u32,
    /// The producer's index as last read.
    tail: u32,
    published: u32,
}

impl<M: RingMemory<W>, const W: usize> Consumer<M, W> {
    /// The consumer of an unused ring.
    pub fn new(memory: M) -> Self {
        Consumer { memory, head: 0, tail: 0, published: 0 }
    }

    #[cfg(test)]
    pub(super) fn starting_at(memory: M, index: u32) -> Self {
        Consumer { memory, head: index, tail: index, published: index }
    }

    /// Number of filled slots, from the producer's current index.
    pub fn filled(&mut self) -> Result<u32, InvalidIndex> {
        let capacity = self.memory.slots().len() as u32;
        // Acquire: everything that the producer wrote before it published is visible.
        let tail = self.memory.indices().tail.0.load(Ordering::Acquire);
        let filled = tail.wrapping_sub(self.head);
        if filled > capacity || filled < self.tail.wrapping_sub(self.head) {
            return Err(InvalidIndex);
        }
        self.tail = tail;
        Ok(filled)
    }

    /// Copies the next filled slot. The producer may reuse it after [`Consumer::publish`].
    pub fn pop(&mut self) -> Result<Option<[u64; W]>, InvalidIndex> {
        if self.head == self.tail && self.filled()? == 0 {
            return Ok(None);
        }
        let Some(slot) = slot(&self.memory, self.head) else { return Err(InvalidIndex) };
        let words = std::array::from_fn(|n| slot[n].load(Ordering::Relaxed));
        self.head = self.head.wrapping_add(1);
        Ok(Some(words))
    }

    /// Publishes the emptied slots to the producer. Returns whether there were any.
    pub fn publish(&mut self) -> bool {
        if self.published == self.head {
            return false;
        }
        self.published = self.head;
        // Release: the slots are read before the producer may overwrite them.
        self.memory.indices().head.0.store(self.head, Ordering::Release);
        true
    }
}
