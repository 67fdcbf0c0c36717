//! The kernel's SCTP.
mod socket;
mod stack;

pub(crate) use socket::{ListeningSocket, Socket};
pub(crate) use stack::Stack;
