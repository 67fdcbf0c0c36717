//! Positioning over the user plane (TS 24.572): the listener for UEs' channels, and the task that
//! owns their connections.
mod connections;
mod listener;

pub(crate) use connections::{Command, Connections, Supi};
pub(crate) use listener::{Listener, transport};
