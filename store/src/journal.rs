//! Contexts of a network function, kept so that it can be killed and started again.
//!
//! A function hands over what it knows, and goes on: a thread writes what has changed a moment later, many contexts in one
//! transaction, and of a context that changed several times the last. A function that is killed loses what it learnt
//! within that moment ([`Journal::interval`]); one that ends in order loses nothing. Values are sealed with the operator's
//! key, since they hold keys of UEs.
use crate::seal::Seal;
use crate::{Place, StoreError, postgres, schema, sqlite};
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

/// Rows that are written in one transaction.
const MOST_AT_ONCE: usize = 2000;
/// Between attempts to write to a database that fails.
const PAUSE: Duration = Duration::from_millis(500);
/// How long the end of a function waits for a database that fails.
const LAST_ATTEMPTS: u32 = 3;

pub(crate) enum Database {
    Sqlite(rusqlite::Connection),
    Postgres(Box<::postgres::Client>, String),
}

impl Database {
    pub(crate) fn open(place: &Place) -> Result<Database, StoreError> {
        match place {
            Place::Memory => Err(StoreError::Key("a journal in memory outlives nothing".into())),
            Place::File(path) => sqlite::connect(path).map(Database::Sqlite),
            Place::Postgres(address) => {
                let mut client = postgres::connect(address)?;
                schema::migrate_postgres(&mut client)?;
                Ok(Database::Postgres(client.into(), address.clone()))
            }
        }
    }

    pub(crate) fn load(&mut self, owner: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        match self {
            Database::Sqlite(connection) => {
                let mut statement = connection.prepare("SELECT id, value FROM state WHERE owner = ?1 ORDER BY id")?;
                let rows = statement.query_map([owner], |row| Ok((row.get(0)?, row.get(1)?)))?;
                Ok(rows.collect::<Result<_, _>>()?)
            }
            Database::Postgres(client, _) => {
                let rows = client.query("SELECT id, value FROM state WHERE owner = $1 ORDER BY id", &[&owner])?;
                Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
            }
        }
    }

    /// The owners whose names begin so.
    pub(crate) fn owners(&mut self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let length = i32::try_from(prefix.len()).unwrap_or(i32::MAX);
        match self {
            Database::Sqlite(connection) => {
                let sql = "SELECT DISTINCT owner FROM state WHERE substr(owner, 1, ?1) = ?2 ORDER BY owner";
                let mut statement = connection.prepare(sql)?;
                let rows = statement.query_map(rusqlite::params![length, prefix], |row| row.get(0))?;
                Ok(rows.collect::<Result<_, _>>()?)
            }
            Database::Postgres(client, _) => {
                let sql = "SELECT DISTINCT owner FROM state WHERE substr(owner, 1, $1) = $2 ORDER BY owner";
                Ok(client.query(sql, &[&length, &prefix])?.iter().map(|row| row.get(0)).collect())
            }
        }
    }

    /// One row.
    pub(crate) fn get(&mut self, owner: &str, id: &str) -> Result<Option<Vec<u8>>, StoreError> {
        match self {
            Database::Sqlite(connection) => {
                let mut statement = connection.prepare("SELECT value FROM state WHERE owner = ?1 AND id = ?2")?;
                let mut rows = statement.query_map([owner, id], |row| row.get(0))?;
                Ok(rows.next().transpose()?)
            }
            Database::Postgres(client, _) => {
                let sql = "SELECT value FROM state WHERE owner = $1 AND id = $2";
                Ok(client.query_opt(sql, &[&owner, &id])?.map(|row| row.get(0)))
            }
        }
    }

    /// Takes a row away; whether it was there.
    pub(crate) fn take(&mut self, owner: &str, id: &str) -> Result<bool, StoreError> {
        let taken = match self {
            Database::Sqlite(connection) => {
                connection.execute("DELETE FROM state WHERE owner = ?1 AND id = ?2", [owner, id])? as u64
            }
            Database::Postgres(client, address) => {
                if client.is_closed() {
                    **client = postgres::connect(address)?;
                }
                client.execute("DELETE FROM state WHERE owner = $1 AND id = $2", &[&owner, &id])?
            }
        };
        Ok(taken == 1)
    }

