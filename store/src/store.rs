//! The store: subscribers and their contexts, with keys encrypted and reads cached.
use crate::database::{Change, Database, Group, Row};
use crate::postgres::Postgres;
use crate::seal::Seal;
use crate::sqlite::Sqlite;
use crate::{DatabaseUrl, StoreError, SubscribedSlice, Subscriber};
use std::borrow::Borrow;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use zeroize::Zeroize;

/// Subscribers in the cache; a full cache is cleared.
const MAX_CACHED: usize = 20_000;

/// Size of the value of a probe: more than one page of the database.
const PROBE_BYTES: usize = 8192;

/// Fields of a subscriber that are encrypted.
const SEALED_FIELDS: [&str; 4] = ["key", "opc", "tuak/topc", "tuak/key"];

/// Where the reason of a failed write is.
const SEE_LOG: &str = "see the log event `subscriber database failed`";

/// Subscribers of an import that are sealed and written together.
const BATCH: usize = 500;

/// Subscribers of which the operator's key has to open one.
const KEY_SAMPLES: usize = 8;

/// Subscribers and their contexts.
///
/// With an SQLite file a call takes some ten microseconds and does not wait for the disk: a write
/// is in the write-ahead log when the call returns. [`Store::group_commits`] makes one transaction
/// of several writes. With PostgreSQL a call blocks for a round trip to the server.
pub struct Store {
    pub(crate) database: Box<dyn Database>,
    seal: Seal,
    cache: Mutex<Cache>,
    /// What to do about the last write, if it failed.
    failure: Mutex<Option<&'static str>>,
}

#[derive(Default)]
struct Cache {
    /// Subscribers that were read; valid until another connection writes.
    subscribers: HashMap<String, Arc<Subscriber>>,
    /// The database's version when it was last read.
    version: Option<i64>,
}

