//! The SQLite database: one file, one connection.
use crate::database::{
    Batches, Change, Database, Displaced, Group, GroupSignal, MAX_CHANGES, Row, SDM_SUBSCRIPTION,
    rows_of,
};
use crate::{StoreError, schema};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OptionalExtension, params};
use std::ops::Deref;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// How long a call waits for another process's write.
const BUSY_TIMEOUT: Duration = Duration::from_millis(5000);
/// Pause after a group, in which other processes can write.
const GROUP_PAUSE: Duration = Duration::from_millis(1);
/// Beginning a transaction takes longer than this only while another process writes.
const CONTENTION: Duration = Duration::from_micros(500);
/// After another process has written, each write is its own transaction for this long.
const SHARED_TIME: Duration = Duration::from_secs(1);

/// Bytes that the write-ahead log keeps for its next use.
const MAX_IDLE_LOG: i64 = 16 << 20;

/// Permissions of the database's files: access for the owner only.
const PRIVATE: u32 = 0o600;

/// Mark in the file header (`PRAGMA application_id`) while group commit is on.
const GROUP_COMMIT_MARK: i64 = 0x4d4c_4754;
/// How far sequence numbers advance after a kill: more than one lost group can have used. SEQ
/// stands above 5 bits of IND, and a USIM accepts a jump of 2^28 (TS 33.102, C.1.1.1 and C.2.1).
const SKIPPED_SQN: i64 = 4096 << 5;

/// A database file.
pub(crate) struct Sqlite {
    file: Mutex<OpenFile>,
    group_signal: GroupSignal,
}

/// The connection and its group of writes.
struct OpenFile {
    connection: Connection,
    /// With group commit, the earliest moment for the next group.
    next_group: Option<Instant>,
    /// The open group.
    group: Option<Group>,
    /// Whether the last transaction failed. Then each write is its own transaction, so that its
    /// caller gets the outcome of the commit.
    is_failing: bool,
    /// `PRAGMA data_version` when it was last read.
    version: Option<i64>,
    /// Whether `version` was read after the open group began.
    version_is_current: bool,
}

