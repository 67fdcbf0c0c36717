//! The tables, and the migration of databases of earlier versions.
use crate::StoreError;
use crate::postgres_client::Client;
use rusqlite::Connection;

/// The version of the tables that this program writes.
pub const SCHEMA_VERSION: usize = MIGRATIONS.len();

/// The migration to each version, from version 1 on.
const MIGRATIONS: [&str; 3] = [
    "
    CREATE TABLE subscriber (
        supi    TEXT PRIMARY KEY NOT NULL,
        gpsi    TEXT UNIQUE,
        -- Last sequence number used; a column of its own, since each authentication writes it.
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
        -- Number of the process among those with this name.
        epoch INTEGER NOT NULL,
        -- End of its lease, in milliseconds since 1970.
        until INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE taken (
        owner TEXT NOT NULL,
        id    TEXT NOT NULL,
        PRIMARY KEY (owner, id)
    ) STRICT, WITHOUT ROWID;
",
];

/// Migrates a file to the current version.
pub fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let version: u32 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let supported = MIGRATIONS.len() as u32;
    if version > supported {
        return Err(StoreError::TooNew { found: version, supported });
    }
    for migration in &MIGRATIONS[version as usize..] {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "user_version", supported)?;
    transaction.commit()?;
    Ok(())
}

/// The migrations of PostgreSQL.
const POSTGRES_MIGRATIONS: [&str; 2] = [
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

/// Key of the advisory lock that serialises migrations: any number that all versions share.
const LOCK: i64 = 0x6d61_7274_6c65;

/// Migrates a PostgreSQL database to the current version.
pub fn migrate_postgres(client: &mut Client) -> Result<(), StoreError> {
    let mut transaction = client.long_transaction()?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK])?;
    transaction
        .batch_execute("CREATE TABLE IF NOT EXISTS martlet_schema (version INTEGER NOT NULL)")?;
    let row = transaction.query_opt("SELECT version FROM martlet_schema", &[])?;
    let version = row.map_or(0, |row| row.get::<_, i32>(0)) as usize;
    let supported = POSTGRES_MIGRATIONS.len();
    if version > supported {
        return Err(StoreError::TooNew { found: version as u32, supported: supported as u32 });
    }
    for migration in &POSTGRES_MIGRATIONS[version..] {
        transaction.batch_execute(migration)?;
    }
    if version < supported {
        transaction.batch_execute("DELETE FROM martlet_schema")?;
        transaction
            .execute("INSERT INTO martlet_schema (version) VALUES ($1)", &[&(supported as i32)])?;
    }
    transaction.commit()?;
    Ok(())
}
