//! All tasks and request handlers of one life of a function.
use crate::names;
use prometheus::{IntCounter, IntCounterVec, register_int_counter_vec};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
#[cfg(debug_assertions)]
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;

static PANICS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Panics of a function's tasks and request handlers";
    register_int_counter_vec!("martlet_function_panics_total", help, &["nf"])
        .expect("registered once")
});

/// The tasks and request handlers of one life of a function. Clones share them.
#[derive(Clone)]
pub struct Tasks(Arc<Inner>);

struct Inner {
    name: &'static str,
    index: usize,
    panics: IntCounter,
    members: Mutex<Members>,
    is_ending: AtomicBool,
    /// The last member has ended.
    emptied: Notify,
    failure: watch::Sender<Option<&'static str>>,
    #[cfg(debug_assertions)]
    faults: fault::Faults,
}

/// What ends a member.
enum Entry {
    /// Free; the next free entry follows.
    Free(Option<u32>),
    /// A task that is being spawned.
    New,
    /// A spawned task.
    Task(AbortHandle),
    /// A request handler that waits: woken, it notices the end.
    Handler(Waker),
}

#[derive(Default)]
struct Members {
    /// With the number of the member; 0 if it is free.
    entries: Vec<(u32, Entry)>,
    free: Option<u32>,
    len: usize,
    last: u32,
}

/// The entry of a member. Its number distinguishes it from a later member with the same entry.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    index: u32,
    number: u32,
}

impl Members {
    fn of(&mut self, slot: Slot) -> Option<&mut (u32, Entry)> {
        let entry = self.entries.get_mut(slot.index as usize);
        entry.filter(|(number, _)| *number == slot.number)
    }

    fn add(&mut self, entry: Entry) -> Slot {
        self.last = self.last.wrapping_add(1).max(1);
        self.len += 1;
        let number = self.last;
        let index = match self.free {
            Some(index) => {
                let before = std::mem::replace(&mut self.entries[index as usize], (number, entry));
                if let (_, Entry::Free(next)) = before {
                    self.free = next;
                }
                index
            }
            None => {
                self.entries.push((number, entry));
                self.entries.len() as u32 - 1
            }
        };
        Slot { index, number }
    }

    fn set(&mut self, slot: Slot, entry: Entry) {
        if let Some((_, current)) = self.of(slot) {
            *current = entry;
        }
    }

    fn remove(&mut self, slot: Slot) {
        let free = self.free;
        if let Some(entry) = self.of(slot) {
            *entry = (0, Entry::Free(free));
            self.free = Some(slot.index);
            self.len -= 1;
        }
        if self.len == 0 {
            // The memory of a burst of tasks is given back.
            self.entries = Vec::new();
            self.free = None;
        }
    }
}

impl Tasks {
    /// No tasks of the function with this name.
    pub fn new(name: &'static str) -> Tasks {
        let panics = PANICS.with_label_values(&[name]);
        Tasks(Arc::new(Inner {
            name,
            index: names::index_of(name),
            panics,
            members: Mutex::default(),
            is_ending: AtomicBool::new(false),
            emptied: Notify::new(),
            failure: watch::Sender::new(None),
            #[cfg(debug_assertions)]
            faults: fault::Faults::default(),
        }))
    }

