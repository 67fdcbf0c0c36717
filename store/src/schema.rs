//! The tables, and the migration of databases of earlier versions.
use crate::StoreError;
use crate::postgres_client::Client;
use rusqlite::Connection;
use tokio_postgres::error::SqlState;

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

/// The tables of PostgreSQL, for each version of the schema. A later version does not serve earlier
/// programs; [`POSTGRES_STEPS`] do.
const POSTGRES_MIGRATIONS: [&str; 2] = [
    "
    CREATE TABLE IF NOT EXISTS subscriber (
        supi    TEXT COLLATE \"C\" PRIMARY KEY,
        gpsi    TEXT UNIQUE,
        sqn     BIGINT NOT NULL,
        profile TEXT NOT NULL
    );
    CREATE TABLE IF NOT EXISTS context (
        supi  TEXT COLLATE \"C\" NOT NULL,
        kind  TEXT COLLATE \"C\" NOT NULL,
        key   TEXT COLLATE \"C\" NOT NULL,
        value TEXT NOT NULL,
        PRIMARY KEY (supi, kind, key)
    );
    CREATE TABLE IF NOT EXISTS change (
        number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        supi   TEXT NOT NULL
    );
    CREATE TABLE IF NOT EXISTS state (
        owner TEXT COLLATE \"C\" NOT NULL,
        id    TEXT COLLATE \"C\" NOT NULL,
        value BYTEA NOT NULL,
        PRIMARY KEY (owner, id)
    );
",
    "
    CREATE TABLE IF NOT EXISTS member (
        owner TEXT COLLATE \"C\" PRIMARY KEY,
        epoch BIGINT NOT NULL,
        until BIGINT NOT NULL
    );
    CREATE TABLE IF NOT EXISTS taken (
        owner TEXT COLLATE \"C\" NOT NULL,
        id    TEXT COLLATE \"C\" NOT NULL,
        PRIMARY KEY (owner, id)
    );
",
];

/// Steps that only add to the tables (expand): a program that does not know a step works beside it.
/// What a step makes superfluous is removed by a later version of the schema (contract), once no
/// program needs it. The first step creates the tables.
const POSTGRES_STEPS: [&str; 3] = [
    "",
    "
    CREATE TABLE IF NOT EXISTS change_order (
        -- One row, which each transaction locks that adds to `change`, so that numbers are
        -- committed in their order.
        id   INTEGER PRIMARY KEY,
        last BIGINT NOT NULL
    );
    INSERT INTO change_order (id, last) VALUES (1, 0) ON CONFLICT (id) DO NOTHING;
    -- The members of a set are found in `member`: also those of a version without leases.
    INSERT INTO member (owner, epoch, until) SELECT DISTINCT owner, 0, 0 FROM state ON CONFLICT
    (owner) DO NOTHING;
",
    "
    -- When the value was accepted, by the server's clock, and the process that wrote it. Null for
    -- values of earlier programs.
    ALTER TABLE context ADD COLUMN IF NOT EXISTS changed TIMESTAMPTZ;
    ALTER TABLE context ALTER COLUMN changed SET DEFAULT clock_timestamp();
    ALTER TABLE context ADD COLUMN IF NOT EXISTS writer BIGINT;
    -- How often the lease was renewed: two of its ends may be equal if the clock is set.
    ALTER TABLE member ADD COLUMN IF NOT EXISTS renewals BIGINT NOT NULL DEFAULT 0;
    -- Tells two takeovers of the same context from each other.
    ALTER TABLE taken ADD COLUMN IF NOT EXISTS number BIGINT GENERATED BY DEFAULT AS IDENTITY;
",
];

/// Attempts to migrate, when other processes migrate at the same time.
const ATTEMPTS: usize = 20;
/// Pause between two of them.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(50);

/// Migrates a PostgreSQL database to the current version.
///
/// # Errors
/// The database is of a later version, or its tables cannot be created.
pub fn migrate_postgres(client: &mut Client) -> Result<(), StoreError> {
    let mut attempt = 1;
    loop {
        match try_migrate(client) {
            Err(error) if attempt < ATTEMPTS && is_concurrent(&error) => {
                attempt += 1;
                std::thread::sleep(PAUSE);
            }
            Err(StoreError::Postgres(error))
                if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) =>
            {
                return Err(StoreError::Migration(error.to_string()));
            }
            outcome => return outcome,
        }
    }
}

/// Whether another process created the same table at the same time.
fn is_concurrent(error: &StoreError) -> bool {
    let concurrent = [
        SqlState::UNIQUE_VIOLATION,
        SqlState::DUPLICATE_TABLE,
        // The table's row type.
        SqlState::DUPLICATE_OBJECT,
        SqlState::T_R_SERIALIZATION_FAILURE,
    ];
    matches!(error, StoreError::Postgres(error)
        if error.code().is_some_and(|code| concurrent.contains(code)))
}

fn try_migrate(client: &mut Client) -> Result<(), StoreError> {
    let (version, step) = state_of(client)?;
    let supported = POSTGRES_MIGRATIONS.len();
    if version > supported {
        return Err(StoreError::TooNew { found: version as u32, supported: supported as u32 });
    }
    if version == supported && step >= POSTGRES_STEPS.len() {
        return Ok(());
    }
    client.batch_execute(
        "CREATE TABLE IF NOT EXISTS martlet_schema (version INTEGER NOT NULL);
         CREATE TABLE IF NOT EXISTS martlet_schema_step (step INTEGER PRIMARY KEY)",
    )?;
    for (number, step) in POSTGRES_STEPS.iter().enumerate() {
        let mut transaction = client.long_transaction()?;
        // Another process that adds the same row waits for the end of this transaction.
        let sql = "INSERT INTO martlet_schema_step (step) VALUES ($1) ON CONFLICT DO NOTHING";
        let is_new = transaction.execute(sql, &[&(number as i32 + 1)])? == 1;
        if is_new && number == 0 {
            for migration in &POSTGRES_MIGRATIONS[version..] {
                transaction.batch_execute(migration)?;
            }
            if version < supported {
                transaction.batch_execute("DELETE FROM martlet_schema")?;
                let sql = "INSERT INTO martlet_schema (version) VALUES ($1)";
                transaction.execute(sql, &[&(supported as i32)])?;
            }
        }
        if is_new {
            transaction.batch_execute(step)?;
        }
        transaction.commit()?;
    }
    Ok(())
}

/// The version of the tables and the last step; 0 for those of an empty database.
fn state_of(client: &mut Client) -> Result<(usize, usize), StoreError> {
    // A text, since a statement that names a missing table fails.
    let exists = |client: &mut Client, table: &str| -> Result<bool, StoreError> {
        let sql = "SELECT count(*) FROM information_schema.tables WHERE table_name = $1 AND \
                   table_schema = current_schema()";
        Ok(client.query_one(sql, &[&table])?.get::<_, i64>(0) > 0)
    };
    let mut number = |table: &str, sql: &str| -> Result<usize, StoreError> {
        if !exists(client, table)? {
            return Ok(0);
        }
        let row = client.query_opt(sql, &[])?;
        let number = row.map_or(0, |row| row.get::<_, i32>(0));
        Ok(usize::try_from(number).unwrap_or_default())
    };
    let version = number("martlet_schema", "SELECT version FROM martlet_schema")?;
    let sql = "SELECT coalesce(max(step), 0) FROM martlet_schema_step";
    Ok((version, number("martlet_schema_step", sql)?))
}
