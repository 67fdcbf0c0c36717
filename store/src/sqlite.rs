//! An SQLite file, and the connection to it.
use crate::backend::{Backend, CHANGES_KEPT, Change, Row, TOLD_OF_CHANGES};
use crate::{StoreError, schema};
use rusqlite::{Connection, OptionalExtension, params};
use std::path::Path;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// How long another process's write is waited for.
const PATIENCE: Duration = Duration::from_millis(2000);

/// A file with subscribers and contexts.
pub(crate) struct Sqlite(Mutex<Connection>);

/// Opens a file, and makes it where there is none.
pub(crate) fn connect(path: &Path) -> Result<Connection, StoreError> {
    let failed = |error: rusqlite::Error| {
        let reason = format!("{error}; is the folder there, and may this user write to it?");
        StoreError::Open { path: path.display().to_string(), reason }
    };
    prepare(Connection::open(path).map_err(failed)?)
}

fn prepare(mut connection: Connection) -> Result<Connection, StoreError> {
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.set_prepared_statement_cache_capacity(64);
    schema::migrate(&mut connection)?;
    Ok(connection)
}

impl Sqlite {
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        connect(path).map(|connection| Sqlite(Mutex::new(connection)))
    }

    pub fn in_memory() -> Result<Self, StoreError> {
        Ok(Sqlite(Mutex::new(prepare(Connection::open_in_memory()?)?)))
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}

fn row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    Ok(Row { supi: row.get(0)?, gpsi: row.get(1)?, sqn: row.get::<_, i64>(2)? as u64, profile: row.get(3)? })
}

fn note(transaction: &rusqlite::Transaction<'_>, supi: &str) -> rusqlite::Result<()> {
    transaction.prepare_cached("INSERT INTO change (supi) VALUES (?1)")?.execute([supi]).map(drop)
}

impl Backend for Sqlite {
    fn add(&self, rows: Vec<Row>, replace: bool) -> Result<(), StoreError> {
        let mut connection = self.connection();
        let transaction = connection.transaction()?;
        for row in &rows {
            let sql = match replace {
                true => "INSERT OR REPLACE INTO subscriber (supi, gpsi, sqn, profile) VALUES (?1, ?2, ?3, ?4)",
                false => "INSERT INTO subscriber (supi, gpsi, sqn, profile) VALUES (?1, ?2, ?3, ?4)",
            };
            let outcome =
                transaction.prepare_cached(sql)?.execute(params![row.supi, row.gpsi, row.sqn as i64, row.profile]);
            match outcome {
                Err(rusqlite::Error::SqliteFailure(error, _))
                    if error.code == rusqlite::ErrorCode::ConstraintViolation =>
                {
                    return Err(StoreError::Exists(format!("{} (or its telephone number)", row.supi)));
                }
                outcome => outcome?,
            };
            note(&transaction, &row.supi)?;
        }
        transaction
            .execute("DELETE FROM change WHERE number <= (SELECT max(number) FROM change) - ?1", [CHANGES_KEPT])?;
        transaction.commit()?;
        Ok(())
    }

    fn reseal(&self, supi: &str, from: &str, to: &str) -> Result<(), StoreError> {
        let sql = "UPDATE subscriber SET profile = ?3 WHERE supi = ?1 AND profile = ?2";
        self.connection().prepare_cached(sql)?.execute([supi, from, to])?;
        Ok(())
    }

    fn remove(&self, supi: &str) -> Result<bool, StoreError> {
        let mut connection = self.connection();
        let transaction = connection.transaction()?;
        transaction.execute("DELETE FROM context WHERE supi = ?1 AND kind <> ?2", [supi, TOLD_OF_CHANGES])?;
        let removed = transaction.execute("DELETE FROM subscriber WHERE supi = ?1", [supi])? > 0;
        if removed {
            note(&transaction, supi)?;
        }
        transaction.commit()?;
        Ok(removed)
    }

