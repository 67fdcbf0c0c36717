//! The ring between two threads, and with invalid indices. `verify.sh` also runs these tests under
//! Miri; `tests/model.rs` checks every interleaving.
use super::ring::*;
use crate::sync::{AtomicU64, Ordering};
use std::sync::Arc;

#[derive(Clone)]
struct Heap<const W: usize>(Arc<(Indices, Vec<[AtomicU64; W]>)>);

impl<const W: usize> Heap<W> {
    fn new(slots: usize) -> Self {
        let slots = (0..slots).map(|_| std::array::from_fn(|_| AtomicU64::new(0))).collect();
        Heap(Arc::new((Indices::default(), slots)))
    }
}

impl<const W: usize> RingMemory<W> for Heap<W> {
    fn indices(&self) -> &Indices {
        &self.0.0
    }
    fn slots(&self) -> &[[AtomicU64; W]] {
        &self.0.1
    }
}

#[test]
fn a_full_ring_rejects_pushes_until_slots_are_published() {
    let memory = Heap::<1>::new(2);
    let (mut from, mut to) = (Producer::new(memory.clone()), Consumer::new(memory));
    assert!(from.push(&[1]).unwrap() && from.push(&[2]).unwrap() && !from.push(&[3]).unwrap());
    assert_eq!(to.pop(), Ok(Some([1])));
    assert!(!from.push(&[3]).unwrap());
    assert!(to.publish() && !to.publish());
    assert!(from.push(&[3]).unwrap());
    assert_eq!((to.pop(), to.pop(), to.pop()), (Ok(Some([2])), Ok(Some([3])), Ok(None)));
}

#[test]
fn slots_arrive_in_order_between_threads() {
    const ALL: u64 = if cfg!(miri) { 200 } else { 100_000 };
    let memory = Heap::<8>::new(8);
    let (mut from, mut to) = (Producer::new(memory.clone()), Consumer::new(memory));
    let sender = std::thread::spawn(move || {
        for n in 0..ALL {
            while !from.push(&[n; 8]).unwrap() {
                std::thread::yield_now();
            }
        }
    });
    for n in 0..ALL {
        let got = loop {
            match to.pop().unwrap() {
                Some(words) => break words,
                None => std::thread::yield_now(),
            }
        };
        assert_eq!(got, [n; 8]);
        to.publish();
    }
    sender.join().unwrap();
}

#[test]
fn invalid_indices_are_detected() {
    for wrong in [5, 100, u32::MAX, u32::MAX - 3] {
        let memory = Heap::<1>::new(4);
        memory.0.0.tail.0.store(wrong, Ordering::Relaxed);
        assert_eq!(Consumer::new(memory).pop(), Err(InvalidIndex), "{wrong}");
    }
    let memory = Heap::<1>::new(4);
    let (mut from, mut to) = (Producer::new(memory.clone()), Consumer::new(memory.clone()));
    (0..4).for_each(|n| assert!(from.push(&[n]).unwrap()));
    for wrong in [5, u32::MAX, 1 << 31] {
        memory.0.0.head.0.store(wrong, Ordering::Relaxed);
        assert_eq!(from.push(&[9]), Err(InvalidIndex), "{wrong}");
    }
    // A tail that moves backwards.
    assert_eq!(to.filled(), Ok(4));
    memory.0.0.tail.0.store(3, Ordering::Relaxed);
    assert_eq!(to.filled(), Err(InvalidIndex));
}

#[test]
fn indices_wrap_around() {
    let memory = Heap::<1>::new(4);
    let (mut from, mut to) = (
        Producer::starting_at(memory.clone(), u32::MAX - 1),
        Consumer::starting_at(memory, u32::MAX - 1),
    );
    for n in 0..10 {
        assert!(from.push(&[n]).unwrap());
        assert_eq!(to.pop(), Ok(Some([n])));
        to.publish();
    }
}