impl Deref for OpenFile {
    type Target = Connection;
    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl OpenFile {
    /// Whether a group is open. SQLite may end it itself, for example on a full disk.
    fn has_group(&self) -> bool {
        !self.connection.is_autocommit()
    }

    /// Opens a group if one may begin now. Returns whether it did.
    fn open_group(&mut self) -> Result<bool, StoreError> {
        let now = Instant::now();
        if self.has_group() {
            if self.group.is_some() {
                return Ok(false);
            }
            // The rollback of a failed group failed, too. A write in its transaction would not be
            // committed.
            self.connection.execute_batch("ROLLBACK")?;
            self.is_failing = true;
        }
        if let Some(group) = self.group.take() {
            // SQLite has ended the group after an error of one of its writes.
            self.is_failing = true;
            group.end(Err(Arc::new(StoreError::RolledBack)));
        }
        if self.is_failing || self.next_group.is_none_or(|at| now < at) {
            return Ok(false);
        }
        self.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        self.group = Some(Group::default());
        self.version_is_current = false;
        if now.elapsed() > CONTENTION {
            self.next_group = Some(now + SHARED_TIME);
        }
        Ok(true)
    }

    /// Marks the file for group commit, or removes the mark. A mark that exists already is from a
    /// killed process, whose last group may have used sequence numbers that were not written. All
    /// sequence numbers skip those.
    fn mark_group_commit(&mut self, on: bool) -> Result<(), StoreError> {
        let transaction = self.connection.transaction()?;
        let mark: i64 = transaction.query_row("PRAGMA application_id", [], |row| row.get(0))?;
        if on && mark == GROUP_COMMIT_MARK {
            let sql = "UPDATE subscriber SET sqn = sqn + ?1 WHERE sqn < ?2";
            transaction.execute(sql, [SKIPPED_SQN, (1 << 48) - 2 * SKIPPED_SQN])?;
        }
        transaction.pragma_update(
            None,
            "application_id",
            if on { GROUP_COMMIT_MARK } else { 0 },
        )?;
        Ok(transaction.commit()?)
    }

    /// Commits the open group. With `pause`, other processes can write before the next one.
    fn commit(&mut self, pause: bool) -> Result<(), StoreError> {
        let Some(group) = self.group.take() else { return Ok(()) };
        let outcome = match self.has_group() {
            true => self
                .connection
                .prepare_cached("COMMIT")
                .and_then(|mut commit| commit.execute([]))
                .map(drop)
                .map_err(StoreError::from),
            false => Err(StoreError::RolledBack),
        };
        if outcome.is_err() && self.has_group() {
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        self.is_failing = outcome.is_err();
        if pause {
            let next = Instant::now() + GROUP_PAUSE;
            self.next_group = self.next_group.map(|at| at.max(next));
        }
        let outcome = outcome.map_err(Arc::new);
        group.end(outcome.clone());
        outcome.map_err(StoreError::Group)
    }
}

/// The path for messages. What was meant as a URL may hold a password.
fn shown(path: &Path) -> String {
    crate::DatabaseUrl::File(path.into()).to_string()
}

/// Opens a file, creates it when it is missing, and migrates it.
pub(crate) fn connect(path: &Path) -> Result<Connection, StoreError> {
    let failed = |error: rusqlite::Error| {
        let reason =
            format!("{error}; check that the folder exists and that this user can write to it");
        StoreError::Open { path: shown(path), reason }
    };
    private_files(path).map_err(|error| StoreError::Open {
        path: shown(path),
        reason: format!("{error}; check that the folder exists and that this user can write to it"),
    })?;
    prepare(Connection::open(path).map_err(failed)?)
}

/// Creates the file with access for its owner only, and withdraws the access of others from the
/// existing file, its log and its journal. SQLite gives the files that it makes itself the
/// permissions of the database. The files of another owner are left to their owner, and a group
/// that is the owner's own keeps its access.
fn private_files(path: &Path) -> std::io::Result<()> {
    let create = std::fs::OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(path);
    match create {
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    for end in ["", "-wal", "-shm", "-journal"] {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        let Ok(metadata) = std::fs::symlink_metadata(&name) else { continue };
        let mode = metadata.permissions().mode();
        // Root prepares the files so for a process with a user of its own.
        let (uid, gid) = (metadata.uid(), metadata.gid());
        let is_prepared = mode & 0o777 == 0o660 && uid == gid && uid != 0;
        if !metadata.is_file() || mode & 0o077 == 0 || is_prepared {
            continue;
        }
        match std::fs::set_permissions(&name, std::fs::Permissions::from_mode(PRIVATE)) {
            Err(error) if error.kind() != std::io::ErrorKind::PermissionDenied => {
                return Err(error);
            }
            _ => {}
        }
    }
    Ok(())
}

fn prepare(mut connection: Connection) -> Result<Connection, StoreError> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // The log grows while another process reads for long, as a backup does, and else never shrinks.
    connection.pragma_update(None, "journal_size_limit", MAX_IDLE_LOG)?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.set_prepared_statement_cache_capacity(64);
    // Otherwise SQLite recompiles a statement when a parameter that affects its plan changes.
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
        let file = Mutex::new(OpenFile {
            connection,
            next_group: None,
            group: None,
            is_failing: false,
            version: None,
            version_is_current: false,
        });
        Sqlite { file, group_signal: GroupSignal::default() }
    }

    /// The connection for a read, which sees the open group.
    fn connection(&self) -> MutexGuard<'_, OpenFile> {
        self.file.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The connection for a write that may join a group.
    fn grouped(&self) -> Result<MutexGuard<'_, OpenFile>, StoreError> {
        let mut file = self.connection();
        if file.open_group()? {
            self.group_signal.open();
        }
        Ok(file)
    }

