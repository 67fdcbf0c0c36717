//! The task that runs the library's timers: every 10 ms while packets flow, rarely between
//! heartbeats, and not at all without associations, so that an idle core uses no CPU.
use super::{addresses, library};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

#[derive(Default)]
pub(super) struct Timers {
    paused: AtomicBool,
    resumed: Notify,
}

/// Longer waits end when the timers are resumed.
const SHORT: Duration = Duration::from_millis(10);

impl Timers {
    /// Ends a pause after something was sent or received: timers may be due soon.
    pub(super) fn resume(&self) {
        if self.paused.swap(false, Ordering::Relaxed) {
            self.resumed.notify_one();
        }
    }

    /// Runs timers until the task is aborted.
    pub(super) async fn run(self: Arc<Self>) {
        loop {
            // Set before the check, so that a packet in between ends the pause.
            self.paused.store(true, Ordering::Relaxed);
            match library::run_timers(|| addresses::lock().has_associations()) {
                Some(pause) if pause <= SHORT => {
                    self.paused.store(false, Ordering::Relaxed);
                    tokio::time::sleep(pause).await;
                }
                Some(pause) => {
                    let _ = tokio::time::timeout(pause, self.resumed.notified()).await;
                }
                None => self.resumed.notified().await,
            }
        }
    }
}
