//! Asynchronous access to subscribers and their contexts, for the UDR.
//!
//! With PostgreSQL a registration costs two statements: one advances the sequence number and reads
//! the subscriber with its contexts, one writes the contexts of the registration. Requests that
//! wait at the same time share a statement and so a commit. Subscribers are cached; a notification
//! of the server (LISTEN), or a look at the changes, invalidates them.
//!
//! # Durability
//!
//! A sequence number is committed before it is returned. Contexts are written a flush interval
//! later, unless the last write failed: then a call waits for its write.
//!
//! # Cancel safety
//!
//! Statements run in tasks of their own: a dropped future cancels no write.
use crate::postgres_connection::connect;
use crate::postgres_pool::Pool;
use crate::postgres_tls::{Target, target};
use crate::statements::{self, ContextChanges, ReadKind};
use crate::subscriber_cache::{CONTEXT_VALIDITY, Record, Reservation, SubscriberCache};
use crate::write_behind::{MAX_PENDING, WriteBehind};
use crate::{DatabaseUrl, Store, StoreError, Subscriber};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::{Notify, oneshot};
use tokio_postgres::error::SqlState;

/// Subscribers of one statement.
const MAX_BATCH: usize = 256;
/// Statements of a kind that run at the same time.
const MAX_RUNNING: usize = 2;
/// Requests that wait at most.
const MAX_WAITING: usize = 20_000;
/// Changes of one look.
const MAX_CHANGES: i64 = 1000;
/// Pause between attempts to write, and to listen.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);
/// The number of the last change is not known.
const UNKNOWN: i64 = -1;

/// Access to a store's subscribers and contexts that does not block the thread.
pub struct SubscriberData {
    store: Arc<Store>,
    remote: Option<Arc<Remote>>,
}

/// A request for a subscriber.
struct Waiting {
    supi: String,
    answer: oneshot::Sender<Result<Option<Arc<Record>>, StoreError>>,
}

/// Requests that wait for a statement.
#[derive(Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    running: usize,
}

/// A server.
struct Remote {
    store: Arc<Store>,
    pool: Pool,
    target: Target,
    cache: Mutex<SubscriberCache>,
    plain: Mutex<Queue>,
    authentication: Mutex<Queue>,
    writes: WriteBehind,
    flush_interval: Duration,
    /// A notification of changes arrived.
    changed: Arc<Notify>,
    /// Number of the last change that was seen.
    seen: AtomicI64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

impl SubscriberData {
    /// Access to `store`, which was opened at `url`. A server gets at most `connections`, and
    /// contexts are written to it after `flush_interval`.
    ///
    /// # Errors
    /// The URL is wrong.
    pub fn new(
        store: Arc<Store>,
        url: &DatabaseUrl,
        connections: usize,
        flush_interval: Duration,
    ) -> Result<SubscriberData, StoreError> {
        let remote = match url {
            DatabaseUrl::Postgres(url) => Some(Arc::new(Remote {
                store: store.clone(),
                pool: Pool::new(url, connections)?,
                target: target(url)?,
                cache: Mutex::default(),
                plain: Mutex::default(),
                authentication: Mutex::default(),
                writes: WriteBehind::new(),
                flush_interval,
                changed: Arc::default(),
                seen: AtomicI64::new(UNKNOWN),
            })),
            _ => None,
        };
        Ok(SubscriberData { store, remote })
    }

    /// Returns a subscriber by SUPI.
    ///
    /// # Errors
    /// The database fails.
    pub async fn subscriber(&self, supi: &str) -> Result<Option<Arc<Subscriber>>, StoreError> {
        let Some(remote) = &self.remote else { return self.store.subscriber(supi) };
        Ok(remote.record(supi, None).await?.map(|record| record.subscriber.clone()))
    }

    /// Returns a subscriber whose sequence number is to be advanced. A server has advanced it
    /// already, for [`SubscriberData::advance_sqn`].
    ///
    /// # Errors
    /// The database fails.
    pub async fn for_authentication(
        &self,
        supi: &str,
    ) -> Result<Option<Arc<Subscriber>>, StoreError> {
        let Some(remote) = &self.remote else { return self.store.subscriber(supi) };
        let record = remote.read(ReadKind::Authentication, supi).await?;
        let Some(record) = record else { return Ok(None) };
        let mut subscriber = (*record.subscriber).clone();
        let to = subscriber.sqn;
        subscriber.sqn = statements::before_advance(to);
        let reservation = Reservation { from: subscriber.sqn, to };
        lock(&remote.cache).reserve(supi, reservation);
        Ok(Some(Arc::new(subscriber)))
    }

