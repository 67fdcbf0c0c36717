//! A process that does not outlive the one that started it, however that ends.
//!
//! Its standard input is a pipe that the other one holds open, and nobody else: at the pipe's end,
//! it ends. The kernel's own signal at a parent's death comes with the thread that started the
//! process, and not at all where that was dead before it was asked for; it is asked for too, for a
//! pipe says nothing once somebody has handed it on.
use nix::sys::prctl;
use nix::sys::signal::{Signal, raise};
use std::io::Read;
use std::process::ExitStatus;
use std::time::Duration;

/// For so long a process that has been told to end may take.
pub const PATIENCE: Duration = Duration::from_secs(1);

/// Has this process be told to end (SIGTERM) when the one that started it has ended, and end it is,
/// after [`PATIENCE`].
pub fn end_with_it() {
    let parent = nix::unistd::getppid();
    let _ = prctl::set_pdeathsig(Signal::SIGTERM);
    let watch = move || {
        let mut nothing = [0; 64];
        // A parent says nothing: what it does say is no end.
        while !matches!(std::io::stdin().read(&mut nothing), Ok(0) | Err(_)) {}
        tracing::info!(%parent, "who started this switch has ended, and so does it");
        let _ = raise_and_end();
    };
    if let Err(error) = std::thread::Builder::new().name("parent".into()).spawn(watch) {
        tracing::warn!(%error, "this switch may outlive who started it");
    }
}

fn raise_and_end() -> nix::Result<()> {
    end_within(PATIENCE);
    raise(Signal::SIGTERM)
}

/// Ends the process after a time, whatever it does then.
pub fn end_within(time: Duration) {
    let end = move || {
        std::thread::sleep(time);
        // Nothing is left that would have to be written: rules and counters are, as they change.
        // SAFETY: ends the process.
        unsafe { libc::_exit(0) }
    };
    let _ = std::thread::Builder::new().name("end".into()).spawn(end);
}

/// Whether a process ended because it was told to.
pub fn was_told_to(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    status.success() || status.signal() == Some(libc::SIGTERM)
}
