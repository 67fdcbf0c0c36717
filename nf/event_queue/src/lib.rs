//! A bounded queue of events for a task that has many siblings, such as the task of each UE.
//!
//! A channel of `tokio::sync::mpsc` holds a block of 32 slots from its first event on. For tens of
//! thousands of tasks that are idle most of the time, these blocks are most of the memory. This
//! queue holds no slots while its task waits: they are allocated for an event and freed when the
//! task waits for the next one.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let (sender, mut receiver) = martlet_event_queue::bounded(2);
//! sender.try_send("registration").unwrap();
//! sender.send("release").await.unwrap();
//! assert!(sender.try_send("one too many").is_err());
//! assert_eq!(receiver.recv().await, Some("registration"));
//! # });
//! ```
//!
//! # Cancel safety
//!
//! [`Receiver::recv`] loses no event when it is cancelled. A [`Sender::send`] that is cancelled has
//! not sent its event.
//!
//! # Errors
//!
//! [`TrySendError`] returns the event that was not sent, with the reason.
#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

/// Why an event was not sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TrySendError<T> {
    /// The queue is full.
    Full(T),
    /// The task has ended, or does not take events any more.
    Closed(T),
}

impl<T> TrySendError<T> {
    /// The event.
    pub fn into_inner(self) -> T {
        let (TrySendError::Full(event) | TrySendError::Closed(event)) = self;
        event
    }
}

impl<T> fmt::Debug for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TrySendError::Full(_) => "Full(..)",
            TrySendError::Closed(_) => "Closed(..)",
        })
    }
}

impl<T> fmt::Display for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TrySendError::Full(_) => "the queue is full",
            TrySendError::Closed(_) => "the receiver has ended",
        })
    }
}

impl<T> std::error::Error for TrySendError<T> {}

struct State<T> {
    events: VecDeque<T>,
    /// The receiver, while it waits for an event.
    receiver: Option<Waker>,
    /// Senders that wait for room.
    blocked: Vec<Waker>,
    is_closed: bool,
}

struct Shared<T> {
    state: Mutex<State<T>>,
    senders: AtomicUsize,
    capacity: usize,
}

impl<T> Shared<T> {
    /// No code panics while it has the lock.
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Adds an event and wakes the receiver.
    fn push(&self, mut state: MutexGuard<'_, State<T>>, event: T) -> Result<(), TrySendError<T>> {
        if state.is_closed {
            return Err(TrySendError::Closed(event));
        }
        if state.events.len() >= self.capacity {
            return Err(TrySendError::Full(event));
        }
        state.events.push_back(event);
        let receiver = state.receiver.take();
        drop(state);
        if let Some(receiver) = receiver {
            receiver.wake();
        }
        Ok(())
    }
}

/// A queue for at most `capacity` events, but at least one.
pub fn bounded<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Shared {
        state: Mutex::new(State {
            events: VecDeque::new(),
            receiver: None,
            blocked: Vec::new(),
            is_closed: false,
        }),
        senders: AtomicUsize::new(1),
        capacity: capacity.max(1),
    });
    (Sender(shared.clone()), Receiver(shared))
}

/// Sends events to a task.
pub struct Sender<T>(Arc<Shared<T>>);

impl<T> Sender<T> {
    /// Sends an event unless the queue is full.
    ///
    /// # Errors
    /// The queue is full, or the receiver has ended.
    pub fn try_send(&self, event: T) -> Result<(), TrySendError<T>> {
        self.0.push(self.0.state(), event)
    }

    /// Sends an event; waits while the queue is full.
    ///
    /// # Errors
    /// [`TrySendError::Closed`]: the receiver has ended.
    pub async fn send(&self, event: T) -> Result<(), TrySendError<T>> {
        let mut event = Some(event);
        poll_fn(|context| {
            let Some(sent) = event.take() else { return Poll::Ready(Ok(())) };
            let mut state = self.0.state();
            if state.events.len() < self.0.capacity || state.is_closed {
                return Poll::Ready(self.0.push(state, sent));
            }
            if !state.blocked.iter().any(|waker| waker.will_wake(context.waker())) {
                state.blocked.push(context.waker().clone());
            }
            event = Some(sent);
            Poll::Pending
        })
        .await
    }

