//! Connections to a database with the current schema, for crates that store data beside the
//! subscribers.
use crate::{StoreError, postgres, schema, sqlite};
use std::path::Path;

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
/// The server cannot be reached, or a later version has written the database.
pub fn open_postgres(url: &str) -> Result<::postgres::Client, StoreError> {
    let mut client = postgres::connect(url)?;
    schema::migrate_postgres(&mut client)?;
    Ok(client)
}

/// Connects again to a database that [`open_postgres`] has opened.
///
/// # Errors
/// The server cannot be reached.
pub fn reconnect_postgres(url: &str) -> Result<::postgres::Client, StoreError> {
    postgres::connect(url)
}
