//! The tables, and how a database of an earlier version becomes one of this.
use crate::StoreError;
use rusqlite::Connection;

/// What each version adds; the position is the version it leads to, counted from 1.
const STEPS: [&str; 3] = [
    "
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
",
    "
    CREATE TABLE change (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        supi   TEXT NOT NULL
    ) STRICT;
    CREATE TABLE state (
        owner TEXT NOT NULL,
        id    TEXT NOT NULL,
        value BLOB NOT NULL,
        PRIMARY KEY (owner, id)
    ) STRICT;
",
    "
    CREATE TABLE member (
        owner TEXT PRIMARY KEY NOT NULL,
        -- Which process of this name it is.
        epoch INTEGER NOT NULL,
        -- Until when nobody else takes its contexts, in milliseconds since 1970.
        until INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE taken (
        owner TEXT NOT NULL,
        id    TEXT NOT NULL,
        PRIMARY KEY (owner, id)
    ) STRICT, WITHOUT ROWID;
",
];

/// Brings the file to the version that this program knows.
pub fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
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

/// The same for PostgreSQL.
const POSTGRES_STEPS: [&str; 2] = [
    "
    CREATE TABLE subscriber (
        supi    TEXT COLLATE \"C\" PRIMARY KEY,
        gpsi    TEXT UNIQUE,
        sqn     BIGINT NOT NULL,
        profile TEXT NOT NULL
    );
    CREATE TABLE context (
        supi  TEXT COLLATE \"C\" NOT NULL,
        kind  TEXT COLLATE \"C\" NOT NULL,
        key   TEXT COLLATE \"C\" NOT NULL,
        value TEXT NOT NULL,
        PRIMARY KEY (supi, kind, key)
    );
    CREATE TABLE change (
        number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        supi   TEXT NOT NULL
    );
    CREATE TABLE state (
        owner TEXT COLLATE \"C\" NOT NULL,
        id    TEXT COLLATE \"C\" NOT NULL,
        value BYTEA NOT NULL,
        PRIMARY KEY (owner, id)
    );
",
    "
    CREATE TABLE member (
        owner TEXT COLLATE \"C\" PRIMARY KEY,
        epoch BIGINT NOT NULL,
        until BIGINT NOT NULL
    );
    CREATE TABLE taken (
        owner TEXT COLLATE \"C\" NOT NULL,
        id    TEXT COLLATE \"C\" NOT NULL,
        PRIMARY KEY (owner, id)
    );
",
];

/// Holds off others who bring the same database to a version: any number, but the same for all.
const LOCK: i64 = 0x6d61_7274_6c65;

/// Brings a PostgreSQL database to the version that this program knows.
pub fn migrate_postgres(client: &mut postgres::Client) -> Result<(), StoreError> {
    let mut transaction = client.transaction()?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK])?;
    transaction
        .batch_execute("CREATE TABLE IF NOT EXISTS martlet_schema (version INTEGER NOT NULL)")?;
    let row = transaction.query_opt("SELECT version FROM martlet_schema", &[])?;
    let version = row.map_or(0, |row| row.get::<_, i32>(0)) as usize;
    let known = POSTGRES_STEPS.len();
    if version > known {
        return Err(StoreError::TooNew { found: version as u32, known: known as u32 });
    }
    for step in &POSTGRES_STEPS[version..] {
        transaction.batch_execute(step)?;
    }
    if version < known {
        transaction.batch_execute("DELETE FROM martlet_schema")?;
        transaction
            .execute("INSERT INTO martlet_schema (version) VALUES ($1)", &[&(known as i32)])?;
    }
    transaction.commit()?;
    Ok(())
}
