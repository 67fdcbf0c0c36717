//! The process of a function, as its parent sees it.
#![allow(unsafe_code)]
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A child of this process. It is killed when this value is dropped before its end.
#[derive(Debug)]
pub struct Process {
    pid: Pid,
    /// Readable when it has ended (pidfd_open(2)).
    end: AsyncFd<OwnedFd>,
    status: Option<ExitStatus>,
}

impl Process {
    /// A child, forked or executed. Must be called within a runtime.
    ///
    /// # Errors
    /// The kernel has no pidfd.
    pub fn of(pid: Pid) -> io::Result<Process> {
        // SAFETY: the call takes numbers alone, and returns a descriptor of our own.
        let end = unsafe {
            let fd = Errno::result(libc::syscall(libc::SYS_pidfd_open, pid.as_raw(), 0))?;
            OwnedFd::from_raw_fd(fd as i32)
        };
        // SAFETY: the value owns the descriptor, and closes it after its registration has ended.
        let end = unsafe { AsyncFd::register_with_interest(end, Interest::READABLE)? };
        Ok(Process { pid, end, status: None })
    }

    /// The process ID.
    pub fn id(&self) -> u32 {
        self.pid.as_raw().unsigned_abs()
    }

    /// Sends a signal, unless the process has ended.
    pub fn signal(&self, signal: Signal) {
        if self.status.is_none() {
            let _ = kill(self.pid, signal);
        }
    }

    /// Waits until the process has ended. May be called again.
    ///
    /// # Errors
    /// This process is not its parent.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.status {
                return Ok(status);
            }
            let mut ready = self.end.readable().await?;
            self.status = match waitpid(self.pid, Some(WaitPidFlag::WNOHANG))? {
                WaitStatus::Exited(_, code) => Some(ExitStatus::from_raw(code << 8)),
                WaitStatus::Signaled(_, signal, dumped) => {
                    Some(ExitStatus::from_raw(signal as i32 | if dumped { 0x80 } else { 0 }))
                }
                _ => None,
            };
            ready.clear_ready();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::SIGKILL);
    }
}

/// Kills a child of this process for which there is no [`Process`], and waits for its end.
pub fn end(child: Pid) {
    if kill(child, Signal::SIGKILL).is_ok() {
        let _ = waitpid(child, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_that_is_ended_leaves_no_process() {
        let child = std::process::Command::new("sleep").arg("600").spawn();
        let child = child.map(|child| Pid::from_raw(child.id() as i32)).unwrap();
        end(child);
        assert_eq!(kill(child, None), Err(Errno::ESRCH));
    }
}
