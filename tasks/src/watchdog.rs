//! Detects a function that blocks its thread.
//!
//! A thread runs one function at a time. If the same poll is in progress at two observations in a
//! row, the function has blocked the thread for the time between them: it computes without an
//! await, or waits for a lock or a disk. Rust cannot interrupt it.
use crate::current_function::{self, Activity};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// A thread whose function does not return from a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocked {
    /// The name of the function.
    pub function: &'static str,
    /// For how long, at least. It counts observations, not the clock, so that a process that was
    /// suspended is not taken for a blocked one.
    pub duration: Duration,
}

struct Observed {
    thread: Weak<Activity>,
    polls: u64,
    times: u32,
}

/// Observes all threads that run functions.
pub struct Observer {
    period: Duration,
    observed: Vec<Observed>,
}

impl Observer {
    /// An observer whose [`Observer::observe`] is called once in each period.
    pub fn new(period: Duration) -> Observer {
        Observer { period, observed: Vec::new() }
    }

    /// The threads that have been in the same poll since an earlier observation.
    pub fn observe(&mut self) -> Vec<Blocked> {
        self.observed.retain(|observed| observed.thread.strong_count() > 0);
        current_function::threads().iter().filter_map(|thread| self.check(thread)).collect()
    }

    fn check(&mut self, thread: &Arc<Activity>) -> Option<Blocked> {
        let (polls, function) = thread.read();
        let known = self
            .observed
            .iter_mut()
            .find(|observed| std::ptr::eq(observed.thread.as_ptr(), Arc::as_ptr(thread)));
        let Some(observed) = known else {
            let thread = Arc::downgrade(thread);
            self.observed.push(Observed { thread, polls, times: 0 });
            return None;
        };
        let (true, Some(function)) = (observed.polls == polls, function) else {
            (observed.polls, observed.times) = (polls, 0);
            return None;
        };
        observed.times += 1;
        Some(Blocked { function, duration: self.period.saturating_mul(observed.times) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tasks;
    use std::sync::mpsc;

    #[test]
    fn a_function_that_blocks_its_thread_is_named() {
        let (entered, is_entered) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async move {
                let tasks = Tasks::new("test-blocked");
                let blocked = tasks.spawn(async move {
                    entered.send(()).unwrap();
                    released.recv().unwrap();
                });
                blocked.await.unwrap();
                entered_again(&tasks).await
            })
        });
        let mut observer = Observer::new(Duration::from_secs(2));
        let mut of_test = || {
            let all = observer.observe();
            all.into_iter().find(|blocked| blocked.function == "test-blocked")
        };
        is_entered.recv().unwrap();
        assert_eq!(of_test(), None, "one observation shows nothing");
        for n in 1..=3 {
            let duration = Duration::from_secs(2 * n);
            assert_eq!(of_test(), Some(Blocked { function: "test-blocked", duration }));
        }
        release.send(()).unwrap();
        thread.join().unwrap();
        assert_eq!(of_test(), None);
    }

    /// The thread still works for the function, in other polls.
    async fn entered_again(tasks: &Tasks) {
        tasks.spawn(tokio::task::yield_now()).await.unwrap();
    }
}