impl Store {
    /// Opens an SQLite file and creates it when it is missing. The operator's key comes from the
    /// environment, else from the file of the same name with `.key` appended.
    ///
    /// # Errors
    /// As [`Store::open_at`].
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Store::open_at(&DatabaseUrl::File(path.into()), None)
    }

    /// Opens a database. `key_file` holds the operator's key if the environment does not.
    ///
    /// # Errors
    /// The database cannot be opened, a later version has written it, or the key is invalid.
    pub fn open_at(url: &DatabaseUrl, key_file: Option<&Path>) -> Result<Self, StoreError> {
        let database: Box<dyn Database> = match url {
            DatabaseUrl::Memory => Box::new(Sqlite::in_memory()?),
            DatabaseUrl::File(path) => Box::new(Sqlite::open(path)?),
            DatabaseUrl::Postgres(url) => Box::new(Postgres::open(url)?),
        };
        let seal = Seal::for_database(url, key_file)?;
        let (cache, failure) = (Mutex::default(), Mutex::default());
        let store = Store { database, seal, cache, failure };
        store.seal_plain_keys()?;
        Ok(store)
    }

    /// Opens an empty store in memory, for tests.
    ///
    /// # Errors
    /// SQLite or the random number generator fails.
    pub fn in_memory() -> Result<Self, StoreError> {
        Store::open_at(&DatabaseUrl::Memory, None)
    }

    /// Whether a call waits for a server, and must therefore not run in an asynchronous task.
    pub fn is_remote(&self) -> bool {
        self.database.is_remote()
    }

    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Makes the next reads go to the database.
    pub(crate) fn clear_cache(&self) {
        self.cache().subscribers.clear();
    }

    /// Adds subscribers, all or none; with `replace`, in place of existing ones with their SUPIs.
    ///
    /// # Errors
    /// A subscriber is invalid, exists and is not to be replaced, or has the MSISDN of another one
    /// that is not among them.
    pub fn add(&self, subscribers: &[Subscriber], replace: bool) -> Result<(), StoreError> {
        let subscribers = subscribers.iter().map(Ok::<_, StoreError>);
        self.import(subscribers, replace).map(drop)
    }

    /// Adds subscribers one after the other, all or none; with `replace`, in place of existing
    /// ones. Memory does not grow with their number. Returns the number. Without `replace`, the
    /// operator's key has to be that of the subscribers that exist.
    ///
    /// # Errors
    /// As [`Store::add`] and [`Store::check_key`], or the first error of the iterator. Nothing has
    /// been added then.
    pub fn import<S: Borrow<Subscriber>, E: From<StoreError>>(
        &self,
        subscribers: impl Iterator<Item = Result<S, E>>,
        replace: bool,
    ) -> Result<u64, E> {
        let row = |subscriber: &Subscriber| {
            subscriber.check()?;
            let gpsi = subscriber.msisdn.as_ref().map(|number| format!("msisdn-{number}"));
            let profile = self.sealed(&subscriber.supi, serde_json::to_value(subscriber)?)?;
            Ok(Row { supi: subscriber.supi.clone(), gpsi, sqn: subscriber.sqn, profile })
        };
        // Who has lost the key replaces all subscribers.
        if !replace {
            self.check_key()?;
        }
        let (mut failed, mut count) = (None, 0);
        let mut subscribers = subscribers.fuse();
        let mut batches = std::iter::from_fn(|| {
            let mut rows = Vec::new();
            for subscriber in subscribers.by_ref().take(BATCH) {
                match subscriber {
                    Ok(subscriber) => match row(subscriber.borrow()) {
                        Ok(row) => rows.push(row),
                        Err(error) => return Some(Err(error)),
                    },
                    Err(error) => {
                        failed = Some(error);
                        return Some(Err(StoreError::Cancelled));
                    }
                }
            }
            count += rows.len() as u64;
            Some(Ok(rows)).filter(|rows: &Result<Vec<Row>, StoreError>| {
                rows.as_ref().is_ok_and(|rows| !rows.is_empty())
            })
        });
        let outcome = self.database.add(&mut batches, replace);
        self.cache().subscribers.clear();
        match (failed, outcome) {
            (Some(error), _) => Err(error),
            (None, outcome) => outcome.map(|()| count).map_err(E::from),
        }
    }

    /// Changes a subscriber and returns it. The sequence number stays that of the database, which a
    /// running core may advance at the same time.
    ///
    /// # Errors
    /// An error of `change`, which then changes nothing; or the changed subscriber is invalid, or
    /// its MSISDN is another one's.
    pub fn change<E: From<StoreError>>(
        &self,
        supi: &str,
        change: impl FnOnce(&mut Subscriber) -> Result<(), E>,
    ) -> Result<Option<Subscriber>, E> {
        let Some(row) = self.database.row(supi)? else { return Ok(None) };
        let mut subscriber = self.parsed(&row)?;
        change(&mut subscriber)?;
        subscriber.check().map_err(StoreError::from)?;
        let gpsi = subscriber.msisdn.as_ref().map(|number| format!("msisdn-{number}"));
        let value = serde_json::to_value(&subscriber).map_err(StoreError::from)?;
        let profile = self.sealed(supi, value)?;
        self.database.change(supi, gpsi.as_deref(), &row.profile, &profile)?;
        self.cache().subscribers.remove(supi);
        Ok(Some(subscriber))
    }

    /// Removes a subscriber and its contexts, except the subscriptions to changes of its data.
    /// Returns whether it existed.
    pub fn remove(&self, supi: &str) -> Result<bool, StoreError> {
        let removed = self.database.remove(supi, None)?;
        self.cache().subscribers.remove(supi);
        Ok(removed)
    }

    /// Removes a subscriber as [`Store::remove`] does, if `check` admits it, and returns it. What
    /// is removed is what `check` has seen.
    ///
    /// # Errors
    /// An error of `check`, which then removes nothing; or [`StoreError::Concurrent`]: it was
    /// changed or removed after `check` had seen it.
    pub fn remove_if<E: From<StoreError>>(
        &self,
        supi: &str,
        check: impl FnOnce(&Subscriber) -> Result<(), E>,
    ) -> Result<Option<Subscriber>, E> {
        let Some(row) = self.database.row(supi)? else { return Ok(None) };
        let subscriber = self.parsed(&row)?;
        check(&subscriber)?;
        let removed = self.database.remove(supi, Some(&row.profile))?;
        self.cache().subscribers.remove(supi);
        match removed {
            true => Ok(Some(subscriber)),
            false => Err(StoreError::Concurrent(supi.into()).into()),
        }
    }

    /// Returns a subscriber by SUPI.
    pub fn subscriber(&self, supi: &str) -> Result<Option<Arc<Subscriber>>, StoreError> {
        let version = self.database.version()?;
        {
            let mut cache = self.cache();
            if cache.version != version {
                cache.subscribers.clear();
                cache.version = version;
            }
            if let Some(cached) = cache.subscribers.get(supi) {
                return Ok(Some(cached.clone()));
            }
        }
        let Some(row) = self.database.row(supi)? else { return Ok(None) };
        let subscriber = Arc::new(self.parsed(&row)?);
        if version.is_some() {
            let mut cache = self.cache();
            if cache.subscribers.len() >= MAX_CACHED {
                cache.subscribers.clear();
            }
            cache.subscribers.insert(supi.to_string(), subscriber.clone());
        }
        Ok(Some(subscriber))
    }

    /// Returns the SUPI of a GPSI: `msisdn-` and digits.
    pub fn supi_of(&self, gpsi: &str) -> Result<Option<String>, StoreError> {
        self.database.supi_of(gpsi)
    }

    /// Returns subscribers in the order of their SUPI, beginning after `after`.
    pub fn list(&self, after: &str, limit: usize) -> Result<Vec<Subscriber>, StoreError> {
        self.database.list(after, limit)?.iter().map(|row| self.parsed(row)).collect()
    }

    /// Returns subscribers as [`Store::list`] does, with zeros in place of their keys, and without
    /// TUAK: showing subscriptions decrypts no key.
    pub fn list_without_keys(
        &self,
        after: &str,
        limit: usize,
    ) -> Result<Vec<Subscriber>, StoreError> {
        self.database.list(after, limit)?.iter().map(parsed_without_keys).collect()
    }

    /// Returns subscribers as [`Store::list_without_keys`] does, in the descending order of their
    /// SUPI, beginning before `before`.
    pub fn list_descending_without_keys(
        &self,
        before: &str,
        limit: usize,
    ) -> Result<Vec<Subscriber>, StoreError> {
        self.database.list_descending(before, limit)?.iter().map(parsed_without_keys).collect()
    }

    /// Counts the subscribers.
    pub fn count(&self) -> Result<u64, StoreError> {
        self.database.count()
    }

    /// Advances the sequence number from `from` to `to`. Returns `false` if it was not `from`, so
    /// that only one of two concurrent callers may use the new number. The number is committed
    /// when the call returns.
    ///
    /// # Errors
    /// The database failed. The number must not be used.
    pub fn advance_sqn(&self, supi: &str, from: u64, to: u64) -> Result<bool, StoreError> {
        let (advanced, group) = self.begin_advance(supi, from, to)?;
        self.end_advance(supi, advanced, group)
    }

    /// The same for several tasks of one thread: those that run at the same time share a
    /// transaction.
    ///
    /// # Errors
    /// The database failed. The number must not be used.
    pub async fn advance_sqn_in_group(
        &self,
        supi: &str,
        from: u64,
        to: u64,
    ) -> Result<bool, StoreError> {
        let (advanced, group) = self.begin_advance(supi, from, to)?;
        if group.is_some() {
            // The tasks that are ready now join the group.
            tokio::task::yield_now().await;
        }
        self.end_advance(supi, advanced, group)
    }

    fn begin_advance(
        &self,
        supi: &str,
        from: u64,
        to: u64,
    ) -> Result<(bool, Option<Group>), StoreError> {
        let outcome = self.database.advance_sqn(supi, from, to);
        if let Err(error) = &outcome {
            self.cache().subscribers.remove(supi);
            self.written(Some(error));
        }
        let (advanced, group) = outcome?;
        let mut cache = self.cache();
        match cache.subscribers.get_mut(supi) {
            Some(cached) if advanced => Arc::make_mut(cached).sqn = to,
            _ => {
                cache.subscribers.remove(supi);
            }
        }
        Ok((advanced, group))
    }

    /// Commits the group of an advanced number, unless another one of its writers has done so.
    fn end_advance(
        &self,
        supi: &str,
        advanced: bool,
        group: Option<Group>,
    ) -> Result<bool, StoreError> {
        if !advanced {
            return Ok(false);
        }
        if let Some(group) = group {
            if group.outcome().is_none() {
                let _ = self.database.commit(false);
            }
            let outcome = group.outcome().unwrap_or(Err(StoreError::Ended));
            if let Err(error) = outcome {
                self.cache().subscribers.remove(supi);
                self.written(Some(&error));
                return Err(error);
            }
        }
        self.written(None);
        Ok(true)
    }

    /// Records whether the last write failed.
    pub(crate) fn written(&self, error: Option<&StoreError>) {
        if error.is_some_and(|error| !error.is_failure()) {
            return;
        }
        let mut failure = self.failure.lock().unwrap_or_else(|e| e.into_inner());
        if failure.is_some() || error.is_some() {
            *failure = error.map(|error| error.remedy().unwrap_or(SEE_LOG));
        }
    }

    /// What the operator can do about the last write, which failed. `None` if it succeeded.
    pub fn failure(&self) -> Option<&'static str> {
        *self.failure.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Writes and removes a value, to test whether writes succeed again.
    ///
    /// # Errors
    /// The database failed.
    pub fn probe(&self) -> Result<(), StoreError> {
        // PostgreSQL compresses long values: this one must need its length on a full disk.
        let mut bytes = [0; PROBE_BYTES / 2];
        let _ = getrandom::fill(&mut bytes);
        let outcome = self
            .database
            .put_context("", "probe", "", &hex::encode(bytes))
            .and_then(|_| self.database.remove_context("", "probe", ""))
            .and_then(|_| self.database.commit(true));
        self.written(outcome.as_ref().err());
        outcome
    }

    /// Writes a context of a subscriber. Returns whether it is new.
    pub fn put_context(
        &self,
        supi: &str,
        kind: &str,
        key: &str,
        value: &str,
    ) -> Result<bool, StoreError> {
        let outcome = self.database.put_context(supi, kind, key, value);
        if let Err(error) = &outcome {
            self.written(Some(error));
        }
        outcome
    }

    /// Returns a context.
    pub fn context(&self, supi: &str, kind: &str, key: &str) -> Result<Option<String>, StoreError> {
        self.database.context(supi, kind, key)
    }

    /// Returns all contexts of a kind with their keys.
    pub fn contexts(&self, supi: &str, kind: &str) -> Result<Vec<(String, String)>, StoreError> {
        self.database.contexts(supi, kind)
    }

    /// Removes a context. Returns whether it existed.
    pub fn remove_context(&self, supi: &str, kind: &str, key: &str) -> Result<bool, StoreError> {
        self.database.remove_context(supi, kind, key)
    }

    /// Returns the changes of subscribers after this one, by any process.
    pub fn changes(&self, after: i64, limit: usize) -> Result<Vec<Change>, StoreError> {
        self.database.changes(after, limit)
    }

    /// Returns the number of the last change.
    pub fn last_change(&self) -> Result<i64, StoreError> {
        self.database.last_change()
    }

    /// Returns a profile with its keys encrypted.
    fn sealed(&self, supi: &str, mut profile: serde_json::Value) -> Result<String, StoreError> {
        for field in SEALED_FIELDS {
            if let Some(serde_json::Value::String(text)) = profile.pointer_mut(&format!("/{field}"))
            {
                let sealed = self.seal.seal_text(&format!("{supi}/{field}"), text)?;
                text.zeroize();
                *text = sealed;
            }
        }
        Ok(profile.to_string())
    }

    pub(crate) fn parsed(&self, row: &Row) -> Result<Subscriber, StoreError> {
        opened(&self.seal, row)
    }

    /// Checks that the operator's key opens subscribers of the database. A damaged one among those
    /// that it opens is no error.
    ///
    /// # Errors
    /// [`StoreError::Sealed`]: they were encrypted with another key, as that of another machine. Or
    /// the database failed.
    pub fn check_key(&self) -> Result<(), StoreError> {
        let mut refused = None;
        for row in self.database.list("", KEY_SAMPLES)? {
            match self.parsed(&row) {
                Err(error @ StoreError::Sealed(_)) => refused = Some(error),
                _ => return Ok(()),
            }
        }
        refused.map_or(Ok(()), Err)
    }

    /// Encrypts the keys of a database of an earlier version, which stored them as they are.
    fn seal_plain_keys(&self) -> Result<(), StoreError> {
        let is_plain = |row: &Row| {
            let profile: serde_json::Value = serde_json::from_str(&row.profile).unwrap_or_default();
            profile["key"].as_str().is_some_and(|key| key.len() == 32)
        };
        // All rows are encrypted or none, so that the first decides.
        let mut after = String::new();
        loop {
            let rows = self.database.list(&after, if after.is_empty() { 1 } else { 1000 })?;
            let Some(last) = rows.last() else { return Ok(()) };
            if after.is_empty() && !is_plain(last) {
                return Ok(());
            }
            for row in rows.iter().filter(|row| is_plain(row)) {
                let sealed = self.sealed(&row.supi, serde_json::from_str(&row.profile)?)?;
                self.database.reseal(&row.supi, &row.profile, &sealed)?;
            }
            after = last.supi.clone();
        }
    }
}

