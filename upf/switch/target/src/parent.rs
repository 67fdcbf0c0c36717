//! A process that ends with its parent.
//!
//! Its standard input is a pipe that only the parent holds open: at the end of the pipe, it ends.
//! The kernel's parent death signal is set as well. The signal refers to the thread that started
//! the process, and is lost if that thread ended before it was set. The pipe is silent if another
//! process inherited it.
use nix::sys::prctl;
use nix::sys::signal::{Signal, raise};
use std::io::Read;
use std::process::ExitStatus;
use std::time::Duration;

/// Time limit for a graceful end.
pub const TIMEOUT: Duration = Duration::from_secs(1);

/// Sends this process SIGTERM when its parent ends, and ends it after [`TIMEOUT`].
pub fn end_with_parent() {
    let parent = nix::unistd::getppid();
    let _ = prctl::set_pdeathsig(Signal::SIGTERM);
    let watch = move || {
        let mut nothing = [0; 64];
        // Input from the parent is ignored.
        while !matches!(std::io::stdin().read(&mut nothing), Ok(0) | Err(_)) {}
        tracing::info!(%parent, "parent process ended: switch ends");
        let _ = raise_and_end();
    };
    if let Err(error) = std::thread::Builder::new().name("parent".into()).spawn(watch) {
        tracing::warn!(%error, "cannot monitor the parent process: the switch may outlive it");
    }
}

fn raise_and_end() -> nix::Result<()> {
    end_within(TIMEOUT);
    raise(Signal::SIGTERM)
}

/// Ends the process after a time limit in any state.
pub fn end_within(time: Duration) {
    let end = move || {
        std::thread::sleep(time);
        // SAFETY: `_exit` accesses no memory. Nothing is left to write: rules and counters are
        // written as they change.
        unsafe { libc::_exit(0) }
    };
    let _ = std::thread::Builder::new().name("end".into()).spawn(end);
}

/// Whether a process ended because of a signal to terminate.
pub fn was_terminated(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    status.success() || status.signal() == Some(libc::SIGTERM)
}
