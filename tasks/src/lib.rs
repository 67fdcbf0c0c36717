//! The tasks of the network functions (NFs) of a process.
//!
//! Several NFs share one async runtime, and call each other within one task. This crate keeps them
//! apart, so that one NF can be ended and started again while the others keep serving:
//!
//! | module | idea |
//! | --- | --- |
//! | `tasks` | [`Tasks`]: all tasks and request handlers of one life of an NF, which end together |
//! | `member` | a spawned task: its panic is counted, and tasks that it spawns belong to the same NF |
//! | `handler` | a request handler, which runs in the task of its caller |
//! | `current_function`, `names` | which NF the current thread runs |
//! | `watchdog` | detects an NF that blocks its thread |
//! | `connections` | the tasks of a listener's connections, within a limit |
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let tasks = martlet_tasks::Tasks::new("amf");
//! tasks.spawn_essential("main loop", async {
//!     // A task of one UE: its panic ends it alone, and is counted.
//!     martlet_tasks::spawn(std::future::pending::<()>());
//!     panic!("a defect");
//! });
//! assert_eq!(tasks.failed().await, "main loop");
//! tasks.end();
//! tasks.ended().await;
//! assert!(tasks.is_empty());
//! # });
//! ```
//!
//! # Panics
//!
//! A panic of a task or handler ends only that task or handler. It is counted in
//! `martlet_function_panics_total`. A panic of an essential task is also reported by
//! [`Tasks::failed`].
#![forbid(unsafe_code)]

pub mod connections;
mod current_function;
mod handler;
mod member;
mod names;
mod tasks;
#[cfg(test)]
mod tests;
pub mod watchdog;

pub use handler::HandlerEnd;
pub use member::{spawn, spawn_essential};
#[cfg(debug_assertions)]
pub use tasks::Fault;
pub use tasks::Tasks;
