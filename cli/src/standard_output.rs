//! The end of standard output: `martlet subscriber list | head` ends as other programs do.
#![allow(unsafe_code)]
use nix::sys::signal::{SigHandler, Signal, signal};

/// Lets a write to a closed pipe end the process, instead of an unhandled error. Not for processes
/// that serve others: they write to sockets, whose peers may disconnect.
pub fn end_with_reader() {
    // SAFETY: no handler function is installed, and no other thread has been started.
    let _ = unsafe { signal(Signal::SIGPIPE, SigHandler::SigDfl) };
}
