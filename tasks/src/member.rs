//! A spawned task of a function.
use crate::Tasks;
use crate::here::Entered;
use crate::tasks::Slot;
use pin_project_lite::pin_project;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

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
            crate::tasks::fault_point();
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
