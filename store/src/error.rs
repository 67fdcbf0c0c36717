//! What can go wrong with the store.
use crate::InvalidSubscriber;

/// Why the store did not do as asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file cannot be opened.
    #[error("the subscriber database {path} cannot be opened: {reason}")]
    Open {
        /// The file.
        path: String,
        /// What SQLite says.
        reason: String,
    },
    /// The file was written by a later version.
    #[error(
        "the subscriber database is of version {found}, and this program knows versions up to \
         {known}: use a newer one"
    )]
    TooNew {
        /// Version of the file.
        found: u32,
        /// Highest version that this program knows.
        known: u32,
    },
    /// The operator's key is not to be had.
    #[error(
        "the operator's key, with which the database's secrets are sealed, is not to be had: {0}"
    )]
    Key(String),
    /// A value was sealed with another key.
    #[error(
        "{0} in the database was sealed with another operator's key: give the one with which it \
         was written, in MARTLET_STORE_KEY or as udr.key_file"
    )]
    Sealed(String),
    /// PostgreSQL failed.
    #[error("the database server failed: {}", with_cause(.0))]
    Postgres(#[from] postgres::Error),
    /// The thread that talks to the server has ended.
    #[error("the connection to the database server has ended")]
    Ended,
    /// SQLite failed.
    #[error("the subscriber database failed: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// A value in the database is not what it should be.
    #[error("the subscriber database holds a value that does not parse: {0}")]
    Corrupt(#[from] serde_json::Error),
    /// The subscriber is there already.
    #[error("{0} is there already; remove it first, or change it with --replace")]
    Exists(String),
    /// A subscriber is wrong.
    #[error(transparent)]
    Invalid(#[from] InvalidSubscriber),
}

/// An error of the server with what it is about, which its own text leaves out.
fn with_cause(error: &postgres::Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
