//! The task that lets time pass for the library: often while packets flow, seldom between
//! heartbeats, and not at all while there is no association, so that an idle core costs nothing.
use super::gate;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

#[derive(Default)]
pub(super) struct Ticker {
    rests: AtomicBool,
    wake: Notify,
}

/// Ticks above this length count as rest, which a packet ends.
const SHORT: Duration = Duration::from_millis(10);

impl Ticker {
    /// Something has been sent or received: timers may be due soon.
    pub(super) fn stir(&self) {
        if self.rests.swap(false, Ordering::Relaxed) {
            self.wake.notify_one();
        }
    }

    /// Ticks until the task is aborted.
    pub(super) async fn run(self: Arc<Self>) {
        loop {
            // Set before looking, so that what happens in between is not slept over.
            self.rests.store(true, Ordering::Relaxed);
            match gate::tick() {
                Some(pause) if pause <= SHORT => {
                    self.rests.store(false, Ordering::Relaxed);
                    tokio::time::sleep(pause).await;
                }
                Some(pause) => {
                    let _ = tokio::time::timeout(pause, self.wake.notified()).await;
                }
                None => self.wake.notified().await,
            }
        }
    }
}
