//! The error of real-time properties.
use std::io;
use std::path::PathBuf;

/// Why a requested property is not in force.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RealtimeError {
    /// The threads of the process could not be listed.
    #[error("the threads in /proc/self/task cannot be listed: {0}")]
    Threads(#[source] io::Error),
    /// The scheduling policy could not be set.
    #[error("SCHED_FIFO cannot be set: {0}; run as root, or grant CAP_SYS_NICE")]
    SetScheduling(#[source] io::Error),
    /// Threads have another scheduling policy than requested.
    #[error("requested SCHED_FIFO with priority 1, got {0}")]
    OtherScheduling(String),
    /// The memory could not be locked.
    #[error("memory cannot be locked: {0}; run as root, or raise LimitMEMLOCK")]
    LockMemory(#[source] io::Error),
    /// The memory is not locked, although the kernel reported no error.
    #[error("memory is not locked, although requested")]
    MemoryNotLocked,
    /// The CPU frequency governor could not be set.
    #[error("{}: {error}; run as root", path.display())]
    SetGovernor {
        /// The file of a CPU's governor.
        path: PathBuf,
        /// The system's error.
        #[source]
        error: io::Error,
    },
    /// A CPU has another governor than requested.
    #[error("requested the governor {wanted}, got {got}")]
    OtherGovernor {
        /// The requested governor.
        wanted: &'static str,
        /// The governors in force.
        got: String,
    },
}
