//! When a bell is rung: at once, or when the tasks that are ready have had their turn.
//!
//! Who shares its processor with those whom it wakes loses it with the first bell: the kernel lets
//! the one that was woken run at once, and then the rest of the turn comes after it. Three switches
//! are made of one that way, and what is woken finds a part of what the turn has for it. Bells are
//! held back there until the turn is over.
use crate::fd;
use std::cell::{Cell, RefCell};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, Weak};
use tokio::sync::Notify;

/// Bells that are held back.
#[derive(Default)]
pub(crate) struct Ringer {
    held: Mutex<Vec<Arc<OwnedFd>>>,
    due: Notify,
}

thread_local! {
    /// The ringer of the runtime that this thread runs: none where bells are rung at once.
    static RINGER: RefCell<Weak<Ringer>> = const { RefCell::new(Weak::new()) };
    static HELD_BACK: Cell<bool> = const { Cell::new(false) };
}

/// Whether bells that this thread rings from now on may wait until its turn is over.
pub(crate) fn hold_back(yes: bool) {
    HELD_BACK.set(yes);
}

impl Ringer {
    fn hold(&self, bell: &Arc<OwnedFd>) {
        let mut held = self.held.lock().unwrap_or_else(|e| e.into_inner());
        if held.iter().any(|other| Arc::ptr_eq(other, bell)) {
            return;
        }
        held.push(bell.clone());
        if held.len() == 1 {
            // Its task comes behind those that are ready.
            self.due.notify_one();
        }
    }

    fn ring_all(&self) {
        let held = std::mem::take(&mut *self.held.lock().unwrap_or_else(|e| e.into_inner()));
        held.iter().for_each(|bell| fd::ring(bell));
    }
}

impl Drop for Ringer {
    fn drop(&mut self) {
        self.ring_all();
    }
}

/// Rings a bell now, or at the end of the turn, where bells are [held back](hold_back) and somebody
/// [rings](ring_for_ever) then.
pub(crate) fn ring(bell: &Arc<OwnedFd>) {
    // There is none either while the thread ends.
    let ringer = if HELD_BACK.get() {
        RINGER.try_with(|ringer| ringer.borrow().upgrade()).ok().flatten()
    } else {
        None
    };
    match ringer {
        Some(ringer) => ringer.hold(bell),
        None => fd::ring(bell),
    }
}

/// Rings what the tasks of this thread's runtime hold back, until the future is dropped: what is
/// left is rung then. For a runtime with one thread, which is this one.
pub(crate) fn ring_for_ever() -> impl Future<Output = ()> + Send {
    let ringer = Arc::new(Ringer::default());
    RINGER.set(Arc::downgrade(&ringer));
    async move {
        loop {
            ringer.due.notified().await;
            ringer.ring_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a bell has been rung since the last look.
    fn rung(bell: &OwnedFd) -> bool {
        nix::unistd::read(bell, &mut [0; 8]).is_ok()
    }

    fn bell() -> Arc<OwnedFd> {
        Arc::new(fd::bell().unwrap())
    }

    #[tokio::test]
    async fn bells_are_held_until_the_turn_is_over() {
        let (one, other) = (bell(), bell());
        hold_back(true);
        ring(&one);
        assert!(rung(&one), "nobody would ring it later");
        let task = tokio::spawn(ring_for_ever());
        tokio::task::yield_now().await;
        let (first, second) = (one.clone(), other.clone());
        let ready = tokio::spawn(async move {
            assert!(!rung(&first));
            ring(&second);
            ring(&first);
            assert!(!rung(&first) && !rung(&second));
        });
        ring(&one);
        assert!(!rung(&one), "others are ready");
        ready.await.unwrap();
        tokio::task::yield_now().await;
        assert!(rung(&one) && rung(&other));
        assert!(!rung(&one) && !rung(&other), "each once");
        hold_back(false);
        ring(&one);
        assert!(rung(&one), "at once, where that is asked for");
        hold_back(true);
        // Whoever waits for what was rung last is woken, although nobody rings any more.
        ring(&one);
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled() && rung(&one));
        ring(&one);
        assert!(rung(&one));
    }
}
