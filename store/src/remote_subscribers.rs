//! Subscribers and their contexts at a PostgreSQL server: requests that wait at the same time share
//! a statement, reads are cached, and contexts are written behind.
use crate::postgres_connection::connect;
use crate::postgres_pool::Pool;
use crate::postgres_tls::{Target, target};
use crate::sqn_block::{Block, Taken};
use crate::sqn_lease_ahead::LeaseAhead;
use crate::statements::{self, ContextChanges, ReadKind};
use crate::subscriber_cache::{CONTEXT_VALIDITY, Record, Reservation, SubscriberCache};
use crate::write_behind::{MAX_PENDING, Urgency, WriteBehind};
use crate::{Store, StoreError, Subscriber};
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
/// Changes that are read at a time.
const MAX_CHANGES: i64 = 1000;
/// Pause between attempts to write, and to listen.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);
/// The number of the last change is not known.
const UNKNOWN: i64 = -1;

/// A request for a subscriber.
struct Waiting {
    supi: String,
    /// The block of an authentication has to be above this number.
    floor: u64,
    answer: oneshot::Sender<Result<Option<Arc<Record>>, StoreError>>,
}

/// Requests that wait for a statement.
#[derive(Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    running: usize,
}

/// Subscribers at a server.
pub(crate) struct Remote {
    store: Arc<Store>,
    pub pool: Pool,
    target: Target,
    pub cache: Mutex<SubscriberCache>,
    plain: Mutex<Queue>,
    authentication: Mutex<Queue>,
    pub writes: WriteBehind,
    /// The number of this process among those that write contexts.
    writer: i64,
    flush_interval: Duration,
    pub ahead: LeaseAhead,
    /// A notification of changes arrived.
    pub changed: Arc<Notify>,
    /// Number of the last change that was seen.
    seen: AtomicI64,
}

/// Locks the state, also after a panic with the lock held.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

/// A number that no other process has. Without random numbers it is that of any process, whose
/// values are replaced by late ones.
fn writer() -> i64 {
    let mut bytes = [0; 8];
    let _ = getrandom::fill(&mut bytes);
    i64::from_le_bytes(bytes)
}

/// A subscriber at the state before this sequence number, which is reserved for it.
fn reserved(cache: &mut SubscriberCache, record: &Record, to: u64) -> Arc<Subscriber> {
    let from = statements::before_advance(to);
    let subscriber = Subscriber { sqn: from, ..(*record.subscriber).clone() };
    cache.reserve(&subscriber.supi, Reservation { from, to });
    Arc::new(subscriber)
}

impl Remote {
    /// Access to a server.
    ///
    /// # Errors
    /// The URL is wrong.
    pub fn new(
        store: Arc<Store>,
        url: &str,
        connections: usize,
        flush_interval: Duration,
    ) -> Result<Remote, StoreError> {
        Ok(Remote {
            store,
            pool: Pool::new(url, connections)?,
            target: target(url)?,
            cache: Mutex::default(),
            plain: Mutex::default(),
            authentication: Mutex::default(),
            writes: WriteBehind::new(),
            writer: writer(),
            flush_interval,
            ahead: LeaseAhead::new(),
            changed: Arc::default(),
            seen: AtomicI64::new(UNKNOWN),
        })
    }

    /// A subscriber before the sequence number that is reserved for an authentication.
    ///
    /// # Errors
    /// The database fails.
    pub async fn for_authentication(
        self: &Arc<Self>,
        supi: &str,
    ) -> Result<Option<Arc<Subscriber>>, StoreError> {
        let mut floor = 0;
        if lock(&self.cache).has_block(supi) {
            let Some(record) = self.read(ReadKind::Plain, supi, floor).await? else {
                lock(&self.cache).invalidate(supi);
                return Ok(None);
            };
            let mut cache = lock(&self.cache);
            match cache.take_number(supi, &record) {
                Taken::Number(to) => return Ok(Some(reserved(&mut cache, &record, to))),
                Taken::Above(last) => floor = last,
            }
        }
        let read = self.read(ReadKind::Authentication, supi, floor).await?;
        let Some(record) = read else { return Ok(None) };
        let (last, revision) = (record.subscriber.sqn, record.revision);
        let mut block = Block::ending_at(last, revision);
        let to = match block.take(last, revision) {
            Taken::Number(to) => to,
            Taken::Above(_) => last,
        };
        let mut cache = lock(&self.cache);
        cache.keep_block(supi, block);
        Ok(Some(reserved(&mut cache, &record, to)))
    }