    /// The name of the function.
    pub fn name(&self) -> &'static str {
        self.0.name
    }

    pub(crate) fn index(&self) -> usize {
        self.0.index
    }

    fn members(&self) -> MutexGuard<'_, Members> {
        self.0.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends all tasks and handlers: they are dropped where they wait. Later ones end at once.
    pub fn end(&self) {
        self.0.is_ending.store(true, Ordering::SeqCst);
        let members = self.members();
        let (mut tasks, mut handlers) = (Vec::new(), Vec::new());
        for (_, entry) in &members.entries {
            match entry {
                Entry::Task(task) => tasks.push(task.clone()),
                Entry::Handler(waker) => handlers.push(waker.clone()),
                Entry::Free(_) | Entry::New => {}
            }
        }
        // Without the lock: an idle task may be dropped here.
        drop(members);
        tasks.iter().for_each(AbortHandle::abort);
        handlers.iter().for_each(Waker::wake_by_ref);
    }

    /// Whether [`Tasks::end`] was called.
    pub fn is_ending(&self) -> bool {
        self.0.is_ending.load(Ordering::Relaxed)
    }

    /// The number of tasks and of waiting handlers.
    pub fn len(&self) -> usize {
        self.members().len
    }

    /// The number of panics of all lives of the function.
    pub fn panics(&self) -> u64 {
        self.0.panics.get()
    }

    /// Whether there is no task and no waiting handler.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits until there is no task and no waiting handler, and all that they had is dropped.
    pub async fn ended(&self) {
        loop {
            let emptied = self.0.emptied.notified();
            if self.is_empty() {
                return;
            }
            emptied.await;
        }
    }

    /// Waits until an essential task panics. Returns which one.
    pub async fn failed(&self) -> &'static str {
        let mut failure = self.0.failure.subscribe();
        match failure.wait_for(Option::is_some).await.map(|failure| *failure) {
            Ok(Some(failure)) => failure,
            // The sender lives as long as these tasks.
            Ok(None) | Err(_) => std::future::pending().await,
        }
    }

    /// Counts a panic.
    pub(crate) fn panicked(&self, essential: Option<&'static str>) {
        self.0.panics.inc();
        let nf = self.0.name;
        match essential {
            None => tracing::error!(nf, "task panicked"),
            Some(task) => {
                tracing::error!(nf, task, "essential task panicked");
                self.0.failure.send_if_modified(|failure| {
                    let is_first = failure.is_none();
                    failure.get_or_insert(task);
                    is_first
                });
            }
        }
    }

    /// Reserves the entry of a task that is being spawned.
    pub(crate) fn reserve(&self) -> Slot {
        self.members().add(Entry::New)
    }

    /// Sets what ends a spawned task. It may have ended already.
    pub(crate) fn set(&self, slot: Slot, task: AbortHandle) {
        self.members().set(slot, Entry::Task(task));
    }

    pub(crate) fn remove(&self, slot: Slot) {
        let is_empty = {
            let mut members = self.members();
            members.remove(slot);
            members.len == 0
        };
        if is_empty {
            self.0.emptied.notify_waiters();
        }
    }

    /// Keeps the waker of a waiting handler.
    pub(crate) fn wait(&self, slot: &mut Option<Slot>, waker: &Waker) {
        let mut members = self.members();
        match slot {
            Some(slot) => {
                let known = match members.of(*slot) {
                    Some((_, Entry::Handler(known))) => known.will_wake(waker),
                    _ => false,
                };
                if !known {
                    members.set(*slot, Entry::Handler(waker.clone()));
                }
            }
            None => *slot = Some(members.add(Entry::Handler(waker.clone()))),
        }
    }
}

/// A panic to inject. Builds without debug assertions have none.
#[cfg(debug_assertions)]
#[derive(Debug, Clone, Copy)]
pub enum Fault {
    /// In an essential task: the n-th of them, modulo their number.
    Essential(usize),
    /// After this many further polls of tasks and handlers.
    AfterPolls(u32),
    /// None: the function blocks its thread for this long.
    Block(Duration),
}

#[cfg(debug_assertions)]
impl Tasks {
    pub(crate) fn faults(&self) -> &fault::Faults {
        &self.0.faults
    }
}

#[cfg(debug_assertions)]
pub(crate) mod fault {
    use std::future::Future;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::{Arc, Mutex, PoisonError, Weak};
    use tokio::sync::Notify;

    /// The injected panics of a function.
    #[derive(Default)]
    pub struct Faults {
        /// Polls until a panic; 0 for none.
        pub polls: AtomicU32,
        /// Those of essential tasks that have not ended.
        essential: Mutex<Vec<Weak<Notify>>>,
    }

    impl Faults {
        /// Panics if it is due.
        pub fn point(&self) {
            let left = |polls: u32| polls.checked_sub(1);
            let before = self.polls.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left);
            assert!(before != Ok(1), "injected panic");
        }

        /// Lets the n-th essential task panic.
        pub fn wake(&self, n: usize) {
            let all = self.essential.lock().unwrap_or_else(PoisonError::into_inner);
            let alive: Vec<_> = all.iter().filter_map(Weak::upgrade).collect();
            if !alive.is_empty() {
                alive[n % alive.len()].notify_one();
            }
        }

        /// The same task, with a point of failure.
        pub fn essential<F>(&self, work: F) -> impl Future<Output = F::Output> + use<F>
        where
            F: Future,
        {
            let fault = Arc::new(Notify::new());
            let mut all = self.essential.lock().unwrap_or_else(PoisonError::into_inner);
            all.push(Arc::downgrade(&fault));
            drop(all);
            async move {
                tokio::select! {
                    biased;
                    () = fault.notified() => panic!("injected panic of an essential task"),
                    output = work => output,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_used_again() {
        let mut members = Members::default();
        let slots: Vec<_> = (0..3).map(|_| members.add(Entry::New)).collect();
        members.remove(slots[1]);
        // A second removal is of no effect, even when the entry is another member's.
        let again = members.add(Entry::New);
        assert_eq!(again.index, slots[1].index);
        members.remove(slots[1]);
        assert_eq!((members.len, members.entries.len()), (3, 3));
        for slot in [slots[0], slots[2], again] {
            members.remove(slot);
        }
        assert_eq!((members.len, members.entries.len()), (0, 0));
    }
}