    /// The states of a subscriber from which its sequence number may be advanced: those that
    /// [`SubscriberData::for_authentication`] returned, and the present one.
    ///
    /// # Errors
    /// The database fails.
    pub async fn before_advance(&self, supi: &str) -> Result<Vec<Arc<Subscriber>>, StoreError> {
        let Some(subscriber) = self.subscriber(supi).await? else { return Ok(Vec::new()) };
        let Some(remote) = &self.remote else { return Ok(vec![subscriber]) };
        let reserved = lock(&remote.cache).reserved(supi).to_vec();
        let at = |sqn: u64| Arc::new(Subscriber { sqn, ..(*subscriber).clone() });
        let mut all: Vec<_> = reserved.iter().map(|reservation| at(reservation.from)).collect();
        all.push(subscriber);
        Ok(all)
    }

    /// Advances a sequence number from `from` to `to`. Returns whether it was `from`. The number
    /// is committed when the call returns.
    ///
    /// # Errors
    /// The database failed. The number must not be used.
    pub async fn advance_sqn(&self, supi: &str, from: u64, to: u64) -> Result<bool, StoreError> {
        let Some(remote) = &self.remote else {
            return self.store.advance_sqn_in_group(supi, from, to).await;
        };
        let reservation = lock(&remote.cache).take_reservation(supi, from);
        let from = match reservation {
            Some(reservation) if from < to && to <= reservation.to => return Ok(true),
            Some(reservation) => reservation.to,
            None => from,
        };
        let outcome = statements::advance(&remote.pool, supi, from, to).await;
        // The cached number is not the database's any more, or was not.
        lock(&remote.cache).invalidate(supi);
        outcome
    }

    /// Writes a context of a subscriber. Returns whether it is new.
    ///
    /// # Errors
    /// The database fails.
    pub async fn put(
        &self,
        supi: &str,
        kind: &str,
        key: &str,
        value: String,
    ) -> Result<bool, StoreError> {
        let Some(remote) = &self.remote else {
            return self.store.put_context(supi, kind, key, &value);
        };
        let held = remote.context(supi, kind, key).await?;
        if held.as_ref() == Some(&value) {
            return Ok(false);
        }
        remote.write(supi, kind, key, Some(value)).await?;
        Ok(held.is_none())
    }

    /// Returns a context.
    ///
    /// # Errors
    /// The database fails.
    pub async fn context(
        &self,
        supi: &str,
        kind: &str,
        key: &str,
    ) -> Result<Option<String>, StoreError> {
        match &self.remote {
            None => self.store.context(supi, kind, key),
            Some(remote) => remote.context(supi, kind, key).await,
        }
    }

    /// Returns all contexts of a kind with their keys.
    ///
    /// # Errors
    /// The database fails.
    pub async fn contexts(
        &self,
        supi: &str,
        kind: &str,
    ) -> Result<Vec<(String, String)>, StoreError> {
        let Some(remote) = &self.remote else { return self.store.contexts(supi, kind) };
        let record = remote.record(supi, Some(CONTEXT_VALIDITY)).await?;
        let of_kind = record.iter().flat_map(|record| &record.contexts);
        let of_kind = of_kind.filter(|((of, _), _)| of == kind);
        Ok(of_kind.map(|((_, key), value)| (key.clone(), value.clone())).collect())
    }

    /// Removes a context. Returns whether it existed.
    ///
    /// # Errors
    /// The database fails.
    pub async fn remove(&self, supi: &str, kind: &str, key: &str) -> Result<bool, StoreError> {
        let Some(remote) = &self.remote else {
            return self.store.remove_context(supi, kind, key);
        };
        if remote.context(supi, kind, key).await?.is_none() {
            return Ok(false);
        }
        remote.write(supi, kind, key, None).await?;
        Ok(true)
    }

    /// Waits until all contexts so far are written, or an attempt to write them failed.
    ///
    /// # Errors
    /// The database fails.
    pub async fn flush(&self) -> Result<(), StoreError> {
        let Some(remote) = &self.remote else { return Ok(()) };
        match remote.writes.unwritten() {
            Some(batch) => remote.writes.attempted(batch).await,
            None => Ok(()),
        }
    }