/// A subscriber of a row, with its keys decrypted.
pub(crate) fn opened(seal: &Seal, row: &Row) -> Result<Subscriber, StoreError> {
    let mut profile: serde_json::Value = serde_json::from_str(&row.profile)?;
    for field in SEALED_FIELDS {
        if let Some(serde_json::Value::String(text)) = profile.pointer_mut(&format!("/{field}")) {
            *text = seal.open_text(&format!("{}/{field}", row.supi), text)?.0;
        }
    }
    let mut subscriber: Subscriber = serde_json::from_value(profile)?;
    subscriber.sqn = row.sqn;
    subscriber.slices.iter_mut().for_each(SubscribedSlice::merge_equal_networks);
    Ok(subscriber)
}

/// A subscriber of a row, with zeros in place of its keys, and without TUAK.
pub(crate) fn parsed_without_keys(row: &Row) -> Result<Subscriber, StoreError> {
    let mut profile: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(&row.profile)?;
    profile.remove("tuak");
    for field in ["key", "opc"] {
        profile.insert(field.into(), "00000000000000000000000000000000".into());
    }
    let mut subscriber: Subscriber = serde_json::from_value(profile.into())?;
    subscriber.sqn = row.sqn;
    subscriber.slices.iter_mut().for_each(SubscribedSlice::merge_equal_networks);
    Ok(subscriber)
}
