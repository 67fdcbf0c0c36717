//! Proofs within bounds. With loom: every interleaving and reordering that the memory model allows,
//! for rings, need-wakeup flags, and buffers that come and go. Without threads: every sequence of
//! calls of the pool. The sources under test are compiled here with loom's atomics.
//!
//! `make proofs` sets `MARTLET_PROOF_DEPTH`, for longer sequences than `cargo test` checks.
#![allow(dead_code)]

mod sync {
    pub use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
}
#[path = "../src/memory"]
mod memory {
    #[path = "need_wakeup.rs"]
    pub mod need_wakeup;
    #[path = "pool.rs"]
    pub mod pool;
    #[path = "ring.rs"]
    pub mod ring;
}

use loom::sync::Notify;
use loom::sync::atomic::AtomicU64;
use memory::need_wakeup::NeedWakeup;
use memory::pool::{BufferClass, BufferId, NotLentError, Pool};
use memory::ring::{Consumer, Indices, Producer, RingMemory};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How long the checked sequences are.
fn depth(default: usize) -> usize {
    std::env::var("MARTLET_PROOF_DEPTH").ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

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

/// One end's flags and doorbell.
#[derive(Default)]
struct End {
    need_wakeup: NeedWakeup,
    doorbell: Doorbell,
}

struct Doorbell(Notify);
impl Default for Doorbell {
    fn default() -> Self {
        Doorbell(Notify::new())
    }
}

#[test]
fn slots_are_complete_when_visible_and_read_before_reuse() {
    loom::model(|| {
        let memory = Heap::<2>::new(2);
        let (mut from, mut to) = (Producer::new(memory.clone()), Consumer::new(memory));
        let sender = loom::thread::spawn(move || {
            let mut sent = 0;
            for n in 1..=3 {
                // Drop what does not fit, so that the model stays finite.
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
fn buffers_are_complete_when_visible_and_returned_before_reuse() {
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

/// A lost wakeup would be a deadlock, which loom reports.
#[test]
fn a_sleeping_receiver_is_woken() {
    loom::model(|| {
        let memory = Heap::<1>::new(4);
        let end = Arc::new(End::default());
        let (mut from, mut to) = (Producer::new(memory.clone()), Consumer::new(memory));
        let other = end.clone();
        let sender = loom::thread::spawn(move || {
            for n in 1..=2 {
                assert!(from.push(&[n]).unwrap());
                if other.need_wakeup.take_receive() {
                    other.doorbell.0.notify();
                }
            }
        });
        let mut got = 0;
        while got < 2 {
            match to.pop().unwrap() {
                Some(_) => got += 1,
                None => {
                    end.need_wakeup.arm_receive();
                    if to.filled().unwrap() == 0 {
                        end.doorbell.0.wait();
                    }
                    end.need_wakeup.disarm_receive();
                }
            }
        }
        sender.join().unwrap();
    });
}

#[test]
fn a_blocked_sender_is_woken() {
    loom::model(|| {
        let memory = Heap::<1>::new(1);
        let end = Arc::new(End::default());
        let (mut from, mut to) = (Producer::new(memory.clone()), Consumer::new(memory));
        let other = end.clone();
        assert!(from.push(&[1]).unwrap());
        let receiver = loom::thread::spawn(move || {
            assert_eq!(to.pop().unwrap(), Some([1]));
            if to.publish() && other.need_wakeup.take_send() {
                other.doorbell.0.notify();
            }
        });
        while !from.push(&[2]).unwrap() {
            end.need_wakeup.arm_send();
            if from.room(1).unwrap() == 0 {
                end.doorbell.0.wait();
            }
        }
        receiver.join().unwrap();
    });
}

/// The pool, the ring of descriptors and the ring of returned buffers together, as a channel uses
/// them: a buffer is overwritten only after the receiver has read it.
#[test]
fn pooled_buffers_are_read_before_they_are_lent_again() {
    use loom::sync::atomic::Ordering::Relaxed;
    loom::model(|| {
        let (ring, returns) = (Heap::<1>::new(2), Heap::<1>::new(2));
        let buffers: Arc<[AtomicU64; 1]> = Arc::new([AtomicU64::new(0)]);
        let (mut from, mut to) = (Producer::new(ring.clone()), Consumer::new(ring));
        let (mut give, mut take) = (Producer::new(returns.clone()), Consumer::new(returns));
        let shared = buffers.clone();
        let sender = loom::thread::spawn(move || {
            let mut pool = Pool::new(&[BufferClass { bytes: 64, count: 1 }]);
            for content in 1..=3u64 {
                if let Some([id]) = take.pop().unwrap() {
                    take.publish();
                    pool.put(BufferId(id as u32)).expect("the receiver returns what it holds");
                }
                let Some((id, _)) = pool.get(64) else { continue };
                shared[id.0 as usize].store(content, Relaxed);
                // The descriptor has number and content of the buffer.
                assert!(from.push(&[u64::from(id.0) << 32 | content]).unwrap());
            }
        });
        for _ in 0..3 {
            if let Some([descriptor]) = to.pop().unwrap() {
                to.publish();
                let id = descriptor >> 32;
                assert_eq!(buffers[id as usize].load(Relaxed), descriptor & 0xffff_ffff);
                assert!(give.push(&[id]).unwrap());
            }
        }
        sender.join().unwrap();
    });
}

/// A call of a pool.
#[derive(Debug, Clone, Copy)]
enum Call {
    Get(u32),
    Put(u32),
}

/// Makes every sequence of calls of a length, with a receiver that may return any number, and
/// compares the pool with a set of lent buffers.
#[test]
fn no_sequence_of_calls_lends_a_buffer_twice_or_loses_one() {
    const CLASSES: [BufferClass; 2] =
        [BufferClass { bytes: 64, count: 2 }, BufferClass { bytes: 128, count: 1 }];
    const BUFFERS: u32 = 3;
    let mut calls = vec![Call::Get(1), Call::Get(100), Call::Get(1000)];
    // Beyond the last buffer, too.
    calls.extend((0..=BUFFERS).map(Call::Put));
    let depth = depth(5) as u32;
    for sequence in 0..calls.len().pow(depth) {
        let (mut pool, mut lent, mut rest) = (Pool::new(&CLASSES), BTreeSet::new(), sequence);
        for _ in 0..depth {
            let call = calls[rest % calls.len()];
            rest /= calls.len();
            match call {
                Call::Get(length) => match pool.get(length) {
                    Some((id, bytes)) => {
                        assert!(id.0 < BUFFERS && lent.insert(id.0), "{sequence}: {id:?} twice");
                        assert_eq!(bytes, if id.0 < 2 { 64 } else { 128 });
                        // A buffer that is too small only if none is left that fits.
                        assert!(length <= bytes || length > 128 || lent.contains(&2));
                    }
                    None => assert_eq!(lent.len() as u32, BUFFERS, "{sequence}: one is lost"),
                },
                Call::Put(number) => {
                    let expected = lent.remove(&number).then_some(()).ok_or(NotLentError);
                    assert_eq!(pool.put(BufferId(number)), expected, "{sequence}");
                }
            }
            assert_eq!(pool.lent() as usize, lent.len(), "{sequence}");
        }
    }
}
