//! A blocking PostgreSQL client. Each wait has a limit: if the server hangs, a statement fails and
//! the connection is closed.
//!
//! Statements are prepared once per connection. A closed client fails each statement at once until
//! [`Client::reconnect`] succeeds.
use crate::StoreError;
use crate::postgres_connection::connect;
use crate::postgres_tls::{Target, target};
use std::collections::HashMap;
use std::future::Future;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row, Statement};

/// Limit of a transaction that changes subscribers or tables: it waits for others of its kind.
const LONG_LIMIT: Duration = Duration::from_secs(3600);

/// Parameters of a statement.
type Parameters<'a> = [&'a (dyn ToSql + Sync)];

/// A client of one server.
pub struct Client {
    runtime: Runtime,
    target: Target,
    link: Link,
    limit: Duration,
}

enum Link {
    Connected(Box<Connection>),
    /// There is no connection, for this reason.
    Disconnected(String),
}

struct Connection {
    client: tokio_postgres::Client,
    /// Moves the bytes of the connection; it runs while a call waits.
    task: JoinHandle<()>,
    /// Prepared statements by their text.
    statements: HashMap<String, Statement>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Connection {
    async fn statement(&mut self, sql: &str) -> Result<Statement, Error> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(sql).await?;
        self.statements.insert(sql.to_string(), statement.clone());
        Ok(statement)
    }
}

impl Client {
    /// Connects to a `postgresql://` URL.
    ///
    /// # Errors
    /// The URL is wrong, or the server does not answer in time.
    pub fn connect(url: &str) -> Result<Client, StoreError> {
        let target = target(url)?;
        let runtime =
            Builder::new_current_thread().enable_all().build().map_err(|_| StoreError::Ended)?;
        let limit = target.statement_timeout;
        let link = Link::Disconnected("not connected yet".to_string());
        let mut client = Client { runtime, target, link, limit };
        client.reconnect()?;
        Ok(client)
    }

    /// Connects again.
    ///
    /// # Errors
    /// The server does not answer in time.
    pub fn reconnect(&mut self) -> Result<(), StoreError> {
        let target = &self.target;
        match self.runtime.block_on(connect(target, None)) {
            Ok((client, task)) => {
                let statements = HashMap::new();
                let connection = Connection { client, task, statements };
                self.link = Link::Connected(Box::new(connection));
                Ok(())
            }
            Err(error) => {
                self.link = Link::Disconnected(error.to_string());
                Err(error)
            }
        }
    }

    /// Whether the connection is closed, by the server or after a failure.
    pub fn is_closed(&mut self) -> bool {
        let Link::Connected(connection) = &self.link else { return true };
        // Reads what has arrived, such as the end of the connection.
        self.runtime.block_on(async {
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
        });
        let is_closed = connection.client.is_closed();
        if is_closed {
            self.link = Link::Disconnected("the server closed the connection".into());
        }
        is_closed
    }

    fn run<'a, T, F>(
        &'a mut self,
        work: impl FnOnce(&'a mut Connection) -> F,
    ) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, Error>> + 'a,
    {
        let limit = self.limit;
        let connection = match &mut self.link {
            Link::Connected(connection) => connection,
            Link::Disconnected(why) => return Err(StoreError::Disconnected(why.clone())),
        };
        let work = work(connection);
        match self.runtime.block_on(async { timeout(limit, work).await }) {
            Ok(outcome) => outcome.map_err(StoreError::from),
            Err(_) => Err(StoreError::Timeout { what: "statement", limit }),
        }
    }

    /// Closes the connection if an error makes it useless, and forgets prepared statements that the
    /// server does not accept any more.
    fn checked<T>(&mut self, outcome: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(error) = &outcome
            && let Link::Connected(connection) = &mut self.link
        {
            if error.needs_other_connection() || connection.client.is_closed() {
                self.link = Link::Disconnected(error.to_string());
            } else if error.is_outdated_statement() {
                connection.statements.clear();
            }
        }
        outcome
    }

