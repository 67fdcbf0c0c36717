//! Errors of the XDP engine.
use std::io;

/// Errors of the switch.
#[derive(Debug, thiserror::Error)]
pub enum XdpError {
    /// The kernel rejected the programs.
    #[error(
        "the kernel rejects the switch's programs (they need Linux 6.1 or later, and root): \
         {0}"
    )]
    Load(#[from] libbpf_rs::Error),
    /// A map cannot be created or mapped.
    #[error("the BPF map {0}: {1}")]
    Table(String, io::Error),
    /// An interface cannot become a port.
    #[error("{0}: {1}")]
    Port(String, String),
}
