//! Errors of datapaths. Each text says what failed, why, and what to do.

/// Why a datapath cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// A network namespace cannot be opened or entered.
    #[error("{0}")]
    Namespace(String),
    /// An interface, a route or a socket of N3 or N6 cannot be set up.
    #[error("{0}")]
    Interface(String),
    /// The kernel's address translation cannot be set up.
    #[error("{0}")]
    Translation(String),
    /// The XDP programs cannot be loaded or attached, or their tables are too small.
    #[error("{0}")]
    Programs(String),
    /// A thread of the datapath cannot be started.
    #[error("the threads of the datapath cannot be started: {0}; raise the limit of processes")]
    Threads(String),
    /// The switch or its controller cannot be started.
    #[error("{0}")]
    Switch(String),
}

/// Why an operator's command to a datapath fails.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// The datapath has no such command.
    #[error("the datapath {datapath} does not support {command}: set upf.datapath to xdp")]
    Unsupported {
        /// Name of the datapath.
        datapath: &'static str,
        /// The command.
        command: &'static str,
    },
    /// The command's parameters do not parse.
    #[error("invalid parameters {0:?}: write SNAP/PACKETS/BYTES/SECONDS, each above 0")]
    Parameters(String),
    /// Captures need a directory, since they contain subscribers' traffic.
    #[error("captures need a directory: set upf.telemetry.captures")]
    NoDirectory,
    /// A capture is active.
    #[error("a capture is active: end it first (`martlet upf capture --stop`)")]
    CaptureActive,
    /// No capture was started.
    #[error("no capture was started: start one with `martlet upf capture`")]
    NoCapture,
    /// The file or the programs failed.
    #[error("{0}")]
    Failed(String),
}

/// Why a session change was rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DatapathError {
    /// A table is full.
    #[error("the datapath has no room: {0}")]
    NoResources(String),
    /// A rule that the datapath does not support, or that conflicts with another session's.
    #[error("the datapath rejects PDR {pdr}: {why}")]
    Pdr {
        /// PDR ID.
        pdr: u16,
        /// The reason.
        why: String,
    },
    /// The datapath's device or driver failed.
    #[error("the datapath failed: {0}")]
    Failed(String),
}
