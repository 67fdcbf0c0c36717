//! Subscribers and contexts in a database.
use crate::backend::{Backend, Change, Row};
use crate::postgres::Postgres;
use crate::seal::Seal;
use crate::sqlite::Sqlite;
use crate::{Place, StoreError, Subscriber};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

/// Subscribers kept in memory; beyond that, the memory starts anew.
pub(crate) const MOST_REMEMBERED: usize = 20_000;

/// Fields of a subscriber that are sealed.
const SEALED: [&str; 2] = ["key", "opc"];

/// Subscribers and contexts. In a file, calls take some ten microseconds and do not wait for the
/// disk: a write is in the file's log when a call returns, and on the disk with the next
/// checkpoint, so that a crash of the program loses nothing, and a loss of power the last moments;
/// [`Store::gather_writes`] makes fewer and larger writes of many. With PostgreSQL a
/// call is a round trip to the server, for which the caller waits.
///
/// Keys of subscribers are sealed with the operator's key ([`Seal`]) before they reach the
/// database.
pub struct Store {
    pub(crate) backend: Box<dyn Backend>,
    seal: Seal,
    memory: Mutex<Memory>,
}

#[derive(Default)]
struct Memory {
    /// Subscribers that were read, valid while nobody else writes.
    remembered: HashMap<String, Arc<Subscriber>>,
    /// The database's version, when that was last looked at.
    version: Option<i64>,
}

