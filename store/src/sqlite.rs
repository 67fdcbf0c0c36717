//! The file and the connection to it.
use crate::{StoreError, Subscriber, schema};
use rusqlite::Connection;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// Subscribers kept in memory; beyond that, the memory starts anew.
pub(crate) const MOST_REMEMBERED: usize = 20_000;

/// How long another process's write is waited for.
const PATIENCE: Duration = Duration::from_millis(2000);

/// Subscribers and contexts in a file. Calls take some ten microseconds and do not wait for the disk: a write is in the
/// file's log when a call returns, and on the disk with the next checkpoint, so that a crash of the program loses
/// nothing, and a loss of power the last moments.
pub struct Store {
    inner: Mutex<Inner>,
}

pub(crate) struct Inner {
    pub connection: Connection,
    /// Subscribers that were read, valid while nobody else writes.
    pub remembered: HashMap<String, Arc<Subscriber>>,
    /// SQLite's count of others' writes, when that was last looked at.
    pub data_version: i64,
}

impl Store {
    /// Opens a file, and makes it where there is none.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let failed = |error: rusqlite::Error| {
            let reason = format!("{error}; is the folder there, and may this user write to it?");
            StoreError::Open { path: path.display().to_string(), reason }
        };
        Self::prepare(Connection::open(path).map_err(failed)?)
    }

    /// A store without a file, for tests and trials.
    pub fn in_memory() -> Result<Self, StoreError> {
        Self::prepare(Connection::open_in_memory()?)
    }

    fn prepare(mut connection: Connection) -> Result<Self, StoreError> {
        connection.busy_timeout(PATIENCE)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.set_prepared_statement_cache_capacity(64);
        schema::migrate(&mut connection)?;
        let inner = Inner { connection, remembered: HashMap::new(), data_version: -1 };
        Ok(Store { inner: Mutex::new(inner) })
    }

    pub(crate) fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl Inner {
    /// Forgets what is remembered if another connection has written since.
    pub fn freshen(&mut self) -> Result<(), StoreError> {
        let version = self.connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
        if version != self.data_version {
            self.remembered.clear();
            self.data_version = version;
        }
        Ok(())
    }
}
