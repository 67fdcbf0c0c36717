//! A spawned task of a function.
use crate::current_function::{self, Entered};
#[cfg(debug_assertions)]
use crate::tasks::Fault;
use crate::tasks::{Slot, Tasks};
use pin_project_lite::pin_project;
use std::future::Future;
use std::pin::Pin;
#[cfg(debug_assertions)]
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use tokio::task::JoinHandle;

/// The work of a task. Boxed, since the runtime compiles what belongs to a task for each type of
/// future that it spawns.
type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Spawns a task of the function that the current task belongs to. Its panic ends it alone, and is
/// counted. Outside a function it is a plain task.
pub fn spawn<F>(work: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    start_here(None, Box::pin(work))
}

/// [`spawn`] for a task without which the function does not work: its panic is a failure of the
/// function.
pub fn spawn_essential<F>(what: &'static str, work: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    start_here(Some(what), Box::pin(work))
}

fn start_here<T: Send + 'static>(essential: Option<&'static str>, work: Work<T>) -> JoinHandle<T> {
    match current_function::current() {
        Some(tasks) => tasks.start(essential, work),
        None => tokio::spawn(work),
    }
}

impl Tasks {
    /// Spawns a task. Its panic ends it alone, and is counted.
    pub fn spawn<F>(&self, work: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.start(None, Box::pin(work))
    }

    /// Spawns a task without which the function does not work: its panic is a failure of the
    /// function.
    pub fn spawn_essential<F>(&self, what: &'static str, work: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        self.start(Some(what), Box::pin(work))
    }

    fn start<T: Send + 'static>(
        &self,
        essential: Option<&'static str>,
        work: Work<T>,
    ) -> JoinHandle<T> {
        #[cfg(debug_assertions)]
        let work: Work<T> = match essential {
            Some(_) => Box::pin(self.faults().essential(work)),
            None => work,
        };
        let slot = self.reserve();
        let handle = tokio::spawn(Member::new(self.clone(), slot, essential, work));
        // Another thread may have completed it already; its entry then belongs to another task.
        self.set(slot, handle.abort_handle());
        if self.is_ending() {
            handle.abort();
        }
        handle
    }
}

#[cfg(debug_assertions)]
impl Tasks {
    /// Injects a panic.
    pub fn inject(&self, fault: Fault) {
        match fault {
            Fault::Essential(n) => self.faults().wake(n),
            Fault::AfterPolls(polls) => {
                self.faults().polls.store(polls.max(1), Ordering::Relaxed);
            }
            Fault::Block(duration) => {
                self.spawn(async move { std::thread::sleep(duration) });
            }
        }
    }
}

pin_project! {
    /// Runs a future as a task of a function.
    pub(crate) struct Member<F> {
        tasks: Option<Tasks>,
        slot: Slot,
        essential: Option<&'static str>,
        // None once it is dropped.
        #[pin]
        work: Option<F>,
    }

    impl<F> PinnedDrop for Member<F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            {
                // What it drops may spawn tasks of the function.
                let _entered = Entered::enter(this.tasks);
                this.work.set(None);
            }
            if let Some(tasks) = this.tasks {
                tasks.remove(*this.slot);
            }
        }
    }
}

impl<F> Member<F> {
    pub fn new(tasks: Tasks, slot: Slot, essential: Option<&'static str>, work: F) -> Member<F> {
        Member { tasks: Some(tasks), slot, essential, work: Some(work) }
    }
}

/// Counts a panic that unwinds through it.
struct Unwinding<'a> {
    tasks: &'a mut Option<Tasks>,
    essential: Option<&'static str>,
    is_over: bool,
}

impl<F: Future> Future for Member<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let Some(work) = this.work.as_pin_mut() else { return Poll::Pending };
        let essential = *this.essential;
        let mut unwinding = Unwinding { tasks: this.tasks, essential, is_over: false };
        let polled = {
            let _entered = Entered::enter(unwinding.tasks);
            let polled = work.poll(context);
            #[cfg(debug_assertions)]
            crate::current_function::fault_point();
            polled
        };
        unwinding.is_over = true;
        polled
    }
}

impl Drop for Unwinding<'_> {
    fn drop(&mut self) {
        if let (false, Some(tasks)) = (self.is_over, &self.tasks) {
            tasks.panicked(self.essential);
        }
    }
}