    /// The connection for a transaction of its own.
    fn ungrouped(&self) -> Result<MutexGuard<'_, OpenFile>, StoreError> {
        let mut file = self.connection();
        // The writers of the group get its error.
        let _ = file.commit(true);
        Ok(file)
    }

    /// Runs a write that may join a group.
    fn write<T>(
        &self,
        write: impl FnOnce(&OpenFile) -> rusqlite::Result<T>,
    ) -> Result<(T, Option<Group>), StoreError> {
        let mut file = self.grouped()?;
        let outcome = write(&file);
        if !file.has_group() {
            file.is_failing = outcome.is_err();
        }
        Ok((outcome?, file.group.clone().filter(|_| file.has_group())))
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        if let Err(error) = self.connection().commit(true) {
            eprintln!("martlet: subscriber database: last group commit failed: {error}");
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

fn record_change(transaction: &rusqlite::Transaction<'_>, supi: &str) -> rusqlite::Result<()> {
    transaction.prepare_cached("INSERT INTO change (supi) VALUES (?1)")?.execute([supi]).map(drop)
}

/// The outcome of a write, or that its SUPI or MSISDN is another subscriber's.
fn unless_exists(outcome: rusqlite::Result<usize>, supi: &str) -> Result<usize, StoreError> {
    match outcome {
        Err(rusqlite::Error::SqliteFailure(error, _))
            if error.code == rusqlite::ErrorCode::ConstraintViolation =>
        {
            Err(StoreError::Exists(format!("{supi} (or its MSISDN)")))
        }
        outcome => Ok(outcome?),
    }
}

impl Database for Sqlite {
    fn add(&self, batches: &mut Batches<'_>, replace: bool) -> Result<(), StoreError> {
        let mut file = self.ungrouped()?;
        let transaction = file.connection.transaction()?;
        let sql = match replace {
            true => {
                "INSERT OR REPLACE INTO subscriber (supi, gpsi, sqn, profile) VALUES (?1, ?2, ?3, \
                 ?4)"
            }
            false => "INSERT INTO subscriber (supi, gpsi, sqn, profile) VALUES (?1, ?2, ?3, ?4)",
        };
        let of_gpsi = "SELECT supi FROM subscriber WHERE gpsi = ?1 AND supi <> ?2";
        let mut displaced = Displaced::default();
        for row in batches.flat_map(rows_of) {
            let row = row?;
            if replace && let Some(gpsi) = &row.gpsi {
                let other: Option<String> = transaction
                    .prepare_cached(of_gpsi)?
                    .query_row([gpsi, &row.supi], |row| row.get(0))
                    .optional()?;
                other.into_iter().for_each(|other| displaced.add(other, &row.supi));
            }
            let outcome = transaction.prepare_cached(sql)?.execute(params![
                row.supi,
                row.gpsi,
                row.sqn as i64,
                row.profile
            ]);
            unless_exists(outcome, &row.supi)?;
            displaced.added(&row.supi);
            record_change(&transaction, &row.supi)?;
        }
        displaced.check()?;
        transaction.execute(
            "DELETE FROM change WHERE number <= (SELECT max(number) FROM change) - ?1",
            [MAX_CHANGES],
        )?;
        transaction.commit()?;
        Ok(())
    }

    fn change(
        &self,
        supi: &str,
        gpsi: Option<&str>,
        from: &str,
        to: &str,
    ) -> Result<(), StoreError> {
        let mut file = self.ungrouped()?;
        let transaction = file.connection.transaction()?;
        let sql = "UPDATE subscriber SET gpsi = ?2, profile = ?4 WHERE supi = ?1 AND profile = ?3";
        let outcome = transaction.execute(sql, params![supi, gpsi, from, to]);
        if unless_exists(outcome, supi)? == 0 {
            return Err(StoreError::Concurrent(supi.into()));
        }
        record_change(&transaction, supi)?;
        transaction.commit()?;
        Ok(())
    }

    fn reseal(&self, supi: &str, from: &str, to: &str) -> Result<(), StoreError> {
        let sql = "UPDATE subscriber SET profile = ?3 WHERE supi = ?1 AND profile = ?2";
        self.ungrouped()?.prepare_cached(sql)?.execute([supi, from, to])?;
        Ok(())
    }

    fn remove(&self, supi: &str, profile: Option<&str>) -> Result<bool, StoreError> {
        let mut file = self.ungrouped()?;
        let transaction = file.connection.transaction()?;
        let sql = "DELETE FROM subscriber WHERE supi = ?1 AND (?2 IS NULL OR profile = ?2)";
        let removed = transaction.execute(sql, params![supi, profile])? > 0;
        if !removed && profile.is_some() {
            return Ok(false);
        }
        transaction.execute(
            "DELETE FROM context WHERE supi = ?1 AND kind <> ?2",
            [supi, SDM_SUBSCRIPTION],
        )?;
        if removed {
            record_change(&transaction, supi)?;
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

    fn list_descending(&self, before: &str, limit: usize) -> Result<Vec<Row>, StoreError> {
        let connection = self.connection();
        let sql = "SELECT supi, gpsi, sqn, profile FROM subscriber WHERE supi < ?1 ORDER BY supi \
                   DESC LIMIT ?2";
        let mut statement = connection.prepare_cached(sql)?;
        let rows = statement.query_map(params![before, limit as i64], row)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    fn count(&self) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM subscriber";
        let count: i64 = self.connection().prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        Ok(count as u64)
    }

    fn advance_sqn(
        &self,
        supi: &str,
        from: u64,
        to: u64,
    ) -> Result<(bool, Option<Group>), StoreError> {
        let sql = "UPDATE subscriber SET sqn = ?3 WHERE supi = ?1 AND sqn = ?2";
        self.write(|file| {
            Ok(file.prepare_cached(sql)?.execute(params![supi, from as i64, to as i64])? == 1)
        })
    }

    fn put_context(
        &self,
        supi: &str,
        kind: &str,
        key: &str,
        value: &str,
    ) -> Result<bool, StoreError> {
        let update = "UPDATE context SET value = ?4 WHERE supi = ?1 AND kind = ?2 AND key = ?3";
        let insert = "INSERT INTO context (supi, kind, key, value) VALUES (?1, ?2, ?3, ?4)";
        let (is_new, _) = self.write(|file| {
            let values = params![supi, kind, key, value];
            if file.prepare_cached(update)?.execute(values)? > 0 {
                return Ok(false);
            }
            file.prepare_cached(insert)?.execute(values)?;
            Ok(true)
        })?;
        Ok(is_new)
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
        let (removed, _) = self
            .write(|file| Ok(file.prepare_cached(sql)?.execute(params![supi, kind, key])? > 0))?;
        Ok(removed)
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
        let mut file = self.connection();
        // No other connection writes while this one has a group open.
        if file.version_is_current && file.has_group() {
            return Ok(file.version);
        }
        file.version_is_current = true;
        let version =
            Some(file.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?);
        if file.version != version {
            let is_first_read = file.version.is_none();
            let postponed = Instant::now() + SHARED_TIME;
            file.next_group = file.next_group.map(|at| if is_first_read { at } else { postponed });
            file.version = version;
        }
        Ok(version)
    }

    fn group_signal(&self) -> Option<&GroupSignal> {
        Some(&self.group_signal)
    }

    fn set_group_commit(&self, on: bool) -> Result<(), StoreError> {
        let mut file = self.connection();
        file.next_group = None;
        file.commit(true)?;
        file.mark_group_commit(on)?;
        file.next_group = on.then(Instant::now);
        Ok(())
    }

    fn commit(&self, pause: bool) -> Result<(), StoreError> {
        self.connection().commit(pause)
    }
}
