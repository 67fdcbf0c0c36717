//! The task that owns a UE: its NAS layer, its gNB's context of it, and its user plane.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `handle` | [`Ue`]: each procedure is one async call |
//! | `command` | what a caller can request of the task |
//! | `context` | [`UeContext`]: the state that the procedures work on |
//! | `connection`, `user_plane` | operations on that state |
//! | `task` | the task's loop, and how input is dispatched to procedures |
mod command;
mod commands;
mod connection;
pub(crate) mod context;
mod core_time;
mod handle;
mod measurements;
mod nas_events;
mod task;
mod user_plane;

pub(crate) use command::{Command, Reply};
pub use command::{UeEvent, UeStatus};
pub use handle::Ue;
