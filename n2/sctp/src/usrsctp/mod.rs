//! The stack in user space: `usrsctp` on raw IP protocol 132, driven by the tasks that use it.
mod association;
mod endpoint;
pub(crate) mod gate;
mod listener;
mod port;
mod raw;
mod socket;
mod stack;
mod tables;
mod ticker;

pub(crate) use association::Association;
pub(crate) use listener::Listener;
pub(crate) use stack::Stack;
