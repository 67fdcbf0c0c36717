//! Lists of wakers of which each waiter appears once.
use std::task::{Context, Waker};

/// Adds the context's waker unless it is in the list already.
pub(crate) fn register(wakers: &mut Vec<Waker>, context: &Context<'_>) {
    if !wakers.iter().any(|waker| waker.will_wake(context.waker())) {
        wakers.push(context.waker().clone());
    }
}

/// Wakes and removes all wakers.
pub(crate) fn wake_all(wakers: &mut Vec<Waker>) {
    wakers.drain(..).for_each(Waker::wake);
}
