//! Readiness for programs that do not want to block: one thread waits for everything.
use crate::error::{done, free, give, invalid, object, outcome};
use std::collections::VecDeque;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Wake, Waker};
use std::time::Instant;

/// Where calls that could not be done leave a number of the program's choice, to be handle when they
/// are worth another try.
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

/// A number that somebody wants to hear. It stands in the queue once at most.
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

/// One waker for each direction of an object: the same for every call, so that they do not pile up.
#[derive(Default)]
pub(crate) struct Slot(Mutex<Option<(Waker, u64, Arc<Queue>)>>);

impl Slot {
    pub(crate) fn waker(&self, events: &MartletEvents, token: u64) -> Waker {
        let mut kept = self.0.lock().unwrap_or_else(|e| e.into_inner());
        match &*kept {
            Some((waker, known, queue)) if *known == token && Arc::ptr_eq(queue, &events.queue) => {
                waker.clone()
            }
            _ => {
                let waker = Interest::waker(&events.queue, token);
                *kept = Some((waker.clone(), token, events.queue.clone()));
                waker
            }
        }
    }
}

/// Makes a place for events, to be freed with `martlet_events_free`.
///
/// # Safety
/// `events` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_events_new(events: *mut *mut MartletEvents) -> c_int {
    // SAFETY: as the caller promises.
    done(|| unsafe { give(events, MartletEvents { queue: Arc::default() }) })
}

/// Waits up to `timeout_ms` (for ever where that is negative) until something is ready, and writes
/// up to `most` numbers of what is. Gives how many: 0 where nothing is ready in time, or where the
/// wait was interrupted. A number may come without reason: the call that it stands for is to be
/// tried again.
///
/// # Safety
/// `events` was made by `martlet_events_new`; `most` numbers may be written from `tokens` on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_events_wait(
    events: *const MartletEvents,
    tokens: *mut u64,
    most: usize,
    timeout_ms: i64,
) -> isize {
    outcome(|| {
        // SAFETY: as the caller promises.
        let queue = &unsafe { object(events, "events")? }.queue;
        if tokens.is_null() || most == 0 {
            return Err(invalid("there is no place for the numbers"));
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
        while let Some(interest) = (count < most).then(|| state.ready.pop_front()).flatten() {
            // Before the program tries again: what comes from now on is handle anew.
            interest.queued.store(false, Ordering::Release);
            // SAFETY: fewer than `most` were written.
            unsafe { tokens.add(count).write(interest.token) };
            count += 1;
        }
        Ok(count)
    })
}

/// Ends a wait, or the next one if nobody waits.
///
/// # Safety
/// `events` was made by `martlet_events_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_events_interrupt(events: *const MartletEvents) -> c_int {
    done(|| {
        // SAFETY: as the caller promises.
        let queue = &unsafe { object(events, "events")? }.queue;
        queue.state.lock().unwrap_or_else(|e| e.into_inner()).interrupted = true;
        queue.changed.notify_all();
        Ok(())
    })
}

/// Frees a place for events. What has left numbers there goes on without being heard.
///
/// # Safety
/// `events` is null or was made by `martlet_events_new`, and nobody uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn martlet_events_free(events: *mut MartletEvents) {
    // SAFETY: as the caller promises.
    unsafe { free(events) }
}