    /// Events that still fit.
    pub fn capacity(&self) -> usize {
        self.0.capacity.saturating_sub(self.0.state().events.len())
    }

    /// Events that fit into the empty queue.
    pub fn max_capacity(&self) -> usize {
        self.0.capacity
    }

    /// Whether the receiver takes no more events.
    pub fn is_closed(&self) -> bool {
        self.0.state().is_closed
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        self.0.senders.fetch_add(1, Ordering::Relaxed);
        Sender(self.0.clone())
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if self.0.senders.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        let receiver = self.0.state().receiver.take();
        if let Some(receiver) = receiver {
            receiver.wake();
        }
    }
}

impl<T> fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sender({} of {} free)", self.capacity(), self.0.capacity)
    }
}

/// Receives the events of a task.
pub struct Receiver<T>(Arc<Shared<T>>);

impl<T> Receiver<T> {
    /// The next event; `None` when the queue is empty and closed, or has no sender.
    pub async fn recv(&mut self) -> Option<T> {
        // A task that never lacks events yields to others from time to time.
        tokio::task::coop::cooperative(poll_fn(|context| self.poll_recv(context))).await
    }

    fn poll_recv(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
        let mut state = self.0.state();
        if let Some(event) = state.events.pop_front() {
            let blocked = std::mem::take(&mut state.blocked);
            drop(state);
            blocked.into_iter().for_each(Waker::wake);
            return Poll::Ready(Some(event));
        }
        if state.is_closed || self.0.senders.load(Ordering::Acquire) == 0 {
            return Poll::Ready(None);
        }
        // At rest, the queue has no slots.
        state.events = VecDeque::new();
        match &mut state.receiver {
            Some(waker) => waker.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
        Poll::Pending
    }

    /// The next event, if there is one.
    pub fn try_recv(&mut self) -> Option<T> {
        let mut state = self.0.state();
        let event = state.events.pop_front();
        let blocked = std::mem::take(&mut state.blocked);
        drop(state);
        blocked.into_iter().for_each(Waker::wake);
        event
    }

    /// Takes the events in the queue that match, in their order. The others stay.
    pub fn take_if(&mut self, matches: impl FnMut(&T) -> bool) -> VecDeque<T> {
        let mut state = self.0.state();
        let events = std::mem::take(&mut state.events);
        let (taken, others) = events.into_iter().partition(matches);
        state.events = others;
        let blocked = std::mem::take(&mut state.blocked);
        drop(state);
        blocked.into_iter().for_each(Waker::wake);
        taken
    }

    /// Takes no more events; those in the queue can still be received.
    pub fn close(&mut self) {
        let mut state = self.0.state();
        state.is_closed = true;
        let blocked = std::mem::take(&mut state.blocked);
        drop(state);
        blocked.into_iter().for_each(Waker::wake);
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.close();
        // Dropped without the lock: an event may hold a sender of this queue.
        let events = std::mem::take(&mut self.0.state().events);
        drop(events);
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Receiver({} events)", self.0.state().events.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use futures_util::future::join;

    fn slots<T>(receiver: &Receiver<T>) -> usize {
        receiver.0.state().events.capacity()
    }

    #[tokio::test]
    async fn events_arrive_in_order_and_a_full_queue_returns_the_event() {
        let (sender, mut receiver) = bounded(2);
        assert_eq!((sender.try_send(1), sender.try_send(2)), (Ok(()), Ok(())));
        assert_eq!(sender.try_send(3), Err(TrySendError::Full(3)));
        assert_eq!((sender.capacity(), sender.max_capacity()), (0, 2));
        assert_eq!((receiver.recv().await, sender.capacity()), (Some(1), 1));
        assert_eq!((receiver.try_recv(), receiver.try_recv()), (Some(2), None));
    }

    #[tokio::test]
    async fn a_queue_that_waits_has_no_slots() {
        let (sender, mut receiver) = bounded(64);
        for n in 0..64 {
            sender.try_send([n; 100]).unwrap();
        }
        for _ in 0..64 {
            receiver.recv().await.unwrap();
        }
        assert!(slots(&receiver) >= 64);
        assert!(receiver.recv().now_or_never().is_none());
        assert_eq!(slots(&receiver), 0);
        // It is still usable, after a cancelled wait.
        sender.try_send([7; 100]).unwrap();
        assert_eq!(receiver.recv().await, Some([7; 100]));
    }

    #[tokio::test]
    async fn a_waiting_receiver_is_woken_by_another_task() {
        let (sender, mut receiver) = bounded(1);
        let sending = tokio::spawn(async move {
            for n in 0..1000 {
                sender.send(n).await.unwrap();
            }
        });
        for n in 0..1000 {
            assert_eq!(receiver.recv().await, Some(n));
        }
        sending.await.unwrap();
        assert_eq!(receiver.recv().await, None);
    }

    #[test]
    fn senders_on_many_threads_lose_no_event() {
        let (sender, mut receiver) = bounded(4);
        let block_on = |future| {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(future)
        };
        let threads: Vec<_> = (0..4u64)
            .map(|_| {
                let sender = sender.clone();
                std::thread::spawn(move || {
                    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                    runtime.block_on(async {
                        for n in 1..=10_000u64 {
                            sender.send(n).await.unwrap();
                        }
                    });
                })
            })
            .collect();
        drop(sender);
        let sum = block_on(async {
            let mut sum = 0;
            while let Some(n) = receiver.recv().await {
                sum += n;
            }
            sum
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(sum, 4 * 10_000 * 10_001 / 2);
    }

    #[tokio::test]
    async fn a_closed_queue_refuses_events_and_gives_those_it_has() {
        let (sender, mut receiver) = bounded(1);
        sender.try_send(1).unwrap();
        let blocked = sender.send(2);
        let closing = async { receiver.close() };
        assert_eq!(join(blocked, closing).await.0, Err(TrySendError::Closed(2)));
        assert!(sender.is_closed());
        assert_eq!(sender.try_send(3), Err(TrySendError::Closed(3)));
        assert_eq!((receiver.recv().await, receiver.recv().await), (Some(1), None));
    }

    #[tokio::test]
    async fn matching_events_are_taken_and_the_others_stay_in_order() {
        let (sender, mut receiver) = bounded(4);
        for n in 1..=4 {
            sender.try_send(n).unwrap();
        }
        assert_eq!(receiver.take_if(|n| n % 2 == 0), [2, 4]);
        assert_eq!(sender.capacity(), 2);
        assert_eq!((receiver.recv().await, receiver.try_recv()), (Some(1), Some(3)));
        assert!(receiver.take_if(|_| true).is_empty());
    }

    #[tokio::test]
    async fn an_ended_receiver_drops_its_events() {
        let (sender, receiver) = bounded(2);
        let event = Arc::new(());
        sender.try_send(event.clone()).unwrap();
        drop(receiver);
        assert_eq!(Arc::strong_count(&event), 1);
        assert!(sender.is_closed());
    }

    #[tokio::test]
    async fn a_sender_that_gives_up_has_not_sent() {
        let (sender, mut receiver) = bounded(1);
        sender.try_send(1).unwrap();
        assert!(sender.send(2).now_or_never().is_none());
        assert_eq!((receiver.recv().await, receiver.try_recv()), (Some(1), None));
    }

    #[tokio::test]
    async fn a_receiver_with_events_yields_to_other_tasks() {
        let (sender, mut receiver) = bounded(1);
        let turns = Arc::new(AtomicUsize::new(0));
        let other = tokio::spawn({
            let turns = turns.clone();
            async move {
                loop {
                    turns.fetch_add(1, Ordering::Relaxed);
                    tokio::task::yield_now().await;
                }
            }
        });
        tokio::spawn(async move {
            for n in 0..1000 {
                sender.try_send(n).unwrap();
                receiver.recv().await.unwrap();
            }
        })
        .await
        .unwrap();
        assert!(turns.load(Ordering::Relaxed) > 1);
        other.abort();
    }
}
