//! What can go wrong with a switch.

/// Why a switch did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SwitchError {
    /// DPDK refused.
    #[error("{what}: {}", std::io::Error::from_raw_os_error(*errno))]
    Dpdk {
        /// What was asked of it.
        what: String,
        /// Its answer.
        errno: i32,
    },
    /// A change of a batch that a table did not take; the whole batch was left out.
    #[error("change {index} does not fit into its table ({}): nothing of the batch was written",
        std::io::Error::from_raw_os_error(*errno))]
    Refused {
        /// Which, from 0.
        index: usize,
        /// Why.
        errno: i32,
    },
    /// Something that is not there.
    #[error("there is no {0}")]
    Unknown(String),
    /// An interface or a file that cannot be used.
    #[error("{0}")]
    Port(String),
}

impl SwitchError {
    /// Whether there is no room for a packet now.
    pub(crate) fn is_too_much(&self) -> bool {
        matches!(self, SwitchError::Dpdk { errno: libc::ENOBUFS, .. })
    }
}

/// The outcome of a function of the C part.
pub(crate) fn checked(status: i32, what: impl FnOnce() -> String) -> Result<(), SwitchError> {
    if status < 0 { Err(SwitchError::Dpdk { what: what(), errno: -status }) } else { Ok(()) }
}
