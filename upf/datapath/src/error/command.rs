//! Errors of an operator's commands.
use super::Cause;
use std::path::PathBuf;

/// Why an operator's command to a datapath fails.
#[derive(Debug, thiserror::Error)]
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
    /// The file of a capture cannot be written.
    #[error(
        "a capture cannot be written to {}: {source}; change upf.telemetry.captures",
        folder.display()
    )]
    CaptureFile {
        /// The configured directory.
        folder: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The programs of the datapath failed.
    #[error(transparent)]
    Programs(Cause),
}
