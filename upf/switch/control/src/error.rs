//! Why a write was refused.

/// P4Runtime's error codes (gRPC's).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Code {
    /// Aborted because of another update of its batch.
    Aborted = 10,
    /// A value that is none.
    InvalidArgument = 3,
    /// No such thing.
    NotFound = 5,
    /// Such a thing is there.
    AlreadyExists = 6,
    /// Not allowed.
    PermissionDenied = 7,
    /// A table is full.
    ResourceExhausted = 8,
    /// Not supported by this switch.
    Unimplemented = 12,
    /// The switch failed.
    Internal = 13,
}

/// Why an update was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct WriteError {
    /// Its kind.
    pub code: Code,
    /// What is wrong, and what is right.
    pub message: String,
}

/// An error.
pub(crate) fn refuse<T>(code: Code, message: impl Into<String>) -> Result<T, WriteError> {
    Err(WriteError { code, message: message.into() })
}

/// Why a batch was refused: the updates, and why. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("update {}: {}; nothing was written", .0.first().map_or(0, |e| e.0 + 1),
    .0.first().map_or("none", |e| &e.1.message))]
pub struct BatchError(pub Vec<(usize, WriteError)>);
