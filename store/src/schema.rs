//! The tables, and how a file of an earlier version becomes one of this.
use crate::StoreError;
use rusqlite::Connection;

/// What each version adds; the position is the version it leads to, counted from 1.
const STEPS: [&str; 1] = ["
    CREATE TABLE subscriber (
        supi    TEXT PRIMARY KEY NOT NULL,
        gpsi    TEXT UNIQUE,
        -- Last sequence number used, apart from the rest since each authentication moves it on.
        sqn     INTEGER NOT NULL,
        profile TEXT NOT NULL
    ) STRICT;
    CREATE TABLE context (
        supi  TEXT NOT NULL,
        kind  TEXT NOT NULL,
        key   TEXT NOT NULL,
        value TEXT NOT NULL,
        PRIMARY KEY (supi, kind, key)
    ) STRICT, WITHOUT ROWID;
"];

/// Brings the file to the version that this program knows.
pub fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let version: u32 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let known = STEPS.len() as u32;
    if version > known {
        return Err(StoreError::TooNew { found: version, known });
    }
    for step in &STEPS[version as usize..] {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "user_version", known)?;
    transaction.commit()?;
    Ok(())
}
