//! Why a right could not be taken away.
use caps::errors::CapsError;
use nix::errno::Errno;

/// A step that failed. The process keeps running, with the right that it could not give up.
#[derive(Debug, thiserror::Error)]
pub enum ReductionError {
    /// A resource limit.
    #[error("{resource}: {error}")]
    Limit {
        /// Its name in setrlimit(2).
        resource: &'static str,
        /// The kernel's answer.
        error: std::io::Error,
    },
    /// A system call.
    #[error("{call}: {error}")]
    Call {
        /// Its name.
        call: &'static str,
        /// The kernel's answer.
        error: Errno,
    },
    /// Capabilities.
    #[error(transparent)]
    Capabilities(#[from] CapsError),
    /// There is no user to become.
    #[error("there is no user martlet: add one, or set security.user")]
    NoUser,
    /// The signal by which threads reduce their capabilities has no handler.
    #[error("no signal handler: {0}")]
    SignalHandler(std::io::Error),
    /// The threads of the process cannot be listed.
    #[error("/proc/self/task: {0}")]
    Threads(std::io::Error),
    /// Threads did not handle the signal in time.
    #[error("{0} threads did not give them up")]
    Timeout(usize),
}
