//! A request handler of a function, which runs in the task of its caller.
use crate::current_function::Entered;
use crate::tasks::{Slot, Tasks};
use pin_project_lite::pin_project;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Why a request handler has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandlerEnd {
    /// It panicked.
    Panicked,
    /// The function ended.
    Ended,
}

impl Tasks {
    /// Runs a request handler in the task of its caller. A panic of the handler, or the end of the
    /// function, is an error for the caller.
    pub fn handle<F: Future>(
        &self,
        work: F,
    ) -> impl Future<Output = Result<F::Output, HandlerEnd>> + use<F> {
        Handler::new(self.clone(), work)
    }
}

pin_project! {
    /// Runs a future as a request handler of a function.
    pub(crate) struct Handler<F> {
        tasks: Option<Tasks>,
        // None until it has waited.
        slot: Option<Slot>,
        // None once it is dropped.
        #[pin]
        work: Option<F>,
    }

    impl<F> PinnedDrop for Handler<F> {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            drop_work(this.tasks, this.slot, this.work);
        }
    }
}

fn drop_work<F>(tasks: &mut Option<Tasks>, slot: &mut Option<Slot>, mut work: Pin<&mut Option<F>>) {
    if work.is_some() {
        let _entered = Entered::enter(tasks);
        work.set(None);
    }
    if let (Some(tasks), Some(slot)) = (tasks, slot.take()) {
        tasks.remove(slot);
    }
}

impl<F> Handler<F> {
    pub fn new(tasks: Tasks, work: F) -> Handler<F> {
        Handler { tasks: Some(tasks), slot: None, work: Some(work) }
    }
}

impl<F: Future> Future for Handler<F> {
    type Output = Result<F::Output, HandlerEnd>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if this.tasks.as_ref().is_some_and(Tasks::is_ending) {
            drop_work(this.tasks, this.slot, this.work);
            return Poll::Ready(Err(HandlerEnd::Ended));
        }
        let polled = {
            let _entered = Entered::enter(this.tasks);
            let poll = || {
                let polled = this.work.as_mut().as_pin_mut().map(|work| work.poll(context));
                #[cfg(debug_assertions)]
                crate::current_function::fault_point();
                polled
            };
            catch_unwind(AssertUnwindSafe(poll))
        };
        let outcome = match polled {
            Ok(Some(Poll::Ready(output))) => Ok(output),
            Ok(Some(Poll::Pending) | None) => {
                if let Some(tasks) = this.tasks {
                    tasks.wait(this.slot, context.waker());
                    // It may have ended between the two.
                    if tasks.is_ending() {
                        context.waker().wake_by_ref();
                    }
                }
                return Poll::Pending;
            }
            Err(_) => {
                if let Some(tasks) = this.tasks {
                    tasks.panicked(None);
                }
                Err(HandlerEnd::Panicked)
            }
        };
        drop_work(this.tasks, this.slot, this.work);
        Poll::Ready(outcome)
    }
}