    /// Runs a query.
    pub fn query(
        &mut self,
        sql: &str,
        parameters: &Parameters<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let outcome = self.run(async |connection: &mut Connection| {
            let statement = connection.statement(sql).await?;
            connection.client.query(&statement, parameters).await
        });
        self.checked(outcome)
    }

    /// Runs a query with at most one row.
    pub fn query_opt(
        &mut self,
        sql: &str,
        parameters: &Parameters<'_>,
    ) -> Result<Option<Row>, StoreError> {
        let outcome = self.run(async |connection: &mut Connection| {
            let statement = connection.statement(sql).await?;
            connection.client.query_opt(&statement, parameters).await
        });
        self.checked(outcome)
    }

    /// Runs a query with one row.
    pub fn query_one(&mut self, sql: &str, parameters: &Parameters<'_>) -> Result<Row, StoreError> {
        let outcome = self.run(async |connection: &mut Connection| {
            let statement = connection.statement(sql).await?;
            connection.client.query_one(&statement, parameters).await
        });
        self.checked(outcome)
    }

    /// Runs a statement. Returns the number of changed rows.
    pub fn execute(&mut self, sql: &str, parameters: &Parameters<'_>) -> Result<u64, StoreError> {
        let outcome = self.run(async |connection: &mut Connection| {
            let statement = connection.statement(sql).await?;
            connection.client.execute(&statement, parameters).await
        });
        self.checked(outcome)
    }

    /// Runs statements without parameters.
    pub fn batch_execute(&mut self, sql: &str) -> Result<(), StoreError> {
        let outcome = self
            .run(async |connection: &mut Connection| connection.client.batch_execute(sql).await);
        self.checked(outcome)
    }

    /// Begins a transaction. It is rolled back on drop.
    pub fn transaction(&mut self) -> Result<Transaction<'_>, StoreError> {
        self.batch_execute("BEGIN")?;
        Ok(Transaction { client: self, is_open: true })
    }

    /// Begins a transaction that may wait for others: one that changes tables or many rows.
    pub(crate) fn long_transaction(&mut self) -> Result<Transaction<'_>, StoreError> {
        self.batch_execute("BEGIN; SET LOCAL statement_timeout = 0")?;
        self.limit = LONG_LIMIT;
        Ok(Transaction { client: self, is_open: true })
    }
}

/// An open transaction.
pub struct Transaction<'a> {
    client: &'a mut Client,
    is_open: bool,
}

impl Transaction<'_> {
    /// As [`Client::query`].
    pub fn query(
        &mut self,
        sql: &str,
        parameters: &Parameters<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        self.client.query(sql, parameters)
    }

    /// As [`Client::query_opt`].
    pub fn query_opt(
        &mut self,
        sql: &str,
        parameters: &Parameters<'_>,
    ) -> Result<Option<Row>, StoreError> {
        self.client.query_opt(sql, parameters)
    }

    /// As [`Client::query_one`].
    pub fn query_one(&mut self, sql: &str, parameters: &Parameters<'_>) -> Result<Row, StoreError> {
        self.client.query_one(sql, parameters)
    }

    /// As [`Client::execute`].
    pub fn execute(&mut self, sql: &str, parameters: &Parameters<'_>) -> Result<u64, StoreError> {
        self.client.execute(sql, parameters)
    }

    /// As [`Client::batch_execute`].
    pub fn batch_execute(&mut self, sql: &str) -> Result<(), StoreError> {
        self.client.batch_execute(sql)
    }

    /// Commits.
    pub fn commit(mut self) -> Result<(), StoreError> {
        self.is_open = false;
        self.client.batch_execute("COMMIT")
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        self.client.limit = self.client.target.statement_timeout;
        // After a failed commit the state of the transaction is unknown; the server ends it.
        if self.is_open && matches!(self.client.link, Link::Connected(_)) {
            let _ = self.client.batch_execute("ROLLBACK");
        }
    }
}
