//! Deferred doorbells: whether a doorbell is signalled at once or at the end of the scheduler tick.
//!
//! On a shared CPU the first wakeup preempts the sender: the kernel runs the woken process at once,
//! and the rest of the sender's tick runs after it. That makes three context switches out of one,
//! and the woken process finds only part of its work. There, doorbells are deferred to the end of
//! the tick.
use crate::fd;
use std::cell::{Cell, RefCell};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, Weak};
use tokio::sync::Notify;

/// The deferred doorbells of one runtime.
#[derive(Default)]
pub(crate) struct WakeupCoalescer {
    deferred: Mutex<Vec<Arc<OwnedFd>>>,
    flush_due: Notify,
}

thread_local! {
    /// The coalescer of the runtime that this thread runs, if any.
    static COALESCER: RefCell<Weak<WakeupCoalescer>> = const { RefCell::new(Weak::new()) };
    static DEFER: Cell<bool> = const { Cell::new(false) };
}

/// Sets whether this thread defers doorbells from now on.
pub(crate) fn defer_wakeups(defer: bool) {
    DEFER.set(defer);
}

impl WakeupCoalescer {
    fn defer(&self, doorbell: &Arc<OwnedFd>) {
        let mut deferred = self.deferred.lock().unwrap_or_else(|e| e.into_inner());
        if deferred.iter().any(|other| Arc::ptr_eq(other, doorbell)) {
            return;
        }
        deferred.push(doorbell.clone());
        if deferred.len() == 1 {
            // The flush task is queued behind the tasks that are ready now.
            self.flush_due.notify_one();
        }
    }

    fn flush(&self) {
        let deferred =
            std::mem::take(&mut *self.deferred.lock().unwrap_or_else(|e| e.into_inner()));
        deferred.iter().for_each(|doorbell| fd::signal(doorbell));
    }
}

impl Drop for WakeupCoalescer {
    fn drop(&mut self) {
        self.flush();
    }
}

/// Signals a doorbell: now, or at the end of the tick if this thread [defers](defer_wakeups) and
/// its runtime runs [`flush_deferred`].
pub(crate) fn signal(doorbell: &Arc<OwnedFd>) {
    // `try_with` fails while the thread is being destroyed.
    let coalescer = if DEFER.get() {
        COALESCER.try_with(|coalescer| coalescer.borrow().upgrade()).ok().flatten()
    } else {
        None
    };
    match coalescer {
        Some(coalescer) => coalescer.defer(doorbell),
        None => fd::signal(doorbell),
    }
}

/// Flushes the deferred doorbells of this thread's runtime until the future is dropped; the drop
/// flushes the rest. For a current-thread runtime only.
pub(crate) fn flush_deferred() -> impl Future<Output = ()> + Send {
    let coalescer = Arc::new(WakeupCoalescer::default());
    COALESCER.set(Arc::downgrade(&coalescer));
    async move {
        loop {
            coalescer.flush_due.notified().await;
            coalescer.flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a doorbell was signalled since the last call.
    fn was_signalled(doorbell: &OwnedFd) -> bool {
        nix::unistd::read(doorbell, &mut [0; 8]).is_ok()
    }

    fn doorbell() -> Arc<OwnedFd> {
        Arc::new(fd::doorbell().unwrap())
    }

    #[tokio::test]
    async fn doorbells_are_deferred_to_the_end_of_the_tick() {
        let (one, other) = (doorbell(), doorbell());
        defer_wakeups(true);
        signal(&one);
        assert!(was_signalled(&one), "without a coalescer a doorbell is signalled at once");
        let task = tokio::spawn(flush_deferred());
        tokio::task::yield_now().await;
        let (first, second) = (one.clone(), other.clone());
        let ready = tokio::spawn(async move {
            assert!(!was_signalled(&first));
            signal(&second);
            signal(&first);
            assert!(!was_signalled(&first) && !was_signalled(&second));
        });
        signal(&one);
        assert!(!was_signalled(&one), "other tasks are ready");
        ready.await.unwrap();
        tokio::task::yield_now().await;
        assert!(was_signalled(&one) && was_signalled(&other));
        assert!(!was_signalled(&one) && !was_signalled(&other), "each is signalled once");
        defer_wakeups(false);
        signal(&one);
        assert!(was_signalled(&one), "without deferral a doorbell is signalled at once");
        defer_wakeups(true);
        // Cancelling the flush task signals what is still deferred.
        signal(&one);
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled() && was_signalled(&one));
        signal(&one);
        assert!(was_signalled(&one));
    }
}