    fn write(&mut self, owner: &str, batch: &[(String, Option<Vec<u8>>)]) -> Result<(), StoreError> {
        match self {
            Database::Sqlite(connection) => {
                let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
                for (id, value) in batch {
                    match value {
                        Some(value) => {
                            let sql = "INSERT INTO state (owner, id, value) VALUES (?1, ?2, ?3) \
                                       ON CONFLICT (owner, id) DO UPDATE SET value = excluded.value";
                            transaction.prepare_cached(sql)?.execute(rusqlite::params![owner, id, value])?
                        }
                        None => {
                            let sql = "DELETE FROM state WHERE owner = ?1 AND id = ?2";
                            transaction.prepare_cached(sql)?.execute([owner, id])?
                        }
                    };
                }
                Ok(transaction.commit()?)
            }
            Database::Postgres(client, address) => {
                if client.is_closed() {
                    **client = postgres::connect(address)?;
                }
                let of = |put: bool| batch.iter().filter(move |(_, value)| value.is_some() == put);
                let (ids, values): (Vec<&str>, Vec<&[u8]>) =
                    of(true).map(|(id, value)| (id.as_str(), value.as_deref().unwrap_or_default())).unzip();
                let gone: Vec<&str> = of(false).map(|(id, _)| id.as_str()).collect();
                let mut transaction = client.transaction()?;
                // One statement for all: a round trip, not one for each.
                let sql = "INSERT INTO state (owner, id, value) SELECT $1, * FROM unnest($2::text[], $3::bytea[]) \
                           ON CONFLICT (owner, id) DO UPDATE SET value = excluded.value";
                transaction.execute(sql, &[&owner, &ids, &values])?;
                transaction.execute("DELETE FROM state WHERE owner = $1 AND id = ANY($2)", &[&owner, &gone])?;
                Ok(transaction.commit()?)
            }
        }
    }
}

#[derive(Default)]
struct Waiting {
    /// The last value of each context that has changed; none for one that is gone.
    changed: HashMap<String, Option<Vec<u8>>>,
    /// Changes handed over, and changes written.
    handed_over: u64,
    written: u64,
    ending: bool,
}

struct Shared {
    waiting: Mutex<Waiting>,
    stirred: Condvar,
    written: Condvar,
    failures: AtomicU64,
    interval: Duration,
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// A function's contexts. Dropped, it writes what is left.
pub struct Journal {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// The contexts that were kept, by their identity.
pub type Kept = Vec<(String, Vec<u8>)>;

impl Journal {
    /// Opens a place, and gives the contexts that this owner has there. What changes is written after `interval`.
    ///
    /// # Errors
    /// The database cannot be opened, or holds contexts that were sealed with another key.
    pub fn open(
        place: &Place,
        key_file: Option<&Path>,
        owner: &str,
        interval: Duration,
    ) -> Result<(Journal, Kept), StoreError> {
        let seal = Seal::at(place, key_file)?;
        let shared = Arc::new(Shared {
            waiting: Mutex::default(),
            stirred: Condvar::new(),
            written: Condvar::new(),
            failures: AtomicU64::new(0),
            interval,
        });
        let (sender, loaded) = std::sync::mpsc::channel();
        let (place, owner, writer) = (place.clone(), owner.to_string(), shared.clone());
        let work = move || {
            let opened = Database::open(&place).and_then(|mut database| {
                let open = |(id, value): (String, Vec<u8>)| {
                    let value = seal.open(&format!("{owner}/{id}"), &value)?;
                    Ok((id, value))
                };
                let kept = database.load(&owner)?.into_iter().map(open).collect::<Result<Kept, StoreError>>()?;
                Ok((database, kept))
            });
            match opened {
                Ok((database, kept)) => {
                    let _ = sender.send(Ok(kept));
                    Writer { database, owner, seal, shared: writer }.run();
                }
                Err(error) => {
                    let _ = sender.send(Err(error));
                }
            }
        };
        let thread = std::thread::Builder::new().name("journal".into()).spawn(work).map_err(|_| StoreError::Ended)?;
        let kept = loaded.recv().map_err(|_| StoreError::Ended)??;
        Ok((Journal { shared, thread: Some(thread) }, kept))
    }

