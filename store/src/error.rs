//! Errors of the database.
use crate::InvalidSubscriber;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file cannot be opened.
    #[error("database {path} cannot be opened: {reason}")]
    Open {
        /// The file.
        path: String,
        /// SQLite's error.
        reason: String,
    },
    /// A later version has written the database.
    #[error(
        "database has schema version {found}, and this program supports up to {supported}: use a \
         newer one"
    )]
    TooNew {
        /// Version of the database.
        found: u32,
        /// Highest version that this program supports.
        supported: u32,
    },
    /// A database in memory cannot store the contexts of a network function.
    #[error("a context store needs a file or a PostgreSQL database, not one in memory")]
    InMemory,
    /// The operator's key is not available.
    #[error("operator's key, which encrypts the database's secrets, is not available: {0}")]
    Key(String),
    /// A value was encrypted with another key.
    #[error(
        "{0} in the database was encrypted with another operator's key: set the key that wrote \
         it, in MARTLET_STORE_KEY or as udr.key_file"
    )]
    Sealed(String),
    /// PostgreSQL failed.
    #[error("PostgreSQL failed: {}", with_cause(.0))]
    Postgres(#[from] tokio_postgres::Error),
    /// PostgreSQL did not answer in time.
    #[error("PostgreSQL did not answer within {} ms ({what})", .limit.as_millis())]
    Timeout {
        /// What was waited for.
        what: &'static str,
        /// The limit.
        limit: std::time::Duration,
    },
    /// There is no connection to PostgreSQL.
    #[error("no connection to PostgreSQL: {0}")]
    Disconnected(String),
    /// The connection to the PostgreSQL server cannot be configured.
    #[error("connection to the database: {0}")]
    Tls(String),
    /// The thread that holds the connection has ended.
    #[error("database connection has ended")]
    Ended,
    /// The caller ended an import.
    #[error("the import was ended: nothing was added")]
    Cancelled,
    /// SQLite failed.
    #[error("SQLite failed: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// A stored value does not decode.
    #[error("database holds a value that does not decode: {0}")]
    Corrupt(#[from] serde_json::Error),
    /// The subscriber exists.
    #[error("{0} exists: remove it first, or replace it with --replace")]
    Exists(String),
    /// Another process changed the subscriber at the same time.
    #[error("{0} was changed by another process at the same time: try again")]
    Concurrent(String),
    /// The transaction that a write shared with others was not committed.
    #[error("write was not committed: {0}")]
    Group(std::sync::Arc<StoreError>),
    /// The database ended a transaction itself.
    #[error("database rolled a transaction back")]
    RolledBack,
    /// A subscriber's data are invalid.
    #[error(transparent)]
    Invalid(#[from] InvalidSubscriber),
}

impl StoreError {
    /// Whether the database has no room: the disk or a quota is full.
    pub fn is_full(&self) -> bool {
        match self {
            StoreError::Group(error) => error.is_full(),
            StoreError::Sqlite(error) => {
                error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull)
            }
            StoreError::Postgres(error) => {
                error.code() == Some(&tokio_postgres::error::SqlState::DISK_FULL)
            }
            _ => false,
        }
    }

    /// Whether the database failed, as opposed to a refusal of what was to be written.
    pub fn is_failure(&self) -> bool {
        !matches!(self, StoreError::Exists(_) | StoreError::Invalid(_))
    }
}

/// A PostgreSQL error with its cause, which its own text leaves out.
fn with_cause(error: &tokio_postgres::Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
