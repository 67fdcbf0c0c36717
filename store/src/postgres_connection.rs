//! Opens a connection to the first server of a URL that accepts it.
use crate::StoreError;
use crate::postgres_tls::Target;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::tls::NoTls;
use tokio_postgres::{AsyncMessage, Client, Config, Connection, Error};

impl Target {
    /// Limit of the attempts to connect to all servers.
    pub fn total_connect_timeout(&self) -> Duration {
        self.servers.iter().map(|server| self.limit_of(server)).sum()
    }

    /// Limit of an attempt to connect to a server, or to several of them that a parameter names.
    fn limit_of(&self, server: &Config) -> Duration {
        let hosts = u32::try_from(server.get_hosts().len().max(1)).unwrap_or(1);
        self.connect_timeout.saturating_mul(hosts)
    }
}

/// Connects to each server in turn until one accepts. The task moves the bytes of the connection.
/// `notified` is signalled for each notification of the server.
///
/// # Errors
/// The error of the last server that answered, else that none answered.
pub(crate) async fn connect(
    target: &Target,
    notified: Option<Arc<Notify>>,
) -> Result<(Client, JoinHandle<()>), StoreError> {
    let limit = target.connect_timeout;
    let mut failure = StoreError::Timeout { what: "connection", limit };
    for server in &target.servers {
        let limit = target.limit_of(server);
        match timeout(limit, connect_to(target, server, notified.clone())).await {
            Ok(Ok(connection)) => return Ok(connection),
            Ok(Err(error)) => failure = error.into(),
            Err(_) => {}
        }
    }
    Err(failure)
}

async fn connect_to(
    target: &Target,
    server: &Config,
    notified: Option<Arc<Notify>>,
) -> Result<(Client, JoinHandle<()>), Error> {
    let (client, task) = match &target.tls {
        Some(tls) => {
            let (client, connection) = server.connect(tls.connector()).await?;
            (client, tokio::spawn(drive(connection, notified)))
        }
        None => {
            let (client, connection) = server.connect(NoTls).await?;
            (client, tokio::spawn(drive(connection, notified)))
        }
    };
    // The server ends a statement, too, so that it does not take effect much later.
    let limit = target.statement_timeout.as_millis();
    match client.batch_execute(&format!("SET statement_timeout = {limit}")).await {
        Ok(()) => Ok((client, task)),
        Err(error) => {
            task.abort();
            Err(error)
        }
    }
}

/// Moves the bytes of a connection until it ends.
async fn drive<S, T>(mut connection: Connection<S, T>, notified: Option<Arc<Notify>>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        if let (AsyncMessage::Notification(_), Some(notified)) = (message, &notified) {
            notified.notify_one();
        }
    }
}
