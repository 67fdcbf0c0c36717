//! Which function the current thread runs.
use crate::names;
use crate::tasks::Tasks;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// What a thread does, for the watchdog. Only the thread itself writes it.
#[derive(Default)]
pub(crate) struct Activity {
    /// Changes whenever a poll begins or ends.
    polls: AtomicU64,
    /// The index of the running function's name; 0 for none.
    function: AtomicUsize,
}

impl Activity {
    /// The number of polls, and the name of the running function.
    pub fn read(&self) -> (u64, Option<&'static str>) {
        let function = self.function.load(Ordering::Relaxed);
        (self.polls.load(Ordering::Relaxed), names::name_of(function))
    }

    /// Sets the running function. Returns the previous one.
    fn set(&self, function: usize) -> usize {
        let before = self.function.load(Ordering::Relaxed);
        self.function.store(function, Ordering::Relaxed);
        // No other thread writes it.
        self.polls.store(self.polls.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        before
    }
}

static THREADS: Mutex<Vec<Weak<Activity>>> = Mutex::new(Vec::new());

/// The threads that have run a function, and have not ended.
pub(crate) fn threads() -> Vec<Arc<Activity>> {
    let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    threads.retain(|thread| thread.strong_count() > 0);
    threads.iter().filter_map(Weak::upgrade).collect()
}

/// The function that a thread runs, and what it reports to the watchdog.
struct ThreadState {
    current: Cell<Option<Tasks>>,
    activity: Arc<Activity>,
}

thread_local! {
    static THREAD: ThreadState = {
        let activity = Arc::<Activity>::default();
        let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
        threads.push(Arc::downgrade(&activity));
        ThreadState { current: Cell::new(None), activity }
    };
}

/// The function that this thread runs.
pub(crate) fn current() -> Option<Tasks> {
    let read = |thread: &ThreadState| {
        let current = thread.current.take();
        thread.current.set(current.clone());
        current
    };
    THREAD.try_with(read).ok().flatten()
}

/// A function runs on this thread until this is dropped.
pub(crate) struct Entered<'a> {
    tasks: &'a mut Option<Tasks>,
    before: (Option<Tasks>, usize),
}

impl<'a> Entered<'a> {
    /// Moves `tasks` to the thread, and back when it is dropped.
    pub fn enter(tasks: &'a mut Option<Tasks>) -> Self {
        let own = tasks.take();
        let index = own.as_ref().map_or(0, Tasks::index);
        let enter =
            |thread: &ThreadState| (thread.current.replace(own), thread.activity.set(index));
        // Without thread-local data the thread is ending, and runs no function.
        let before = THREAD.try_with(enter).unwrap_or_default();
        Entered { tasks, before }
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let (current, function) = std::mem::take(&mut self.before);
        let leave = |thread: &ThreadState| {
            thread.activity.set(function);
            thread.current.replace(current)
        };
        *self.tasks = THREAD.try_with(leave).ok().flatten();
    }
}

/// Panics if a panic of the current function is due.
#[cfg(debug_assertions)]
pub(crate) fn fault_point() {
    if let Some(tasks) = current() {
        tasks.faults().point();
    }
}