    fn queue(&self, kind: ReadKind) -> MutexGuard<'_, Queue> {
        lock(match kind {
            ReadKind::Plain => &self.plain,
            ReadKind::Authentication => &self.authentication,
        })
    }

    /// A subscriber with its contexts, from the cache if it was read within `validity`.
    pub async fn record(
        self: &Arc<Self>,
        supi: &str,
        validity: Option<Duration>,
    ) -> Result<Option<Arc<Record>>, StoreError> {
        let cached = lock(&self.cache).get(supi, validity);
        match cached {
            Some(record) => Ok(Some(record)),
            None => self.read(ReadKind::Plain, supi, 0).await,
        }
    }

    pub async fn context(
        self: &Arc<Self>,
        supi: &str,
        kind: &str,
        key: &str,
    ) -> Result<Option<String>, StoreError> {
        let record = self.record(supi, Some(CONTEXT_VALIDITY)).await?;
        let name = (kind.to_string(), key.to_string());
        Ok(record.and_then(|record| record.contexts.get(&name).cloned()))
    }

    /// Reads a subscriber in one statement with others. The statement begins after this call.
    async fn read(
        self: &Arc<Self>,
        kind: ReadKind,
        supi: &str,
        floor: u64,
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
            queue.waiting.push_back(Waiting { supi: supi.to_string(), floor, answer });
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
            let floor = |all: &Vec<Waiting>| all.iter().map(|waiting| waiting.floor as i64).max();
            let floors: Vec<i64> = batch.values().map(|all| floor(all).unwrap_or(0)).collect();
            let generation = lock(&self.cache).generation();
            match statements::read(&self.pool, kind, &supis, &floors).await {
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
                    let revision = statements::revision(&row.profile);
                    let subscriber = Arc::new(subscriber);
                    let record = Arc::new(Record { subscriber, revision, contexts });
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
    pub async fn write(
        self: &Arc<Self>,
        supi: &str,
        kind: &str,
        key: &str,
        value: Option<String>,
        urgency: Urgency,
    ) -> Result<(), StoreError> {
        let must_wait = self.store.failure().is_some() || self.writes.pending() >= MAX_PENDING;
        let urgency = if must_wait { Urgency::Soon } else { urgency };
        lock(&self.cache).set_context(supi, kind, key, value.as_deref());
        let (batch, start) = self.writes.push(supi, kind, key, value, urgency);
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
        loop {
            self.writes.until_due().await;
            tokio::time::sleep(self.flush_interval).await;
            let Some((changes, is_late)) = self.writes.begin() else { return };
            let outcome = match is_late {
                false => self.write_batch(&changes).await,
                true => self.write_late(&changes).await,
            };
            self.store.written(outcome.as_ref().err());
            let failed = outcome.is_err();
            self.writes.end(outcome.map_err(Arc::new));
            if failed {
                tokio::time::sleep(RETRY_INTERVAL).await;
            }
        }
    }

    /// Writes changes that waited for the server. Another process may have served these subscribers
    /// meanwhile.
    async fn write_late(&self, changes: &ContextChanges) -> Result<(), StoreError> {
        match statements::write_late(&self.pool, self.writer, changes).await {
            Err(error) if error.is_refused_value() => return self.write_one_by_one(changes).await,
            outcome => outcome?,
        }
        let mut cache = lock(&self.cache);
        changes.keys().for_each(|(supi, _, _)| cache.invalidate(supi));
        Ok(())
    }

    async fn write_batch(&self, changes: &ContextChanges) -> Result<(), StoreError> {
        let renew = lock(&self.cache).low_blocks(changes.keys().map(|(supi, _, _)| supi));
        let error = match statements::write(&self.pool, self.writer, changes, &renew).await {
            Ok(renewed) => {
                let mut cache = lock(&self.cache);
                for (supi, last) in renewed {
                    cache.renew_block(&supi, last);
                }
                return Ok(());
            }
            Err(error) => error,
        };
        if !error.is_refused_value() {
            return Err(error);
        }
        self.write_one_by_one(changes).await
    }

    /// One of the values is refused: the others are written, and it is dropped.
    async fn write_one_by_one(&self, changes: &ContextChanges) -> Result<(), StoreError> {
        for (name, change) in changes {
            let one = ContextChanges::from([(name.clone(), change.clone())]);
            match statements::write_late(&self.pool, self.writer, &one).await {
                Err(error) if error.is_refused_value() => self.store.written(Some(&error)),
                outcome => outcome?,
            }
        }
        let mut cache = lock(&self.cache);
        changes.keys().for_each(|(supi, _, _)| cache.invalidate(supi));
        Ok(())
    }

    /// Reads the changes since the last read within a time limit. Returns whether there may be any.
    ///
    /// # Errors
    /// The database fails.
    pub async fn look_at_changes(&self, limit: Duration) -> Result<bool, StoreError> {
        let outcome = self.read_changes(limit).await;
        if outcome.is_err() {
            self.seen.store(UNKNOWN, Ordering::Relaxed);
            lock(&self.cache).clear(false);
        }
        outcome
    }

    async fn read_changes(&self, limit: Duration) -> Result<bool, StoreError> {
        let seen = self.seen.load(Ordering::Relaxed);
        if seen == UNKNOWN {
            let sql = "SELECT coalesce(max(number), 0) FROM change";
            let rows = self.pool.query_within(limit, sql, &[]).await?;
            let last = rows.first().map_or(0, |row| row.get(0));
            self.seen.store(last, Ordering::Relaxed);
            lock(&self.cache).clear(true);
            return Ok(true);
        }
        let sql = "SELECT number, supi FROM change WHERE number > $1 ORDER BY number LIMIT $2";
        let rows = self.pool.query_within(limit, sql, &[&seen, &MAX_CHANGES]).await?;
        let Some(last) = rows.last() else { return Ok(false) };
        if rows.len() as i64 == MAX_CHANGES {
            self.seen.store(UNKNOWN, Ordering::Relaxed);
            lock(&self.cache).clear(false);
            self.ahead.want_all();
            self.changed.notify_one();
            return Ok(true);
        }
        let mut cache = lock(&self.cache);
        for row in &rows {
            cache.invalidate(row.get(1));
            self.ahead.want(row.get(1));
        }
        self.seen.store(last.get(0), Ordering::Relaxed);
        Ok(true)
    }

    /// Listens until the future is dropped.
    pub async fn listen(&self) {
        loop {
            self.listen_once().await;
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
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
