//! The user-space stack: `usrsctp` on raw IP protocol 132, run by the tasks that use it.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `stack`, `socket`, `endpoint` | listen, connect and the sockets that associations use |
//! | `library`, `library_socket` | the lock around `usrsctp`, and its sockets |
//! | `addresses` | maps addresses and ports to the ports that `usrsctp` knows |
//! | `raw_socket`, `bundling`, `receiver` | packets to and from the network |
//! | `timers` | the task that runs the timers of `usrsctp` |
//! | `former` | ends associations of a process that was killed |
//! | `port`, `route` | port reservation and route lookup |
mod addresses;
mod bundling;
mod endpoint;
mod former;
mod library;
mod library_socket;
mod missing_checksum;
mod port;
mod raw_socket;
mod receiver;
mod route;
mod socket;
mod stack;
mod timers;

pub(crate) use former::abort_former;
pub(crate) use missing_checksum::is_known as omits_checksums;
pub(crate) use socket::{ListeningSocket, Socket};
pub(crate) use stack::Stack;
