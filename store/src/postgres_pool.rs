//! A pool of asynchronous connections to a PostgreSQL server, for statements that may be repeated.
//!
//! A statement whose connection is lost, or whose transaction the server rolls back in favour of
//! another one, is run again until its time limit. Each connection prepares a statement once; one
//! that a server does not accept any more, such as after a failover, is prepared again.
use crate::StoreError;
use crate::postgres_connection::connect;
use crate::postgres_tls::{Target, target};
use deadpool_postgres::{
    Client, Connect, Manager, ManagerConfig, Object, Pool as Connections, PoolError,
    RecyclingMethod, Runtime,
};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Config, Error, Row};

/// First and longest pause between two attempts.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// Parameters of a statement.
pub(crate) type Parameters<'a> = [&'a (dyn ToSql + Sync)];

/// Connections to one database.
pub(crate) struct Pool {
    connections: Connections,
    /// Limit of a statement with its repetitions.
    limit: Duration,
    /// Why the last attempt to connect failed, which the pool cannot report.
    refusal: Refusal,
}

/// Why there is no connection.
type Refusal = Arc<Mutex<Option<String>>>;

/// Connects to the servers of a target in turn.
struct Servers {
    target: Target,
    refusal: Refusal,
}

type Connecting<'a> = Pin<
    Box<dyn Future<Output = Result<(tokio_postgres::Client, JoinHandle<()>), Error>> + Send + 'a>,
>;

impl Connect for Servers {
    fn connect(&self, _: &Config) -> Connecting<'_> {
        Box::pin(async move {
            match connect(&self.target, None).await {
                Ok(connection) => Ok(connection),
                Err(StoreError::Postgres(error)) => Err(error),
                Err(error) => {
                    // The pool takes errors of the client library only: its own timeout follows.
                    *self.refusal.lock().unwrap_or_else(|e| e.into_inner()) =
                        Some(error.to_string());
                    std::future::pending().await
                }
            }
        })
    }
}

impl Pool {
    /// A pool of at most `size` connections, which are opened when they are needed.
    ///
    /// # Errors
    /// The URL is wrong.
    pub fn new(url: &str, size: usize) -> Result<Pool, StoreError> {
        let target = target(url)?;
        let limit = target.statement_timeout;
        let (connecting, refusal) = (target.total_connect_timeout(), Refusal::default());
        let settings = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let servers = Servers { target, refusal: refusal.clone() };
        let manager = Manager::from_connect(Config::new(), servers, settings);
        let connections = Connections::builder(manager)
            .max_size(size.max(1))
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(limit))
            .create_timeout(Some(connecting + FIRST_PAUSE))
            .build()
            .map_err(|error| StoreError::Disconnected(error.to_string()))?;
        Ok(Pool { connections, limit, refusal })
    }

    /// Runs a statement, again while it fails for a reason that passes. It must be one that may
    /// take effect twice.
    ///
    /// # Errors
    /// The statement fails, or the time limit is over.
    pub async fn query(
        &self,
        sql: &str,
        parameters: &Parameters<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let give_up = Instant::now() + self.limit;
        let mut pause = FIRST_PAUSE;
        loop {
            let error = match self.query_once(sql, parameters).await {
                Ok(rows) => return Ok(rows),
                Err(error) => error,
            };
            if !error.is_transient() || Instant::now() + pause >= give_up {
                return Err(error);
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Runs a statement once.
    ///
    /// # Errors
    /// The statement fails, or the time limit is over.
    pub async fn query_once(
        &self,
        sql: &str,
        parameters: &Parameters<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let client = self.connections.get().await.map_err(|error| self.refused(error))?;
        run(client, self.limit, sql, parameters).await
    }

    /// The same, with a time limit that includes the wait for a connection.
    ///
    /// # Errors
    /// The statement fails, or the time limit is over.
    pub async fn query_within(
        &self,
        limit: Duration,
        sql: &str,
        parameters: &Parameters<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let begun = Instant::now();
        let late = |_| StoreError::Timeout { what: "connection", limit };
        let client = timeout(limit, self.connections.get()).await.map_err(late)?;
        let client = client.map_err(|error| self.refused(error))?;
        let rest = limit.saturating_sub(begun.elapsed()).min(self.limit);
        run(client, rest, sql, parameters).await
    }

    fn refused(&self, error: PoolError) -> StoreError {
        match error {
            PoolError::Backend(error) => error.into(),
            error => {
                let refusal = self.refusal.lock().unwrap_or_else(|e| e.into_inner()).take();
                StoreError::Disconnected(refusal.unwrap_or_else(|| error.to_string()))
            }
        }
    }
}

/// Runs a statement once at a connection, which is closed if it is useless afterwards.
async fn run(
    client: Client,
    limit: Duration,
    sql: &str,
    parameters: &Parameters<'_>,
) -> Result<Vec<Row>, StoreError> {
    let work = async {
        let statement = client.prepare_cached(sql).await?;
        client.query(&statement, parameters).await
    };
    let outcome = match timeout(limit, work).await {
        Ok(outcome) => outcome.map_err(StoreError::from),
        Err(_) => Err(StoreError::Timeout { what: "statement", limit }),
    };
    if let Err(error) = &outcome {
        close_if_useless(client, error);
    }
    outcome
}

/// Closes a connection that an error makes useless, and forgets statements that the server does
/// not accept any more.
fn close_if_useless(client: Client, error: &StoreError) {
    if error.is_outdated_statement() {
        client.statement_cache.clear();
    } else if error.needs_other_connection() {
        drop(Object::take(client));
    }
}
