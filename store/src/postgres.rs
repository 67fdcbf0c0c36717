//! The PostgreSQL database, which processes on several machines can share. The client library
//! blocks in a runtime of its own, which must not run within another one: a thread holds the
//! connection.
use crate::database::{
    Batches, Change, Database, Displaced, Group, MAX_CHANGES, Row, SDM_SUBSCRIPTION,
};
use crate::postgres_client::{Client, Transaction};
use crate::{StoreError, schema};
use std::collections::HashSet;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::time::Instant;
use tokio_postgres::error::SqlState;

/// Work for the connection.
struct Job {
    submitted: Instant,
    run: Box<dyn FnOnce(&mut Client) + Send>,
}

impl Job {
    fn new(run: impl FnOnce(&mut Client) + Send + 'static) -> Job {
        Job { submitted: Instant::now(), run: Box::new(run) }
    }
}

/// The connection: jobs for the thread that holds it.
pub(crate) struct Postgres(Sender<Job>);

impl Postgres {
    /// Connects and migrates the database.
    pub fn open(url: &str) -> Result<Self, StoreError> {
        let (jobs, received) = channel::<Job>();
        let (ready, opened) = channel();
        let url = url.to_string();
        let open = move || -> Result<Client, StoreError> {
            let mut client = Client::connect(&url)?;
            schema::migrate_postgres(&mut client)?;
            Ok(client)
        };
        let work = move || match open() {
            Ok(client) => {
                let _ = ready.send(Ok(()));
                serve(client, &received);
            }
            Err(error) => {
                let _ = ready.send(Err(error));
            }
        };
        let thread = std::thread::Builder::new().name("postgres".into());
        thread.spawn(work).map_err(|_| StoreError::Ended)?;
        opened.recv().map_err(|_| StoreError::Ended)??;
        Ok(Postgres(jobs))
    }

    /// Runs a job on the connection's thread and waits for its result.
    fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Client) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (sender, receiver) = channel();
        let job = Job::new(move |client| {
            let _ = sender.send(job(client));
        });
        self.0.send(job).map_err(|_| StoreError::Ended)?;
        receiver.recv().map_err(|_| StoreError::Ended)?
    }
}

/// Runs jobs in their order. Reconnects before a job if the connection is closed. Jobs that waited
/// during a failed attempt fail with it, so that callers do not wait for one attempt each.
fn serve(mut client: Client, jobs: &Receiver<Job>) {
    let mut failed_at = None;
    while let Ok(job) = jobs.recv() {
        if client.is_closed() && failed_at.is_none_or(|at| job.submitted > at) {
            failed_at = client.reconnect().is_err().then(Instant::now);
        }
        // On a closed connection the job fails, and its caller gets the error.
        (job.run)(&mut client);
    }
}

fn row(row: &tokio_postgres::Row) -> Row {
    Row {
        supi: row.get(0),
        gpsi: row.get(1),
        sqn: row.get::<_, i64>(2) as u64,
        profile: row.get(3),
    }
}

/// The channel that a notification of changes is sent to.
pub(crate) const CHANNEL: &str = "martlet_change";

/// Has other changes wait for the end of this transaction, so that changes are committed in the
/// order of their numbers, and a reader sees none before one of a lower number.
const ORDER_CHANGES: &str = "UPDATE change_order SET last = last + 1 WHERE id = 1";

/// Signals a change to the processes that listen when the transaction is committed. A server
/// without notifications has none: these processes poll.
fn notify(transaction: &mut Transaction<'_>) -> Result<(), StoreError> {
    let sql = "SELECT count(*) FROM pg_catalog.pg_proc WHERE proname = 'pg_notify'";
    if transaction.query_one(sql, &[])?.get::<_, i64>(0) > 0 {
        transaction.query("SELECT pg_notify($1, '')", &[&CHANNEL])?;
    }
    Ok(())
}

