//! The end of standard output: `martlet subscriber list | head` ends as other programs do, and a
//! full disk is an error.
#![allow(unsafe_code)]
use nix::sys::signal::{SigHandler, Signal, signal};
use std::io::Write;

/// Lets a write to a closed pipe end the process, instead of an unhandled error. Not for processes
/// that serve others: they write to sockets, whose peers may disconnect.
pub fn end_with_reader() {
    // SAFETY: no handler function is installed, and no other thread has been started.
    let _ = unsafe { signal(Signal::SIGPIPE, SigHandler::SigDfl) };
}

/// How the standard library's panic begins when `println!` fails.
const FAILED: &str = "failed printing to stdout: ";

/// Lets a write that fails, as to a full disk, end the process with an error of one line, instead
/// of a panic with a backtrace. The error begins with the name of the program. Not for processes
/// that serve others.
pub fn report_failed_writes(program: &'static str) {
    let other = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let message = panic.payload().downcast_ref::<String>();
        let Some(reason) = message.and_then(|text| text.strip_prefix(FAILED)) else {
            return other(panic);
        };
        let _ =
            writeln!(std::io::stderr(), "{program}: standard output cannot be written: {reason}");
        std::process::exit(1);
    }));
}
