//! An SQLite file, and the connection to it.
use crate::backend::{Backend, CHANGES_KEPT, Change, Row, TOLD_OF_CHANGES};
use crate::gathering::Gathering;
use crate::{StoreError, schema};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OptionalExtension, params};
use std::ops::Deref;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// How long another process's write is waited for.
const PATIENCE: Duration = Duration::from_millis(5000);
/// After writes were gathered, others get this long a chance to write.
const BREATH: Duration = Duration::from_millis(1);
/// To begin a transaction takes longer than this only where somebody else writes.
const CONTENDED: Duration = Duration::from_micros(500);
/// As long as somebody else writes into the file, too, nobody keeps it for longer than one write
/// takes.
const AMONG_OTHERS: Duration = Duration::from_secs(1);

/// Stands in the file's header (`PRAGMA application_id`) while writes are gathered.
const GATHERED: i64 = 0x4d4c_4754;
/// By how much sequence numbers move on after a kill: those of one subscriber that can be told
/// while writes are gathered are fewer. SEQ is above 5 bits of index, and may jump by 2^28 (TS
/// 33.102, C.1.1.1 and C.2.1).
const SKIPPED: i64 = 4096 << 5;

/// A file with subscribers and contexts.
pub(crate) struct Sqlite {
    file: Mutex<Opened>,
    gathering: Gathering,
}

/// The connection, and what it does with writes.
struct Opened {
    connection: Connection,
    /// When writes are gathered in one transaction, this is the first moment at which the next one
    /// may begin.
    gathers: Option<Instant>,
    /// As it was last seen.
    version: Option<i64>,
    /// Whether that was after the present gathering began: somebody else may have written just
    /// before.
    looked: bool,
}

impl Deref for Opened {
    type Target = Connection;
    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl Opened {
    /// Whether there is a transaction that gathers writes. SQLite ends it by itself where the disk
    /// is full, for example.
    fn is_gathering(&self) -> bool {
        !self.connection.is_autocommit()
    }

    /// Begins to gather, where it is time; whether it did.
    fn begin(&mut self) -> Result<bool, StoreError> {
        let now = Instant::now();
        if self.is_gathering() || self.gathers.is_none_or(|at| now < at) {
            return Ok(false);
        }
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        self.looked = false;
        if now.elapsed() > CONTENDED {
            self.gathers = Some(now + AMONG_OTHERS);
        }
        Ok(true)
    }

    /// Marks the file as one into which writes are gathered, or as one no more. Where the mark is
    /// found, who gathered was killed, and may have told sequence numbers that it did not
    /// write: all of them move on, so that none is told twice.
    fn skip_sequence_numbers(&mut self, gathers: bool) -> Result<(), StoreError> {
        let transaction = self.connection.transaction()?;
        let mark: i64 = transaction.query_row("PRAGMA application_id", [], |row| row.get(0))?;
        if gathers && mark == GATHERED {
            let sql = "UPDATE subscriber SET sqn = sqn + ?1 WHERE sqn < ?2";
            transaction.execute(sql, [SKIPPED, (1 << 48) - 2 * SKIPPED])?;
        }
        transaction.pragma_update(None, "application_id", if gathers { GATHERED } else { 0 })?;
        Ok(transaction.commit()?)
    }

    /// Writes what was gathered.
    fn commit(&mut self) -> Result<(), StoreError> {
        if !self.is_gathering() {
            return Ok(());
        }
        let outcome =
            self.connection.prepare_cached("COMMIT").and_then(|mut commit| commit.execute([]));
        if outcome.is_err() && self.is_gathering() {
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        let next = Instant::now() + BREATH;
        self.gathers = self.gathers.map(|at| at.max(next));
        outcome.map(drop).map_err(StoreError::from)
    }
}

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
    // Else a statement with a parameter that might change its plan is compiled anew each time that
    // the parameter changes.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    schema::migrate(&mut connection)?;
    Ok(connection)
}

impl Sqlite {
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        connect(path).map(Sqlite::new)
    }

    pub fn in_memory() -> Result<Self, StoreError> {
        Ok(Sqlite::new(prepare(Connection::open_in_memory()?)?))
    }

    fn new(connection: Connection) -> Self {
        let file = Mutex::new(Opened { connection, gathers: None, version: None, looked: false });
        Sqlite { file, gathering: Gathering::default() }
    }

    /// For reading: what was gathered is seen.
    fn connection(&self) -> MutexGuard<'_, Opened> {
        self.file.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// For a write that may be gathered with others.
    fn writing(&self) -> Result<MutexGuard<'_, Opened>, StoreError> {
        let mut opened = self.connection();
        if opened.begin()? {
            self.gathering.begun();
        }
        Ok(opened)
    }

    /// For a transaction of its own.
    fn alone(&self) -> Result<MutexGuard<'_, Opened>, StoreError> {
        let mut opened = self.connection();
        opened.commit()?;
        Ok(opened)
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        if let Err(error) = self.connection().commit() {
            eprintln!(
                "martlet: the last changes of subscribers' contexts are not written: {error}"
            );
        }
    }
}

fn row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    Ok(Row {
        supi: row.get(0)?,
        gpsi: row.get(1)?,
        sqn: row.get::<_, i64>(2)? as u64,
        profile: row.get(3)?,
    })
}