    /// Keeps a context from now on, in place of what was kept of it.
    pub fn put(&self, id: impl Into<String>, value: Vec<u8>) {
        self.hand_over(id.into(), Some(value));
    }

    /// Keeps a context no more.
    pub fn remove(&self, id: impl Into<String>) {
        self.hand_over(id.into(), None);
    }

    fn hand_over(&self, id: String, value: Option<Vec<u8>>) {
        let mut waiting = self.shared.waiting();
        waiting.handed_over += 1;
        waiting.changed.insert(id, value);
        if waiting.changed.len() == 1 {
            self.shared.stirred.notify_one();
        }
    }

    /// Waits until everything that was handed over is written, or the time is over: whether it is. Blocks the thread.
    pub fn flush(&self, patience: Duration) -> bool {
        let waiting = self.shared.waiting();
        let until = waiting.handed_over;
        let (waiting, _) = self
            .shared
            .written
            .wait_timeout_while(waiting, patience, |waiting| waiting.written < until)
            .unwrap_or_else(|e| e.into_inner());
        waiting.written >= until
    }

    /// How old the changes may be that are not written yet: what a function that is killed may lose.
    pub fn interval(&self) -> Duration {
        self.shared.interval
    }

    /// Changes that are not written yet, and attempts to write that failed.
    pub fn standing(&self) -> (u64, u64) {
        let waiting = self.shared.waiting();
        (waiting.handed_over - waiting.written, self.shared.failures.load(Ordering::Relaxed))
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.shared.waiting().ending = true;
        self.shared.stirred.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Writer {
    database: Database,
    owner: String,
    seal: Seal,
    shared: Arc<Shared>,
}

impl Writer {
    fn run(mut self) {
        loop {
            let ending = {
                let waiting = self.shared.waiting();
                let idle = |waiting: &mut Waiting| waiting.changed.is_empty() && !waiting.ending;
                let waiting = self.shared.stirred.wait_while(waiting, idle).unwrap_or_else(|e| e.into_inner());
                // Others come within the interval, and are written with the first.
                let moment = self.shared.stirred.wait_timeout_while(waiting, self.shared.interval, |w| !w.ending);
                let (waiting, _) = moment.unwrap_or_else(|e| e.into_inner());
                if waiting.ending && waiting.changed.is_empty() {
                    return;
                }
                waiting.ending
            };
            self.write_all(ending);
        }
    }

    fn write_all(&mut self, ending: bool) {
        let (changed, counted) = {
            let mut waiting = self.shared.waiting();
            (std::mem::take(&mut waiting.changed), waiting.handed_over)
        };
        let sealed = changed.into_iter().filter_map(|(id, value)| match value {
            None => Some((id, None)),
            // Sealing fails for want of random numbers alone.
            Some(value) => self.seal.seal(&format!("{}/{id}", self.owner), &value).ok().map(|value| (id, Some(value))),
        });
        let sealed: Vec<_> = sealed.collect();
        for batch in sealed.chunks(MOST_AT_ONCE) {
            let mut attempts = 0;
            while let Err(error) = self.database.write(&self.owner, batch) {
                attempts += 1;
                if self.shared.failures.fetch_add(1, Ordering::Relaxed) == 0 {
                    eprintln!("martlet: contexts of {} are not kept: {error}", self.owner);
                }
                if (ending || self.shared.waiting().ending) && attempts >= LAST_ATTEMPTS {
                    break;
                }
                std::thread::sleep(PAUSE);
            }
        }
        self.shared.waiting().written = counted;
        self.shared.written.notify_all();
    }
}