/// Adds batches of rows in a transaction, which is committed when `None` follows the last one.
fn add(
    client: &mut Client,
    batches: &Receiver<Option<Vec<Row>>>,
    replace: bool,
) -> Result<(), StoreError> {
    let mut transaction = client.long_transaction()?;
    transaction.execute(ORDER_CHANGES, &[])?;
    let mut displaced = Displaced::default();
    while let Some(rows) = batches.recv().map_err(|_| StoreError::Cancelled)? {
        // Rows with a common identity replace each other: one after the other then.
        match has_duplicates(&rows) {
            true => rows
                .chunks(1)
                .try_for_each(|row| add_rows(&mut transaction, row, replace, &mut displaced))?,
            false => add_rows(&mut transaction, &rows, replace, &mut displaced)?,
        }
    }
    displaced.check()?;
    let sql = "DELETE FROM change WHERE number <= (SELECT max(number) FROM change) - $1";
    transaction.execute(sql, &[&MAX_CHANGES])?;
    notify(&mut transaction)?;
    transaction.commit()
}

/// Whether two rows have the same SUPI or GPSI.
fn has_duplicates(rows: &[Row]) -> bool {
    let mut seen = HashSet::new();
    let mut names = rows.iter().flat_map(|row| [Some(&row.supi), row.gpsi.as_ref()]).flatten();
    !names.all(|name| seen.insert(name))
}

/// Adds rows with one statement for all.
fn add_rows(
    transaction: &mut Transaction<'_>,
    rows: &[Row],
    replace: bool,
    displaced: &mut Displaced,
) -> Result<(), StoreError> {
    let supis: Vec<&str> = rows.iter().map(|row| row.supi.as_str()).collect();
    let gpsis: Vec<Option<&str>> = rows.iter().map(|row| row.gpsi.as_deref()).collect();
    if replace {
        let sql = "SELECT supi, gpsi FROM subscriber WHERE gpsi = ANY($1) AND supi <> ALL($2)";
        for other in transaction.query(sql, &[&gpsis, &supis])? {
            let gpsi: Option<String> = other.get(1);
            let by = rows.iter().find(|row| row.gpsi == gpsi);
            displaced.add(other.get(0), by.map_or("", |row| row.supi.as_str()));
        }
        let sql = "DELETE FROM subscriber WHERE supi = ANY($1) OR gpsi = ANY($2)";
        transaction.execute(sql, &[&supis, &gpsis])?;
    }
    let numbers: Vec<i64> = rows.iter().map(|row| row.sqn as i64).collect();
    let profiles: Vec<&str> = rows.iter().map(|row| row.profile.as_str()).collect();
    let sql = "INSERT INTO subscriber (supi, gpsi, sqn, profile) SELECT * FROM \
               unnest($1::text[], $2::text[], $3::bigint[], $4::text[])";
    let outcome = transaction.execute(sql, &[&supis, &gpsis, &numbers, &profiles]);
    unless_exists(outcome, supis.first().copied().unwrap_or_default())?;
    supis.iter().for_each(|supi| displaced.added(supi));
    let sql = "INSERT INTO change (supi) SELECT * FROM unnest($1::text[])";
    transaction.execute(sql, &[&supis])?;
    Ok(())
}

/// The outcome of a write, or that its SUPI or MSISDN is another subscriber's.
fn unless_exists(outcome: Result<u64, StoreError>, supi: &str) -> Result<u64, StoreError> {
    match outcome {
        Err(StoreError::Postgres(error)) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => {
            // The server names the row: "Key (supi)=(imsi-…) already exists."
            let detail = error.as_db_error().and_then(|error| error.detail());
            let value = detail.and_then(|text| text.split_once(")=(")?.1.split_once(')'));
            let name = value.map_or(supi, |(value, _)| value);
            Err(StoreError::Exists(format!("{name} (or its MSISDN)")))
        }
        outcome => outcome,
    }
}

