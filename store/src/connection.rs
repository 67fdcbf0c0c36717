//! Connections to a database with the current schema, for crates that store data beside the
//! subscribers.
pub use crate::postgres_client::{Client, Transaction};
use crate::{StoreError, schema, sqlite};
use std::path::Path;
pub use tokio_postgres::types::ToSql;

/// Opens an SQLite file, creates it when it is missing, and brings its schema up to date.
///
/// # Errors
/// The file cannot be opened, or a later version has written it.
pub fn open_sqlite(path: &Path) -> Result<rusqlite::Connection, StoreError> {
    sqlite::connect(path)
}

/// Connects to a PostgreSQL database and brings its schema up to date. Blocks; call it outside of
/// an asynchronous runtime.
///
/// # Errors
/// The server does not answer, or a later version has written the database.
pub fn open_postgres(url: &str) -> Result<Client, StoreError> {
    let mut client = Client::connect(url)?;
    schema::migrate_postgres(&mut client)?;
    Ok(client)
}

/// Copies an SQLite database into a new file, which only its owner can read. The copy is the state
/// at one moment, although other processes may write.
///
/// # Errors
/// The file cannot be opened, or the copy exists or cannot be written.
pub fn copy_sqlite(from: &Path, to: &Path) -> Result<(), StoreError> {
    use std::os::unix::fs::OpenOptionsExt;
    let failed = |error: std::io::Error| StoreError::Open {
        path: to.display().to_string(),
        reason: error.to_string(),
    };
    // SQLite writes into an empty file, whose mode it keeps.
    let mut open = std::fs::OpenOptions::new();
    open.write(true).create_new(true).mode(0o600).open(to).map_err(failed)?;
    let connection = sqlite::connect(from)?;
    connection.execute("VACUUM INTO ?1", [to.display().to_string()])?;
    Ok(())
}
