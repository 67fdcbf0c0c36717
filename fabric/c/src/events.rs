//! Readiness notification for non-blocking calls.
use crate::error::{done, free, give, invalid, object, outcome};
use std::collections::VecDeque;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Wake, Waker};
use std::time::Instant;

/// A queue of events. A call that would block registers a token, a number of the program's choice;
/// the token becomes an event when the call should be tried again.
pub struct MartletEvents {
    pub(crate) queue: Arc<Queue>,
}

#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    ready: VecDeque<Arc<Interest>>,
    interrupted: bool,
}

/// A registered token. It is in the queue at most once.
pub(crate) struct Interest {
    token: u64,
    queue: Arc<Queue>,
    queued: AtomicBool,
}

impl Interest {
    pub(crate) fn waker(queue: &Arc<Queue>, token: u64) -> Waker {
        Waker::from(Arc::new(Interest {
            token,
            queue: queue.clone(),
            queued: AtomicBool::new(false),
        }))
    }
}

impl Wake for Interest {
    fn wake(self: Arc<Self>) {
        if !self.queued.swap(true, Ordering::AcqRel) {
            let queue = self.queue.clone();
            queue.state.lock().unwrap_or_else(|e| e.into_inner()).ready.push_back(self);
            queue.changed.notify_one();
        }
    }
}

/// The waker of one direction of an object. All calls share it, so wakers do not accumulate.
#[derive(Default)]
pub(crate) struct Slot(Mutex<Option<(Waker, u64, Arc<Queue>)>>);

impl Slot {
    pub(crate) fn waker(&self, events: &MartletEvents, token: u64) -> Waker {
        let mut slot = self.0.lock().unwrap_or_else(|e| e.into_inner());
        match &*slot {
            Some((waker, known, queue)) if *known == token && Arc::ptr_eq(queue, &events.queue) => {
                waker.clone()
            }
            _ => {
                let waker = Interest::waker(&events.queue, token);
                *slot = Some((waker.clone(), token, events.queue.clone()));
                waker
            }
        }
    }
}

/// Creates an event queue. Free it with `martlet_events_free`.
///
/// # Safety
/// `events` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_events_new(events: *mut *mut MartletEvents) -> c_int {
    // SAFETY: the caller guarantees it.
    done(|| unsafe { give(events, MartletEvents { queue: Arc::default() }) })
}

/// Waits up to `timeout_ms` (without limit if negative) for events, and writes up to `capacity`
/// tokens. Returns their number; 0 after the timeout or an interrupt. Events may be spurious: try
/// the call again.
///
/// # Safety
/// `events` was created by `martlet_events_new`; `capacity` tokens are writable at `tokens`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_events_wait(
    events: *const MartletEvents,
    tokens: *mut u64,
    capacity: usize,
    timeout_ms: i64,
) -> isize {
    outcome(|| {
        // SAFETY: the caller guarantees it.
        let queue = &unsafe { object(events, "events")? }.queue;
        if tokens.is_null() || capacity == 0 {
            return Err(invalid("tokens is NULL or capacity is 0"));
        }
        let deadline = crate::deadline(timeout_ms);
        let mut state = queue.state.lock().unwrap_or_else(|e| e.into_inner());
        while state.ready.is_empty() && !state.interrupted {
            state =
                match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                    None => queue.changed.wait(state).unwrap_or_else(|e| e.into_inner()),
                    Some(left) if left.is_zero() => return Ok(0),
                    Some(left) => {
                        queue.changed.wait_timeout(state, left).unwrap_or_else(|e| e.into_inner()).0
                    }
                };
        }
        state.interrupted = false;
        let mut count = 0;
        while let Some(interest) = (count < capacity).then(|| state.ready.pop_front()).flatten() {
            // Clear before the program tries again, so that later events are queued again.
            interest.queued.store(false, Ordering::Release);
            // SAFETY: fewer than `capacity` were written.
            unsafe { tokens.add(count).write(interest.token) };
            count += 1;
        }
        Ok(count)
    })
}

/// Interrupts the current wait, or the next one.
///
/// # Safety
/// `events` was created by `martlet_events_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_events_interrupt(events: *const MartletEvents) -> c_int {
    done(|| {
        // SAFETY: the caller guarantees it.
        let queue = &unsafe { object(events, "events")? }.queue;
        queue.state.lock().unwrap_or_else(|e| e.into_inner()).interrupted = true;
        queue.changed.notify_all();
        Ok(())
    })
}

/// Frees an event queue. Registered tokens have no effect afterwards.
///
/// # Safety
/// `events` is NULL, or was created by `martlet_events_new` and is not in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_events_free(events: *mut MartletEvents) {
    // SAFETY: the caller guarantees it.
    unsafe { free(events) }
}