    fn row(&self, supi: &str) -> Result<Option<Row>, StoreError> {
        let sql = "SELECT supi, gpsi, sqn, profile FROM subscriber WHERE supi = ?1";
        Ok(self.connection().prepare_cached(sql)?.query_row([supi], row).optional()?)
    }

    fn supi_of(&self, gpsi: &str) -> Result<Option<String>, StoreError> {
        let sql = "SELECT supi FROM subscriber WHERE gpsi = ?1";
        Ok(self.connection().prepare_cached(sql)?.query_row([gpsi], |row| row.get(0)).optional()?)
    }

    fn list(&self, after: &str, limit: usize) -> Result<Vec<Row>, StoreError> {
        let connection = self.connection();
        let sql = "SELECT supi, gpsi, sqn, profile FROM subscriber WHERE supi > ?1 ORDER BY supi LIMIT ?2";
        let mut statement = connection.prepare_cached(sql)?;
        let rows = statement.query_map(params![after, limit as i64], row)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn count(&self) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM subscriber";
        let count: i64 = self.connection().prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        Ok(count as u64)
    }

    fn move_sqn(&self, supi: &str, from: u64, to: u64) -> Result<bool, StoreError> {
        let sql = "UPDATE subscriber SET sqn = ?3 WHERE supi = ?1 AND sqn = ?2";
        Ok(self.connection().prepare_cached(sql)?.execute(params![supi, from as i64, to as i64])? == 1)
    }

    fn put_context(&self, supi: &str, kind: &str, key: &str, value: &str) -> Result<bool, StoreError> {
        let connection = self.connection();
        let sql = "UPDATE context SET value = ?4 WHERE supi = ?1 AND kind = ?2 AND key = ?3";
        if connection.prepare_cached(sql)?.execute(params![supi, kind, key, value])? > 0 {
            return Ok(false);
        }
        let sql = "INSERT INTO context (supi, kind, key, value) VALUES (?1, ?2, ?3, ?4)";
        connection.prepare_cached(sql)?.execute(params![supi, kind, key, value])?;
        Ok(true)
    }

    fn context(&self, supi: &str, kind: &str, key: &str) -> Result<Option<String>, StoreError> {
        let sql = "SELECT value FROM context WHERE supi = ?1 AND kind = ?2 AND key = ?3";
        let connection = self.connection();
        Ok(connection.prepare_cached(sql)?.query_row(params![supi, kind, key], |row| row.get(0)).optional()?)
    }

    fn contexts(&self, supi: &str, kind: &str) -> Result<Vec<(String, String)>, StoreError> {
        let connection = self.connection();
        let sql = "SELECT key, value FROM context WHERE supi = ?1 AND kind = ?2 ORDER BY key";
        let mut statement = connection.prepare_cached(sql)?;
        let rows = statement.query_map(params![supi, kind], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn remove_context(&self, supi: &str, kind: &str, key: &str) -> Result<bool, StoreError> {
        let sql = "DELETE FROM context WHERE supi = ?1 AND kind = ?2 AND key = ?3";
        Ok(self.connection().prepare_cached(sql)?.execute(params![supi, kind, key])? > 0)
    }

    fn changes(&self, after: i64, limit: usize) -> Result<Vec<Change>, StoreError> {
        let connection = self.connection();
        let sql = "SELECT number, supi FROM change WHERE number > ?1 ORDER BY number LIMIT ?2";
        let mut statement = connection.prepare_cached(sql)?;
        let rows = statement
            .query_map(params![after, limit as i64], |row| Ok(Change { number: row.get(0)?, supi: row.get(1)? }))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn last_change(&self) -> Result<i64, StoreError> {
        let sql = "SELECT coalesce(max(number), 0) FROM change";
        Ok(self.connection().prepare_cached(sql)?.query_row([], |row| row.get(0))?)
    }

    fn version(&self) -> Result<Option<i64>, StoreError> {
        Ok(Some(self.connection().prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?))
    }
}