    /// Waits for `interval`, or until the server notifies changes, and looks at them. Call it
    /// again and again: subscribers are cached only meanwhile. Returns whether there may be any.
    ///
    /// # Errors
    /// The database fails.
    pub async fn follow(&self, interval: Duration) -> Result<bool, StoreError> {
        let Some(remote) = &self.remote else {
            tokio::time::sleep(interval).await;
            return Ok(true);
        };
        tokio::select! {
            () = tokio::time::sleep(interval) => {}
            () = remote.changed.notified() => {}
        }
        let outcome = remote.read_changes().await;
        if outcome.is_err() {
            remote.seen.store(UNKNOWN, Ordering::Relaxed);
            lock(&remote.cache).clear(false);
        }
        outcome
    }

    /// Listens to notifications of changes, which wake [`SubscriberData::follow`], until the future
    /// is dropped. Only waits where there are none.
    pub async fn listen(&self) {
        let Some(remote) = &self.remote else { return std::future::pending().await };
        loop {
            remote.listen_once().await;
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
    }
}

impl Remote {
    fn queue(&self, kind: ReadKind) -> MutexGuard<'_, Queue> {
        lock(match kind {
            ReadKind::Plain => &self.plain,
            ReadKind::Authentication => &self.authentication,
        })
    }

    /// A subscriber with its contexts, from the cache if it was read within `validity`.
    async fn record(
        self: &Arc<Self>,
        supi: &str,
        validity: Option<Duration>,
    ) -> Result<Option<Arc<Record>>, StoreError> {
        let cached = lock(&self.cache).get(supi, validity);
        match cached {
            Some(record) => Ok(Some(record)),
            None => self.read(ReadKind::Plain, supi).await,
        }
    }

    async fn context(
        self: &Arc<Self>,
        supi: &str,
        kind: &str,
        key: &str,
    ) -> Result<Option<String>, StoreError> {
        let record = self.record(supi, Some(CONTEXT_VALIDITY)).await?;
        let name = (kind.to_string(), key.to_string());
        Ok(record.and_then(|record| record.contexts.get(&name).cloned()))
    }

    /// Reads a subscriber in one statement with others.
    async fn read(
        self: &Arc<Self>,
        kind: ReadKind,
        supi: &str,
    ) -> Result<Option<Arc<Record>>, StoreError> {
        // The server would refuse the whole statement.
        if supi.contains('\0') {
            return Ok(None);
        }
        let (answer, answered) = oneshot::channel();
        let start = {
            let mut queue = self.queue(kind);
            if queue.waiting.len() >= MAX_WAITING {
                return Err(StoreError::Disconnected("too many requests wait for it".into()));
            }
            queue.waiting.push_back(Waiting { supi: supi.to_string(), answer });
            let start = queue.running < MAX_RUNNING;
            queue.running += usize::from(start);
            start
        };
        if start {
            tokio::spawn(self.clone().read_waiting(kind));
        }
        answered.await.map_err(|_| StoreError::Ended)?
    }

    /// Runs statements until no request waits.
    async fn read_waiting(self: Arc<Self>, kind: ReadKind) {
        loop {
            // The tasks that are ready now join the statement.
            tokio::task::yield_now().await;
            let Some(batch) = self.take_batch(kind) else { return };
            let supis: Vec<String> = batch.keys().cloned().collect();
            let generation = lock(&self.cache).generation();
            match statements::read(&self.pool, kind, &supis).await {
                Ok(rows) => self.answer(batch, rows, generation),
                Err(error) => {
                    let error = Arc::new(error);
                    for waiting in batch.into_values().flatten() {
                        let _ = waiting.answer.send(Err(StoreError::Shared(error.clone())));
                    }
                }
            }
        }
    }

    /// The requests of the next statement by SUPI. `None`, and the end of a flight, if there are
    /// none.
    fn take_batch(&self, kind: ReadKind) -> Option<BTreeMap<String, Vec<Waiting>>> {
        let mut queue = self.queue(kind);
        let mut batch: BTreeMap<String, Vec<Waiting>> = BTreeMap::new();
        let mut others = VecDeque::new();
        while let Some(waiting) = queue.waiting.pop_front() {
            let is_known = batch.contains_key(&waiting.supi);
            // Each authentication has a sequence number of its own.
            if is_known && kind == ReadKind::Authentication || !is_known && batch.len() >= MAX_BATCH
            {
                others.push_back(waiting);
                continue;
            }
            batch.entry(waiting.supi.clone()).or_default().push(waiting);
        }
        queue.waiting = others;
        if batch.is_empty() {
            queue.running -= 1;
            return None;
        }
        Some(batch)
    }