impl Store {
    /// Opens a file, and makes it where there is none; the operator's key is that of the
    /// environment, else of the file beside it, whose name ends in `.key`.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Store::open_at(&Place::File(path.into()), None)
    }

    /// Opens a place; `key_file` has the operator's key, where that is not in the environment.
    pub fn open_at(place: &Place, key_file: Option<&Path>) -> Result<Self, StoreError> {
        let backend: Box<dyn Backend> = match place {
            Place::Memory => Box::new(Sqlite::in_memory()?),
            Place::File(path) => Box::new(Sqlite::open(path)?),
            Place::Postgres(address) => Box::new(Postgres::open(address)?),
        };
        let seal = Seal::at(place, key_file)?;
        let store = Store { backend, seal, memory: Mutex::default() };
        store.seal_what_is_open()?;
        Ok(store)
    }

    /// A store without a file, for tests and trials.
    pub fn in_memory() -> Result<Self, StoreError> {
        Store::open_at(&Place::Memory, None)
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Has subscribers read again.
    pub(crate) fn forget(&self) {
        self.memory().remembered.clear();
    }

    /// Adds subscribers, all or none; with `replace`, in place of those that are there.
    pub fn add(&self, subscribers: &[Subscriber], replace: bool) -> Result<(), StoreError> {
        let row = |subscriber: &Subscriber| {
            subscriber.check()?;
            let gpsi = subscriber.msisdn.as_ref().map(|number| format!("msisdn-{number}"));
            let profile = self.sealed(&subscriber.supi, serde_json::to_value(subscriber)?)?;
            Ok(Row { supi: subscriber.supi.clone(), gpsi, sqn: subscriber.sqn, profile })
        };
        let rows = subscribers.iter().map(row).collect::<Result<Vec<_>, StoreError>>()?;
        self.backend.add(rows, replace)?;
        self.memory().remembered.clear();
        Ok(())
    }

    /// Removes a subscriber with its contexts, but for the subscriptions to its changes: whether it
    /// was there.
    pub fn remove(&self, supi: &str) -> Result<bool, StoreError> {
        let removed = self.backend.remove(supi)?;
        self.memory().remembered.remove(supi);
        Ok(removed)
    }

    /// A subscriber by SUPI.
    pub fn subscriber(&self, supi: &str) -> Result<Option<Arc<Subscriber>>, StoreError> {
        let version = self.backend.version()?;
        {
            let mut memory = self.memory();
            if memory.version != version {
                memory.remembered.clear();
                memory.version = version;
            }
            if let Some(remembered) = memory.remembered.get(supi) {
                return Ok(Some(remembered.clone()));
            }
        }
        let Some(row) = self.backend.row(supi)? else { return Ok(None) };
        let subscriber = Arc::new(self.parsed(&row)?);
        if version.is_some() {
            let mut memory = self.memory();
            if memory.remembered.len() >= MOST_REMEMBERED {
                memory.remembered.clear();
            }
            memory.remembered.insert(supi.to_string(), subscriber.clone());
        }
        Ok(Some(subscriber))
    }

    /// The SUPI of a telephone number, as `msisdn-` and digits.
    pub fn supi_of(&self, gpsi: &str) -> Result<Option<String>, StoreError> {
        self.backend.supi_of(gpsi)
    }

    /// Subscribers in the order of their SUPI, from the one after `after` on.
    pub fn list(&self, after: &str, limit: usize) -> Result<Vec<Subscriber>, StoreError> {
        self.backend.list(after, limit)?.iter().map(|row| self.parsed(row)).collect()
    }

    /// How many subscribers there are.
    pub fn count(&self) -> Result<u64, StoreError> {
        self.backend.count()
    }

    /// Moves the sequence number on from one value to another: false where it was not at the first
    /// any more, so that of two who read the same number only one may use the next.
    pub fn move_sqn(&self, supi: &str, from: u64, to: u64) -> Result<bool, StoreError> {
        let moved = self.backend.move_sqn(supi, from, to)?;
        let mut memory = self.memory();
        match memory.remembered.get_mut(supi) {
            Some(remembered) if moved => Arc::make_mut(remembered).sqn = to,
            _ => {
                memory.remembered.remove(supi);
            }
        }
        Ok(moved)
    }

    /// Puts a value in its place: true where there was none before.
    pub fn put_context(
        &self,
        supi: &str,
        kind: &str,
        key: &str,
        value: &str,
    ) -> Result<bool, StoreError> {
        self.backend.put_context(supi, kind, key, value)
    }

    /// A value.
    pub fn context(&self, supi: &str, kind: &str, key: &str) -> Result<Option<String>, StoreError> {
        self.backend.context(supi, kind, key)
    }

    /// All values of a kind with their keys.
    pub fn contexts(&self, supi: &str, kind: &str) -> Result<Vec<(String, String)>, StoreError> {
        self.backend.contexts(supi, kind)
    }

    /// Takes a value away: whether it was there.
    pub fn remove_context(&self, supi: &str, kind: &str, key: &str) -> Result<bool, StoreError> {
        self.backend.remove_context(supi, kind, key)
    }

    /// Subscribers that were added, changed or removed after this change, by whomever.
    pub fn changes(&self, after: i64, limit: usize) -> Result<Vec<Change>, StoreError> {
        self.backend.changes(after, limit)
    }

    /// The number of the last change.
    pub fn last_change(&self) -> Result<i64, StoreError> {
        self.backend.last_change()
    }

    /// A profile with its keys sealed.
    fn sealed(&self, supi: &str, mut profile: serde_json::Value) -> Result<String, StoreError> {
        for field in SEALED {
            if let Some(serde_json::Value::String(text)) = profile.get_mut(field) {
                *text = self.seal.seal_text(&format!("{supi}/{field}"), text)?;
            }
        }
        Ok(profile.to_string())
    }

    fn parsed(&self, row: &Row) -> Result<Subscriber, StoreError> {
        let mut profile: serde_json::Value = serde_json::from_str(&row.profile)?;
        for field in SEALED {
            if let Some(serde_json::Value::String(text)) = profile.get_mut(field) {
                *text = self.seal.open_text(&format!("{}/{field}", row.supi), text)?.0;
            }
        }
        let mut subscriber: Subscriber = serde_json::from_value(profile)?;
        subscriber.sqn = row.sqn;
        Ok(subscriber)
    }

    /// Seals the keys of a database of an earlier version, which has them open.
    fn seal_what_is_open(&self) -> Result<(), StoreError> {
        let is_open = |row: &Row| {
            let profile: serde_json::Value = serde_json::from_str(&row.profile).unwrap_or_default();
            profile["key"].as_str().is_some_and(|key| key.len() == 32)
        };
        // All rows are sealed or none: the first tells.
        let mut after = String::new();
        loop {
            let rows = self.backend.list(&after, if after.is_empty() { 1 } else { 1000 })?;
            let Some(last) = rows.last() else { return Ok(()) };
            if after.is_empty() && !is_open(last) {
                return Ok(());
            }
            for row in rows.iter().filter(|row| is_open(row)) {
                let sealed = self.sealed(&row.supi, serde_json::from_str(&row.profile)?)?;
                self.backend.reseal(&row.supi, &row.profile, &sealed)?;
            }
            after = last.supi.clone();
        }
    }
}
