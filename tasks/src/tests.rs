//! Tests of all parts together.
use crate::{HandlerEnd, Tasks, current_function, spawn};
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime").block_on(work)
}

/// Reports when it is dropped.
struct Dropped(Arc<Mutex<u32>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        *self.0.lock().unwrap() += 1;
    }
}

#[test]
fn a_panic_ends_one_task_and_is_counted() {
    block_on(async {
        let tasks = Tasks::new("test-contained");
        let other = tasks.spawn(async {
            tokio::task::yield_now().await;
            7
        });
        let panicked = tasks.spawn(async { panic!("a defect") });
        assert!(panicked.await.unwrap_err().is_panic());
        assert_eq!(other.await.unwrap(), 7);
        assert_eq!(tasks.panics(), 1);
        let failed = tokio::time::timeout(Duration::from_millis(10), tasks.failed()).await;
        assert!(failed.is_err(), "the function has failed");
        assert!(tasks.is_empty());
    });
}

#[test]
fn tasks_of_tasks_and_of_handlers_end_with_the_function() {
    block_on(async {
        let (tasks, dropped) = (Tasks::new("test-end"), Arc::new(Mutex::new(0)));
        let guard = || Dropped(dropped.clone());
        let (first, second, third) = (guard(), guard(), guard());
        tasks.spawn(async move {
            let _first = first;
            spawn(async move {
                let _second = second;
                std::future::pending::<()>().await
            });
            std::future::pending::<()>().await
        });
        let served = tasks.handle(async move {
            spawn(async move {
                let _third = third;
                std::future::pending::<()>().await
            });
            std::future::pending::<()>().await
        });
        // The caller's task is none of the function.
        let caller = tokio::spawn(served);
        while tasks.len() < 4 {
            tokio::task::yield_now().await;
        }
        tasks.end();
        tasks.ended().await;
        assert_eq!(*dropped.lock().unwrap(), 3);
        assert_eq!(caller.await.unwrap(), Err(HandlerEnd::Ended));
        let late = tasks.spawn(std::future::pending::<()>());
        assert!(late.await.unwrap_err().is_cancelled());
        assert_eq!(tasks.handle(async { 1 }).await, Err(HandlerEnd::Ended));
    });
}

#[test]
fn a_handler_runs_as_its_own_function_and_its_panic_spares_the_caller() {
    block_on(async {
        let (caller, callee) = (Tasks::new("test-caller"), Tasks::new("test-callee"));
        let of_callee = callee.clone();
        let outcome = caller.spawn(async move {
            let own = || current_function::current().map(|tasks| tasks.name());
            assert_eq!(own(), Some("test-caller"));
            let name = of_callee.handle(async {
                tokio::task::yield_now().await;
                current_function::current().map(|tasks| tasks.name())
            });
            assert_eq!(name.await, Ok(Some("test-callee")));
            let panicked = of_callee.handle(async {
                tokio::task::yield_now().await;
                panic!("a defect")
            });
            assert_eq!(panicked.await, Err(HandlerEnd::Panicked));
            own()
        });
        assert_eq!(outcome.await.unwrap(), Some("test-caller"));
        assert_eq!((caller.panics(), callee.panics()), (0, 1));
        assert!(current_function::current().is_none() && callee.is_empty());
    });
}
