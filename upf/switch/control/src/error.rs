//! Errors of writes and of targets.

/// P4Runtime's error codes (gRPC's).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Code {
    /// Aborted because of another update of its batch.
    Aborted = 10,
    /// An invalid value.
    InvalidArgument = 3,
    /// The entity does not exist.
    NotFound = 5,
    /// The entity exists already.
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

/// Why an update was rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct WriteError {
    /// The canonical error code.
    pub code: Code,
    /// What is wrong, and what is valid.
    pub message: String,
}

/// Returns an error.
pub(crate) fn refuse<T>(code: Code, message: impl Into<String>) -> Result<T, WriteError> {
    Err(WriteError { code, message: message.into() })
}

/// Why a batch was rejected: the index of each wrong update, and its error. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("update {}: {}; nothing was written", .0.first().map_or(0, |e| e.0 + 1),
    .0.first().map_or("none", |e| &e.1.message))]
pub struct BatchError(pub Vec<(usize, WriteError)>);

/// Why entries do not fit into a table of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// No slot for another key.
    #[error("the table is full: delete entries first")]
    Full,
    /// More entries than the table's size.
    #[error("the table has at most {0} entries, with ranges expanded")]
    Entries(u32),
    /// Too many entries with one value in the key's first field.
    #[error(
        "{entries} entries, with ranges expanded, have {} in the key's first field, and this \
         engine supports {max}: use fewer ranges",
        .first.map_or("any value".into(), |value| value.to_string())
    )]
    List {
        /// The value; none: the field is masked.
        first: Option<u64>,
        /// Number of entries.
        entries: usize,
        /// Maximum number.
        max: usize,
    },
    /// A ternary operation on an exact table, or an entry without masks in a ternary one.
    #[error("the match kind of the entry is not that of the table")]
    MatchKind,
}

/// Why a target did not do what the control plane requested. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// A change of a batch does not fit.
    #[error("change {index} does not fit ({cause}): nothing of the batch was written")]
    Change {
        /// Index of the change, from 0.
        index: usize,
        /// The cause.
        cause: String,
    },
    /// The new content of a ternary table does not fit.
    #[error("{0}")]
    Table(#[from] TableError),
    /// The index exceeds the counter array.
    #[error("counter {0} does not exist")]
    NoCounter(u32),
    /// The engine failed.
    #[error("{what} failed: {cause}")]
    Engine {
        /// The operation.
        what: String,
        /// The cause.
        cause: String,
    },
}

impl TargetError {
    /// A failed operation of the engine.
    pub fn engine(what: impl Into<String>, cause: impl std::fmt::Display) -> TargetError {
        TargetError::Engine { what: what.into(), cause: cause.to_string() }
    }
}

impl From<TargetError> for WriteError {
    fn from(error: TargetError) -> WriteError {
        let code = match error {
            TargetError::Change { .. } | TargetError::Table(_) => Code::ResourceExhausted,
            TargetError::NoCounter(_) => Code::InvalidArgument,
            TargetError::Engine { .. } => Code::Internal,
        };
        WriteError { code, message: error.to_string() }
    }
}