impl Database for Postgres {
    fn add(&self, batches: &mut Batches<'_>, replace: bool) -> Result<(), StoreError> {
        // The connection's thread takes the rows while this one makes more.
        let (sender, receiver) = sync_channel::<Option<Vec<Row>>>(2);
        let (done, outcome) = channel();
        let job = Job::new(move |client| {
            let _ = done.send(add(client, &receiver, replace));
        });
        self.0.send(job).map_err(|_| StoreError::Ended)?;
        let mut failed = None;
        for batch in batches {
            match batch {
                // The job ends early only with an error, which is its outcome.
                Ok(rows) => {
                    if sender.send(Some(rows)).is_err() {
                        break;
                    }
                }
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        if failed.is_none() {
            let _ = sender.send(None);
        }
        drop(sender);
        let outcome = outcome.recv().map_err(|_| StoreError::Ended)?;
        failed.map_or(outcome, Err)
    }

    fn change(
        &self,
        supi: &str,
        gpsi: Option<&str>,
        from: &str,
        to: &str,
    ) -> Result<(), StoreError> {
        let (supi, gpsi) = (supi.to_string(), gpsi.map(str::to_string));
        let (from, to) = (from.to_string(), to.to_string());
        self.run(move |client| {
            let mut transaction = client.long_transaction()?;
            transaction.execute(ORDER_CHANGES, &[])?;
            let sql =
                "UPDATE subscriber SET gpsi = $2, profile = $4 WHERE supi = $1 AND profile = $3";
            let outcome = transaction.execute(sql, &[&supi, &gpsi, &from, &to]);
            if unless_exists(outcome, &supi)? == 0 {
                return Err(StoreError::Concurrent(supi));
            }
            transaction.execute("INSERT INTO change (supi) VALUES ($1)", &[&supi])?;
            notify(&mut transaction)?;
            transaction.commit()
        })
    }

    fn reseal(&self, supi: &str, from: &str, to: &str) -> Result<(), StoreError> {
        let (supi, from, to) = (supi.to_string(), from.to_string(), to.to_string());
        self.run(move |client| {
            let sql = "UPDATE subscriber SET profile = $3 WHERE supi = $1 AND profile = $2";
            client.execute(sql, &[&supi, &from, &to])?;
            Ok(())
        })
    }

    fn remove(&self, supi: &str, profile: Option<&str>) -> Result<bool, StoreError> {
        let (supi, profile) = (supi.to_string(), profile.map(str::to_string));
        self.run(move |client| {
            let mut transaction = client.long_transaction()?;
            transaction.execute(ORDER_CHANGES, &[])?;
            let sql = "DELETE FROM subscriber WHERE supi = $1 \
                       AND ($2::text IS NULL OR profile = $2)";
            let removed = transaction.execute(sql, &[&supi, &profile])? > 0;
            if !removed && profile.is_some() {
                return Ok(false);
            }
            transaction.execute(
                "DELETE FROM context WHERE supi = $1 AND kind <> $2",
                &[&supi, &SDM_SUBSCRIPTION],
            )?;
            if removed {
                transaction.execute("INSERT INTO change (supi) VALUES ($1)", &[&supi])?;
                notify(&mut transaction)?;
            }
            transaction.commit()?;
            Ok(removed)
        })
    }

    fn row(&self, supi: &str) -> Result<Option<Row>, StoreError> {
        let supi = supi.to_string();
        self.run(move |client| {
            let sql = "SELECT supi, gpsi, sqn, profile FROM subscriber WHERE supi = $1";
            Ok(client.query_opt(sql, &[&supi])?.as_ref().map(row))
        })
    }

    fn supi_of(&self, gpsi: &str) -> Result<Option<String>, StoreError> {
        let gpsi = gpsi.to_string();
        self.run(move |client| {
            Ok(client
                .query_opt("SELECT supi FROM subscriber WHERE gpsi = $1", &[&gpsi])?
                .map(|row| row.get(0)))
        })
    }

    fn list(&self, after: &str, limit: usize) -> Result<Vec<Row>, StoreError> {
        let after = after.to_string();
        self.run(move |client| {
            let sql = "SELECT supi, gpsi, sqn, profile FROM subscriber WHERE supi > $1 ORDER BY \
                       supi LIMIT $2";
            Ok(client.query(sql, &[&after, &(limit as i64)])?.iter().map(row).collect())
        })
    }

    fn list_descending(&self, before: &str, limit: usize) -> Result<Vec<Row>, StoreError> {
        let before = before.to_string();
        self.run(move |client| {
            let sql = "SELECT supi, gpsi, sqn, profile FROM subscriber WHERE supi < $1 ORDER BY \
                       supi DESC LIMIT $2";
            Ok(client.query(sql, &[&before, &(limit as i64)])?.iter().map(row).collect())
        })
    }

    fn count(&self) -> Result<u64, StoreError> {
        self.run(|client| {
            Ok(client.query_one("SELECT count(*) FROM subscriber", &[])?.get::<_, i64>(0) as u64)
        })
    }

    fn advance_sqn(
        &self,
        supi: &str,
        from: u64,
        to: u64,
    ) -> Result<(bool, Option<Group>), StoreError> {
        let supi = supi.to_string();
        self.run(move |client| {
            let sql = "UPDATE subscriber SET sqn = $3 WHERE supi = $1 AND sqn = $2";
            Ok((client.execute(sql, &[&supi, &(from as i64), &(to as i64)])? == 1, None))
        })
    }

    fn put_context(
        &self,
        supi: &str,
        kind: &str,
        key: &str,
        value: &str,
    ) -> Result<bool, StoreError> {
        let owned = [supi, kind, key, value].map(str::to_string);
        self.run(move |client| {
            let [supi, kind, key, value] = &owned;
            // The outer query sees the table as it was before the statement.
            let sql = "WITH put AS (INSERT INTO context (supi, kind, key, value) VALUES ($1, $2, \
                       $3, $4) ON CONFLICT (supi, kind, key) DO UPDATE SET value = \
                       excluded.value, changed = excluded.changed, writer = excluded.writer \
                       RETURNING supi) SELECT NOT EXISTS (SELECT 1 FROM context WHERE supi = $1 \
                       AND kind = $2 AND key = $3) FROM put";
            Ok(client.query_one(sql, &[supi, kind, key, value])?.get(0))
        })
    }

    fn context(&self, supi: &str, kind: &str, key: &str) -> Result<Option<String>, StoreError> {
        let owned = [supi, kind, key].map(str::to_string);
        self.run(move |client| {
            let [supi, kind, key] = &owned;
            let sql = "SELECT value FROM context WHERE supi = $1 AND kind = $2 AND key = $3";
            Ok(client.query_opt(sql, &[supi, kind, key])?.map(|row| row.get(0)))
        })
    }

    fn contexts(&self, supi: &str, kind: &str) -> Result<Vec<(String, String)>, StoreError> {
        let owned = [supi, kind].map(str::to_string);
        self.run(move |client| {
            let [supi, kind] = &owned;
            let sql = "SELECT key, value FROM context WHERE supi = $1 AND kind = $2 ORDER BY key";
            Ok(client
                .query(sql, &[supi, kind])?
                .iter()
                .map(|row| (row.get(0), row.get(1)))
                .collect())
        })
    }

    fn remove_context(&self, supi: &str, kind: &str, key: &str) -> Result<bool, StoreError> {
        let owned = [supi, kind, key].map(str::to_string);
        self.run(move |client| {
            let [supi, kind, key] = &owned;
            let sql = "DELETE FROM context WHERE supi = $1 AND kind = $2 AND key = $3";
            Ok(client.execute(sql, &[supi, kind, key])? > 0)
        })
    }

    fn changes(&self, after: i64, limit: usize) -> Result<Vec<Change>, StoreError> {
        self.run(move |client| {
            let sql = "SELECT number, supi FROM change WHERE number > $1 ORDER BY number LIMIT $2";
            let rows = client.query(sql, &[&after, &(limit as i64)])?;
            Ok(rows.iter().map(|row| Change { number: row.get(0), supi: row.get(1) }).collect())
        })
    }

    fn last_change(&self) -> Result<i64, StoreError> {
        self.run(|client| {
            Ok(client.query_one("SELECT coalesce(max(number), 0) FROM change", &[])?.get(0))
        })
    }

    fn version(&self) -> Result<Option<i64>, StoreError> {
        Ok(None)
    }

    fn is_remote(&self) -> bool {
        true
    }
}