    fn answer(
        &self,
        mut batch: BTreeMap<String, Vec<Waiting>>,
        rows: Vec<(crate::database::Row, statements::Contexts)>,
        generation: u64,
    ) {
        for (row, mut contexts) in rows {
            let all = batch.remove(&row.supi).unwrap_or_default();
            self.writes.overlay(&row.supi, &mut contexts);
            match self.store.parsed(&row) {
                Ok(subscriber) => {
                    let record = Arc::new(Record { subscriber: Arc::new(subscriber), contexts });
                    lock(&self.cache).insert(&row.supi, record.clone(), generation);
                    for waiting in all {
                        let _ = waiting.answer.send(Ok(Some(record.clone())));
                    }
                }
                Err(error) => {
                    let error = Arc::new(error);
                    for waiting in all {
                        let _ = waiting.answer.send(Err(StoreError::Shared(error.clone())));
                    }
                }
            }
        }
        for waiting in batch.into_values().flatten() {
            let _ = waiting.answer.send(Ok(None));
        }
    }

    /// Queues a change of a context. Waits for it while writes fail.
    async fn write(
        self: &Arc<Self>,
        supi: &str,
        kind: &str,
        key: &str,
        value: Option<String>,
    ) -> Result<(), StoreError> {
        let must_wait = self.store.failure().is_some() || self.writes.pending() >= MAX_PENDING;
        lock(&self.cache).set_context(supi, kind, key, value.as_deref());
        let (batch, start) = self.writes.push(supi, kind, key, value);
        if start {
            tokio::spawn(self.clone().write_pending());
        }
        match must_wait {
            true => self.writes.attempted(batch).await,
            false => Ok(()),
        }
    }

    /// Writes until nothing is pending.
    async fn write_pending(self: Arc<Self>) {
        tokio::time::sleep(self.flush_interval).await;
        while let Some(changes) = self.writes.begin() {
            let outcome = self.write_batch(&changes).await;
            self.store.written(outcome.as_ref().err());
            let failed = outcome.is_err();
            self.writes.end(outcome.map_err(Arc::new));
            let pause = if failed { RETRY_INTERVAL } else { self.flush_interval };
            tokio::time::sleep(pause).await;
        }
    }

    async fn write_batch(&self, changes: &ContextChanges) -> Result<(), StoreError> {
        let Err(error) = statements::write(&self.pool, changes).await else { return Ok(()) };
        if !error.is_refused_value() {
            return Err(error);
        }
        // One of the values is refused: the others are written, and it is dropped.
        for (name, value) in changes {
            let one = ContextChanges::from([(name.clone(), value.clone())]);
            match statements::write(&self.pool, &one).await {
                Err(error) if error.is_refused_value() => self.store.written(Some(&error)),
                outcome => outcome?,
            }
        }
        Ok(())
    }

    /// Looks at changes since the last look. Returns whether there may be any.
    async fn read_changes(&self) -> Result<bool, StoreError> {
        let seen = self.seen.load(Ordering::Relaxed);
        if seen == UNKNOWN {
            let sql = "SELECT coalesce(max(number), 0) FROM change";
            let rows = self.pool.query_once(sql, &[]).await?;
            let last = rows.first().map_or(0, |row| row.get(0));
            self.seen.store(last, Ordering::Relaxed);
            lock(&self.cache).clear(true);
            return Ok(true);
        }
        let sql = "SELECT number, supi FROM change WHERE number > $1 ORDER BY number LIMIT $2";
        let rows = self.pool.query_once(sql, &[&seen, &MAX_CHANGES]).await?;
        let Some(last) = rows.last() else { return Ok(false) };
        if rows.len() as i64 == MAX_CHANGES {
            self.seen.store(UNKNOWN, Ordering::Relaxed);
            lock(&self.cache).clear(false);
            self.changed.notify_one();
            return Ok(true);
        }
        let mut cache = lock(&self.cache);
        rows.iter().for_each(|row| cache.invalidate(row.get(1)));
        self.seen.store(last.get(0), Ordering::Relaxed);
        Ok(true)
    }

    /// Listens until the connection ends.
    async fn listen_once(&self) {
        let Ok((client, task)) = connect(&self.target, Some(self.changed.clone())).await else {
            return;
        };
        match client.batch_execute(&format!("LISTEN {}", crate::postgres::CHANNEL)).await {
            Ok(()) => {
                // Changes before now were not notified.
                self.changed.notify_one();
                let _ = task.await;
            }
            Err(error) => {
                task.abort();
                let unsupported = [SqlState::FEATURE_NOT_SUPPORTED, SqlState::SYNTAX_ERROR];
                if error.code().is_some_and(|code| unsupported.contains(code)) {
                    std::future::pending().await
                }
            }
        }
    }
}
