//! What can go wrong.
use std::io;

/// Why the switch did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum XdpError {
    /// The kernel does not take the programs.
    #[error("the kernel does not take the switch's programs (Linux 6.1 or newer, as root): {0}")]
    Load(#[from] libbpf_rs::Error),
    /// Memory that programs share.
    #[error("the kernel's table {0}: {1}")]
    Table(String, io::Error),
    /// An interface that cannot be a port.
    #[error("{0}: {1}")]
    Port(String, String),
}