fn note(transaction: &rusqlite::Transaction<'_>, supi: &str) -> rusqlite::Result<()> {
    transaction.prepare_cached("INSERT INTO change (supi) VALUES (?1)")?.execute([supi]).map(drop)
}

impl Backend for Sqlite {
    fn add(&self, rows: Vec<Row>, replace: bool) -> Result<(), StoreError> {
        let mut opened = self.alone()?;
        let transaction = opened.connection.transaction()?;
        for row in &rows {
            let sql = match replace {
                true => {
                    "INSERT OR REPLACE INTO subscriber (supi, gpsi, sqn, profile) VALUES (?1, ?2, \
                     ?3, ?4)"
                }
                false => {
                    "INSERT INTO subscriber (supi, gpsi, sqn, profile) VALUES (?1, ?2, ?3, ?4)"
                }
            };
            let outcome = transaction.prepare_cached(sql)?.execute(params![
                row.supi,
                row.gpsi,
                row.sqn as i64,
                row.profile
            ]);
            match outcome {
                Err(rusqlite::Error::SqliteFailure(error, _))
                    if error.code == rusqlite::ErrorCode::ConstraintViolation =>
                {
                    return Err(StoreError::Exists(format!(
                        "{} (or its telephone number)",
                        row.supi
                    )));
                }
                outcome => outcome?,
            };
            note(&transaction, &row.supi)?;
        }
        transaction.execute(
            "DELETE FROM change WHERE number <= (SELECT max(number) FROM change) - ?1",
            [CHANGES_KEPT],
        )?;
        transaction.commit()?;
        Ok(())
    }

    fn reseal(&self, supi: &str, from: &str, to: &str) -> Result<(), StoreError> {
        let sql = "UPDATE subscriber SET profile = ?3 WHERE supi = ?1 AND profile = ?2";
        self.alone()?.prepare_cached(sql)?.execute([supi, from, to])?;
        Ok(())
    }

    fn remove(&self, supi: &str) -> Result<bool, StoreError> {
        let mut opened = self.alone()?;
        let transaction = opened.connection.transaction()?;
        transaction.execute(
            "DELETE FROM context WHERE supi = ?1 AND kind <> ?2",
            [supi, TOLD_OF_CHANGES],
        )?;
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
        let sql = "SELECT supi, gpsi, sqn, profile FROM subscriber WHERE supi > ?1 ORDER BY supi \
                   LIMIT ?2";
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
        Ok(self.writing()?.prepare_cached(sql)?.execute(params![supi, from as i64, to as i64])?
            == 1)
    }

    fn put_context(
        &self,
        supi: &str,
        kind: &str,
        key: &str,
        value: &str,
    ) -> Result<bool, StoreError> {
        let connection = self.writing()?;
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
        Ok(connection
            .prepare_cached(sql)?
            .query_row(params![supi, kind, key], |row| row.get(0))
            .optional()?)
    }

    fn contexts(&self, supi: &str, kind: &str) -> Result<Vec<(String, String)>, StoreError> {
        let connection = self.connection();
        let sql = "SELECT key, value FROM context WHERE supi = ?1 AND kind = ?2 ORDER BY key";
        let mut statement = connection.prepare_cached(sql)?;
        let rows =
            statement.query_map(params![supi, kind], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn remove_context(&self, supi: &str, kind: &str, key: &str) -> Result<bool, StoreError> {
        let sql = "DELETE FROM context WHERE supi = ?1 AND kind = ?2 AND key = ?3";
        Ok(self.writing()?.prepare_cached(sql)?.execute(params![supi, kind, key])? > 0)
    }

    fn changes(&self, after: i64, limit: usize) -> Result<Vec<Change>, StoreError> {
        let connection = self.connection();
        let sql = "SELECT number, supi FROM change WHERE number > ?1 ORDER BY number LIMIT ?2";
        let mut statement = connection.prepare_cached(sql)?;
        let rows = statement.query_map(params![after, limit as i64], |row| {
            Ok(Change { number: row.get(0)?, supi: row.get(1)? })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn last_change(&self) -> Result<i64, StoreError> {
        let sql = "SELECT coalesce(max(number), 0) FROM change";
        Ok(self.connection().prepare_cached(sql)?.query_row([], |row| row.get(0))?)
    }

    fn version(&self) -> Result<Option<i64>, StoreError> {
        let mut opened = self.connection();
        // Nobody else writes while this connection gathers.
        if opened.looked && opened.is_gathering() {
            return Ok(opened.version);
        }
        opened.looked = true;
        let version =
            Some(opened.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?);
        if opened.version != version {
            let others = opened.version.is_some();
            opened.gathers =
                opened.gathers.map(|at| if others { Instant::now() + AMONG_OTHERS } else { at });
            opened.version = version;
        }
        Ok(version)
    }

    fn gathering(&self) -> Option<&Gathering> {
        Some(&self.gathering)
    }

    fn gather(&self, on: bool) -> Result<(), StoreError> {
        let mut opened = self.connection();
        opened.gathers = None;
        opened.commit()?;
        opened.skip_sequence_numbers(on)?;
        opened.gathers = on.then(Instant::now);
        Ok(())
    }

    fn commit(&self) -> Result<(), StoreError> {
        self.connection().commit()
    }
}
