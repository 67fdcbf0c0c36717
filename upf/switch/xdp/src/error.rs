//! What can go wrong.
use std::io;

/// Errors of the switch.
#[derive(Debug, thiserror::Error)]
pub enum XdpError {
    /// The kernel does not load the programs.
    #[error(
        "the kernel does not load the switch's programs (they need Linux 6.1 or newer, and root): \
         {0}"
    )]
    Load(#[from] libbpf_rs::Error),
    /// A map that the programs share.
    #[error("the kernel's table {0}: {1}")]
    Table(String, io::Error),
    /// An interface that cannot become a port.
    #[error("{0}: {1}")]
    Port(String, String),
}
