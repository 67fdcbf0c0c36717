//! Errors of the DPDK engine, and of the switch process.
use martlet_p4c_swx::CompileError;
use martlet_switch_control::BatchError;
use martlet_switch_control::client::ClientError;
use martlet_switch_control::rules::RuleError;
use martlet_switch_xdp::XdpError;
use std::path::{Path, PathBuf};

/// Errors of a switch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SwitchError {
    /// A call to DPDK failed.
    #[error("{what}: {}", std::io::Error::from_raw_os_error(*errno))]
    Dpdk {
        /// The operation.
        what: String,
        /// The error number.
        errno: i32,
    },
    /// A change did not fit into its table; nothing of its batch was written.
    #[error("change {index} does not fit into its table ({}): nothing of the batch was written",
        std::io::Error::from_raw_os_error(*errno))]
    Refused {
        /// Index of the change, from 0.
        index: usize,
        /// The cause.
        errno: i32,
    },
    /// Unknown table, action, counter or meter.
    #[error("unknown {0}")]
    Unknown(String),
    /// An interface or file that cannot be used as a port.
    #[error("{0}")]
    Port(String),
}

impl SwitchError {
    /// Whether a packet found no space.
    pub(crate) fn is_full(&self) -> bool {
        matches!(self, SwitchError::Dpdk { errno: libc::ENOBUFS, .. })
    }
}

/// Converts the status of a C function.
pub(crate) fn checked(status: i32, what: impl FnOnce() -> String) -> Result<(), SwitchError> {
    if status < 0 { Err(SwitchError::Dpdk { what: what(), errno: -status }) } else { Ok(()) }
}

/// Why a port's binding cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BindingError {
    /// An unknown prefix.
    #[error("{0:?} is not a kind of port: use xdp, packet or pcap")]
    Kind(String),
    /// Neither an input nor an output file.
    #[error("a port on capture files needs at least one of them: pcap:IN,OUT or pcap:,OUT")]
    NoFile,
    /// An empty interface name.
    #[error("the interface name is missing")]
    NoName,
    /// An interface name above the limit of IFNAMSIZ.
    #[error("{0:?} is too long for an interface name: at most 15 bytes")]
    LongName(String),
}

/// Why a switch process or a benchmark ended.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The DPDK engine failed.
    #[error(transparent)]
    Switch(#[from] SwitchError),
    /// The XDP engine failed.
    #[error(transparent)]
    Xdp(#[from] XdpError),
    /// The P4 program does not compile.
    #[error("upf_pna.p4:{0}")]
    Program(#[from] CompileError),
    /// The system rejected an operation.
    #[error("cannot {what}: {cause}")]
    System {
        /// The operation.
        what: String,
        /// The cause.
        cause: std::io::Error,
    },
    /// A file cannot be used.
    #[error("{}: {cause}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        cause: String,
    },
    /// A rule of the file of initial rules is wrong.
    #[error("{}:{line}:{}: {}", path.display(), error.column, error.message)]
    Rule {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The error.
        error: RuleError,
    },
    /// The stored rules do not fit.
    #[error("cannot restore the stored rules ({0}): delete them to start without rules")]
    Restore(BatchError),
    /// Rules do not fit.
    #[error(transparent)]
    Write(#[from] BatchError),
    /// The P4Runtime server failed.
    #[error("P4Runtime: {0}")]
    Server(#[from] tonic::transport::Error),
    /// The P4Runtime client of a benchmark failed.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The engine does not support a port.
    #[error("{0}")]
    Unsupported(String),
    /// A benchmark has no valid result.
    #[error("the result is invalid: {0}")]
    Invalid(String),
    /// The switch process ended at its start.
    #[error("the switch process ended at its start ({0}): see its log for the reason")]
    Ended(std::process::ExitStatus),
}

impl ProcessError {
    /// Describes a failed operation of the system.
    pub fn system<E: Into<std::io::Error>>(
        what: impl Into<String>,
    ) -> impl FnOnce(E) -> ProcessError {
        let what = what.into();
        move |cause| ProcessError::System { what, cause: cause.into() }
    }

    /// Describes an unusable file.
    pub(crate) fn file(path: &Path, cause: impl std::fmt::Display) -> ProcessError {
        ProcessError::File { path: path.into(), cause: cause.to_string() }
    }
}
