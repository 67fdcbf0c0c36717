//! Every interleaving and every reordering that the memory model allows, for the ring and the flags
//! beside it. The files under test are compiled here once more, with the model checker's atomics.
#![allow(dead_code)]

mod sync {
    pub use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
}
#[path = "../src/memory"]
mod memory {
    #[path = "attention.rs"]
    pub mod attention;
    #[path = "ring.rs"]
    pub mod ring;
}

use loom::sync::Notify;
use loom::sync::atomic::AtomicU64;
use memory::attention::Attention;
use memory::ring::{Consumer, Indices, Producer, RingMemory};
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

/// One end's flags and bell.
#[derive(Default)]
struct End {
    attention: Attention,
    bell: Bell,
}

struct Bell(Notify);
impl Default for Bell {
    fn default() -> Self {
        Bell(Notify::new())
    }
}

#[test]
fn a_slot_is_whole_when_it_is_seen_and_read_before_it_is_filled_again() {
    loom::model(|| {
        let memory = Heap::<2>::new(2);
        let (mut from, mut to) = (Producer::new(memory.clone()), Consumer::new(memory));
        let sender = loom::thread::spawn(move || {
            let mut sent = 0;
            for n in 1..=3 {
                // A full ring: what does not fit is not sent, so that the model stays finite.
                sent += u64::from(from.push(&[n, n]).unwrap());
            }
            sent
        });
        let mut last = 0;
        let mut got = 0;
        for _ in 0..2 {
            if let Some([a, b]) = to.pop().unwrap() {
                assert!(a == b && a > last);
                (last, got) = (a, got + 1);
                to.publish();
            }
        }
        let sent = sender.join().unwrap();
        while let Some([a, b]) = to.pop().unwrap() {
            assert!(a == b && a > last);
            (last, got) = (a, got + 1);
        }
        assert_eq!(got, sent);
    });
}

#[test]
fn a_buffer_is_whole_when_its_descriptor_is_seen_and_comes_back_before_it_is_written_again() {
    loom::model(|| {
        let (ring, returns) = (Heap::<1>::new(2), Heap::<1>::new(2));
        let buffer = Arc::new(AtomicU64::new(0));
        let (mut from, mut to) = (Producer::new(ring.clone()), Consumer::new(ring));
        let (mut give, mut take) = (Producer::new(returns.clone()), Consumer::new(returns));
        let shared = buffer.clone();
        let sender = loom::thread::spawn(move || {
            use loom::sync::atomic::Ordering::Relaxed;
            shared.store(1, Relaxed);
            assert!(from.push(&[1]).unwrap());
            if take.pop().unwrap().is_some() {
                shared.store(2, Relaxed);
                assert!(from.push(&[2]).unwrap());
            }
        });
        for _ in 0..2 {
            if let Some([n]) = to.pop().unwrap() {
                assert_eq!(buffer.load(loom::sync::atomic::Ordering::Relaxed), n);
                assert!(give.push(&[0]).unwrap());
            }
        }
        sender.join().unwrap();
    });
}

/// A lost wake-up is a deadlock here, which the model checker reports.
#[test]
fn who_sleeps_is_woken_by_what_comes() {
    loom::model(|| {
        let memory = Heap::<1>::new(4);
        let end = Arc::new(End::default());
        let (mut from, mut to) = (Producer::new(memory.clone()), Consumer::new(memory));
        let other = end.clone();
        let sender = loom::thread::spawn(move || {
            for n in 1..=2 {
                assert!(from.push(&[n]).unwrap());
                if other.attention.after_sending() {
                    other.bell.0.notify();
                }
            }
        });
        let mut got = 0;
        while got < 2 {
            match to.pop().unwrap() {
                Some(_) => got += 1,
                None => {
                    end.attention.sleep();
                    if to.filled().unwrap() == 0 {
                        end.bell.0.wait();
                    }
                    end.attention.wake();
                }
            }
        }
        sender.join().unwrap();
    });
}

#[test]
fn who_starves_is_woken_by_what_comes_back() {
    loom::model(|| {
        let memory = Heap::<1>::new(1);
        let end = Arc::new(End::default());
        let (mut from, mut to) = (Producer::new(memory.clone()), Consumer::new(memory));
        let other = end.clone();
        assert!(from.push(&[1]).unwrap());
        let receiver = loom::thread::spawn(move || {
            assert_eq!(to.pop().unwrap(), Some([1]));
            if to.publish() && other.attention.after_returning() {
                other.bell.0.notify();
            }
        });
        while !from.push(&[2]).unwrap() {
            end.attention.starve();
            if from.room(1).unwrap() == 0 {
                end.bell.0.wait();
            }
        }
        receiver.join().unwrap();
    });
}
