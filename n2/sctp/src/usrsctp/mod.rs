//! The stack in user space: `usrsctp` on raw IP protocol 132, driven by the tasks that use it.
mod bundle;
mod core;
mod endpoint;
mod gate;
mod port;
mod raw;
mod reader;
mod route;
mod socket;
mod stack;
mod tables;
mod ticker;

pub(crate) use socket::{ListeningSocket, Socket};
pub(crate) use stack::Stack;
