//! Errors of the database.
use crate::{InvalidSubscriber, remedy};
use tokio_postgres::error::SqlState;

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
    /// The file is not an intact database.
    #[error("database {path} is damaged: {reason}")]
    Damaged {
        /// The file.
        path: String,
        /// What is wrong with it.
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
    /// PostgreSQL failed. The text has the cause, which is therefore not a source.
    #[error("PostgreSQL failed: {}", postgres_text(.0))]
    Postgres(tokio_postgres::Error),
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
    /// SQLite failed. The text has the cause, which is therefore not a source.
    #[error("SQLite failed: {}", sqlite_text(.0))]
    Sqlite(rusqlite::Error),
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
    /// A statement that several requests shared failed.
    #[error("{0}")]
    Shared(std::sync::Arc<StoreError>),
    /// The user of the database may not create its tables.
    #[error(
        "the database's tables cannot be created ({0}): let the owner of the database start \
         `martlet` once, or run GRANT CREATE ON SCHEMA public TO the user of the URL"
    )]
    Migration(String),
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
            StoreError::Group(error) | StoreError::Shared(error) => error.is_full(),
            StoreError::Sqlite(error) => remedy::is_sqlite_full(error),
            StoreError::Postgres(error) => error.code() == Some(&SqlState::DISK_FULL),
            _ => false,
        }
    }

    /// What the operator can do, if the kind of the error shows it. Names nothing of the database.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            StoreError::Group(error) | StoreError::Shared(error) => error.remedy(),
            StoreError::Sqlite(error) => remedy::of_sqlite(error),
            StoreError::Postgres(error) => remedy::of_postgres(error),
            _ => None,
        }
    }

    /// The SQLSTATE of a PostgreSQL error.
    fn code(&self) -> Option<&SqlState> {
        match self {
            StoreError::Postgres(error) => error.code(),
            StoreError::Group(error) | StoreError::Shared(error) => error.code(),
            _ => None,
        }
    }

    /// Whether the same statement may succeed when it is repeated: its transaction was rolled back
    /// in favour of another one, or its connection or server was lost.
    pub fn is_transient(&self) -> bool {
        let rolled_back = [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED];
        self.needs_other_connection()
            || self.is_outdated_statement()
            || self.code().is_some_and(|code| rolled_back.contains(code))
    }

    /// Whether the server always refuses a value: a data exception (class 22) or a violated
    /// constraint (class 23).
    pub(crate) fn is_refused_value(&self) -> bool {
        self.code().is_some_and(|code| matches!(code.code().get(..2), Some("22" | "23")))
    }

    /// Whether the server does not accept a prepared statement any more.
    pub(crate) fn is_outdated_statement(&self) -> bool {
        let outdated = [SqlState::FEATURE_NOT_SUPPORTED, SqlState::INVALID_SQL_STATEMENT_NAME];
        self.code().is_some_and(|code| outdated.contains(code))
    }

    /// Whether the connection is lost, or its server does not accept writes (any more).
    pub(crate) fn needs_other_connection(&self) -> bool {
        match self {
            StoreError::Timeout { .. } | StoreError::Disconnected(_) => true,
            StoreError::Shared(error) | StoreError::Group(error) => error.needs_other_connection(),
            // Without a code the client library failed: the connection is closed.
            StoreError::Postgres(error) => {
                error.code().map_or(error.is_closed(), |code| {
                    let unusable = [
                        SqlState::READ_ONLY_SQL_TRANSACTION,
                        SqlState::ADMIN_SHUTDOWN,
                        SqlState::CRASH_SHUTDOWN,
                        SqlState::CANNOT_CONNECT_NOW,
                        SqlState::TOO_MANY_CONNECTIONS,
                    ];
                    // Class 08: connection exceptions.
                    unusable.contains(code) || code.code().starts_with("08")
                }) || is_io(error)
            }
            _ => false,
        }
    }

    /// Whether the database failed, as opposed to a refusal of what was to be written.
    pub fn is_failure(&self) -> bool {
        !matches!(self, StoreError::Exists(_) | StoreError::Invalid(_))
    }
}

impl From<tokio_postgres::Error> for StoreError {
    fn from(error: tokio_postgres::Error) -> Self {
        StoreError::Postgres(error)
    }
}

/// Whether reading from or writing to the server failed, or the server could not be reached.
fn is_io(error: &tokio_postgres::Error) -> bool {
    std::error::Error::source(error).is_some_and(|cause| cause.is::<std::io::Error>())
}

/// An SQLite error with its remedy.
fn sqlite_text(error: &rusqlite::Error) -> String {
    let reason = match error {
        _ if remedy::is_sqlite_full(error) => "the disk is full".into(),
        rusqlite::Error::SqliteFailure(failure, Some(text)) => {
            format!("{text} (code {})", failure.extended_code)
        }
        _ => error.to_string(),
    };
    reason + &remedy::text(remedy::of_sqlite(error))
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        StoreError::Sqlite(error)
    }
}

/// A PostgreSQL error in one line, with its cause, which its own text leaves out, and its remedy.
fn postgres_text(error: &tokio_postgres::Error) -> String {
    let text = match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}").replace('\n', "; "),
        None => error.to_string(),
    };
    text + &remedy::text(remedy::of_postgres(error))
}
