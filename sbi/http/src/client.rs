//! The client: one persistent HTTP/2 connection for each producer.
use crate::dial::{Dial, Tcp};
use crate::preface::CoalescePreface;
use crate::{Tls, convert, metrics};
use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use martlet_sbi::{
    ApiRoot, BoxFuture, Encoded, OperationInfo, Problem, Request, Response, Transport,
    TransportFailure,
};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::OnceCell;

/// Limits of a client.
#[derive(Debug, Clone)]
pub struct ClientLimits {
    /// Maximum number of connections. The least recently used one is closed.
    pub producers: usize,
    /// Maximum number of retries of a request that is safe to repeat.
    pub retries: u32,
    /// Timeout of connecting.
    pub connect: Duration,
    /// Maximum length of a response body in bytes.
    pub body: usize,
}

impl Default for ClientLimits {
    fn default() -> Self {
        ClientLimits { producers: 256, retries: 2, connect: Duration::from_secs(1), body: 1 << 20 }
    }
}

type Sender = SendRequest<Full<Bytes>>;
/// The cell of a connection: concurrent callers share one attempt to connect.
type Cell = Arc<OnceCell<Sender>>;

struct Connection {
    cell: Cell,
    used: Instant,
}

/// The client side of the binding. Clones share the connections.
#[derive(Clone)]
pub struct HttpBinding {
    /// By [`key`].
    connections: Arc<Mutex<HashMap<String, Connection>>>,
    limits: Arc<ClientLimits>,
    dial: Arc<dyn Dial>,
    tls: Option<Tls>,
}

/// Connections that a producer may close before it processes a request. Closing an idle connection
/// is no failure of the producer, so these do not count as retries. Some producers close a
/// connection that is idle for a millisecond, while other requests are on the way (free5GC's).
const CLOSED_CONNECTIONS: u32 = 4;
/// From this number of closed connections on, a request gets a connection of its own: on one that
/// is shared, the end of another request can be the reason to close it.
const OWN_CONNECTION: u32 = 2;

/// Why an attempt failed.
struct Failed {
    how: TransportFailure,
    /// The producer closed the connection, and did not process the request.
    closed: bool,
    detail: String,
}

impl Failed {
    /// The name in metrics.
    fn reason(&self) -> &'static str {
        match (self.closed, self.how) {
            (true, _) => "connection closed",
            (false, TransportFailure::NotSent) => "not sent",
            (false, _) => "no response",
        }
    }
}

/// A connection to send a request on.
struct Lease {
    sender: Sender,
    /// The cell that other requests share; `None` for a connection of one request.
    shared: Option<Cell>,
}

impl HttpBinding {
    /// A client over TCP.
    pub fn new(limits: ClientLimits) -> Self {
        HttpBinding {
            connections: Arc::default(),
            limits: Arc::new(limits),
            dial: Arc::new(Tcp),
            tls: None,
        }
    }

    /// Replaces TCP by another connector.
    pub fn over(mut self, dial: Arc<dyn Dial>) -> Self {
        self.dial = dial;
        self
    }

    /// Uses TLS with producers whose API root is `https`.
    pub fn with_tls(mut self, tls: Option<Tls>) -> Self {
        self.tls = tls;
        self
    }

    /// The cell of the connection to a producer; an empty one if the connection is closed.
    fn cell(&self, to: &ApiRoot) -> Cell {
        let key = key(to);
        let mut connections = self.connections.lock().unwrap_or_else(|e| e.into_inner());
        if connections.len() >= self.limits.producers && !connections.contains_key(&key) {
            let oldest =
                connections.iter().min_by_key(|(_, k)| k.used).map(|(name, _)| name.clone());
            oldest.map(|name| connections.remove(&name));
        }
        let now = Instant::now();
        let entry = connections
            .entry(key)
            .or_insert_with(|| Connection { cell: Cell::default(), used: now });
        entry.used = now;
        if entry.cell.get().is_some_and(|sender| sender.is_closed()) {
            entry.cell = Cell::default();
        }
        entry.cell.clone()
    }

    /// Makes the next request open a new connection in place of this one.
    fn drop_connection(&self, to: &ApiRoot, lease: &Lease) {
        let Some(cell) = &lease.shared else { return };
        let mut connections = self.connections.lock().unwrap_or_else(|e| e.into_inner());
        // Another request may have replaced it.
        let key = key(to);
        if connections.get(&key).is_some_and(|entry| Arc::ptr_eq(&entry.cell, cell)) {
            connections.remove(&key);
        }
    }

    async fn open(&self, to: &ApiRoot) -> Result<Sender, Failed> {
        let connecting = connect(&*self.dial, self.tls.as_ref(), to);
        let sender = tokio::time::timeout(self.limits.connect, connecting).await;
        sender.unwrap_or_else(|_| Err(not_sent(format!("{to}: connecting timed out"))))
    }

    /// The connection that requests share, or a new one for a request alone.
    async fn lease(&self, to: &ApiRoot, own: bool) -> Result<Lease, Failed> {
        if own {
            return Ok(Lease { sender: self.open(to).await?, shared: None });
        }
        let cell = self.cell(to);
        let sender = cell.get_or_try_init(|| self.open(to)).await?.clone();
        Ok(Lease { sender, shared: Some(cell) })
    }

    async fn attempt(
        &self,
        to: &ApiRoot,
        request: http::Request<Full<Bytes>>,
        own: bool,
    ) -> Result<Response, Failed> {
        let mut lease = self.lease(to, own).await?;
        if let Err(error) = lease.sender.ready().await {
            self.drop_connection(to, &lease);
            let detail = format!("{to} closed the connection: {}", with_cause(&error));
            return Err(Failed { how: TransportFailure::NotSent, closed: true, detail });
        }
        let answer = lease.sender.try_send_request(request).await.map_err(|mut e| {
            // hyper returns the request if no byte of it was sent.
            let sent = e.take_message().is_none();
            let error = e.into_error();
            let closed = !sent || is_closing(&error);
            let how = match closed || is_refused(&error) {
                true => TransportFailure::NotSent,
                false => TransportFailure::Unknown,
            };
            self.drop_connection(to, &lease);
            Failed { how, closed, detail: format!("{to}: {}", with_cause(&error)) }
        })?;
        let (parts, mut incoming) = answer.into_parts();
        let body = convert::collect(&parts.headers, &mut incoming, self.limits.body).await;
        let body = body.map_err(|problem| Failed {
            how: TransportFailure::Unknown,
            closed: false,
            detail: format!("{to}: {problem}"),
        })?;
        Ok(Response { status: parts.status.as_u16(), headers: parts.headers, body })
    }

    async fn exchange(&self, to: &ApiRoot, request: Request) -> Result<Response, Problem> {
        let encoded = request.body.to_encoded()?;
        let (mut left, mut closed) = (self.limits.retries, 0);
        loop {
            let own = closed >= OWN_CONNECTION;
            match self.attempt(to, build(to, &request, encoded.clone())?, own).await {
                Ok(response) => return Ok(response),
                Err(failed) if failed.closed && closed < CLOSED_CONNECTIONS => {
                    closed += 1;
                    metrics::RETRIES.with_label_values(&[failed.reason()]).inc();
                    tracing::debug!(detail = failed.detail, "SBI request sent again");
                }
                Err(failed)
                    if left > 0 && may_retry(request.operation, &request.method, failed.how) =>
                {
                    left -= 1;
                    metrics::RETRIES.with_label_values(&[failed.reason()]).inc();
                    tracing::debug!(detail = failed.detail, "SBI request retried");
                    let back_off = Duration::from_millis(10 << (self.limits.retries - left).min(6));
                    tokio::time::sleep(back_off).await;
                }
                Err(failed) => return Err(Problem::unreachable(failed.how, failed.detail)),
            }
        }
    }
}

impl Transport for HttpBinding {
    fn send<'a>(
        &'a self,
        to: &'a ApiRoot,
        request: Request,
    ) -> BoxFuture<'a, Result<Response, Problem>> {
        Box::pin(self.exchange(to, request))
    }
}

/// The name of a producer's connection. The scheme is a part of it: a URI of a peer may name `http`
/// for the port of a producer with TLS, whose requests must not be sent without.
fn key(to: &ApiRoot) -> String {
    format!("{}://{}", to.scheme, to.authority)
}

fn not_sent(detail: String) -> Failed {
    Failed { how: TransportFailure::NotSent, closed: false, detail }
}

/// An error with its causes: hyper's own text has no reason.
fn with_cause(error: &hyper::Error) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

fn http2_error(error: &hyper::Error) -> Option<&h2::Error> {
    std::error::Error::source(error)?.downcast_ref::<h2::Error>()
}

/// Whether the producer reports that it closes the connection, and did not process the request
/// (GOAWAY, RFC 9113, 6.8 and 8.7).
fn is_closing(error: &hyper::Error) -> bool {
    http2_error(error).is_some_and(|cause| {
        cause.reason() == Some(h2::Reason::NO_ERROR) && cause.is_go_away() && cause.is_remote()
    })
}

/// Whether the producer reports that it did not process the request, and keeps the connection
/// (RFC 9113, 8.7).
fn is_refused(error: &hyper::Error) -> bool {
    http2_error(error).is_some_and(|cause| {
        cause.reason() == Some(h2::Reason::REFUSED_STREAM) && cause.is_reset() && cause.is_remote()
    })
}

fn may_retry(
    operation: Option<&OperationInfo>,
    method: &http::Method,
    how: TransportFailure,
) -> bool {
    how == TransportFailure::NotSent
        || operation.map_or(*method == http::Method::GET, OperationInfo::is_idempotent)
}

async fn connect(dial: &dyn Dial, tls: Option<&Tls>, to: &ApiRoot) -> Result<Sender, Failed> {
    let secure = to.scheme == "https";
    if secure && tls.is_none() {
        return Err(not_sent(format!("{to}: the producer requires TLS: configure sbi.tls")));
    }
    let mut stream = dial.dial(&to.authority).await.map_err(|e| not_sent(format!("{to}: {e}")))?;
    if let Some(tls) = tls.filter(|_| secure) {
        let name = crate::tls::name_of(&to.authority)
            .ok_or_else(|| not_sent(format!("{to}: not a valid TLS server name")))?;
        let secured = tls.connector().connect(name, stream).await;
        stream = Box::new(secured.map_err(|e| not_sent(format!("{to}: TLS: {e}")))?);
    }
    let handshake = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(Duration::from_secs(20))
        .keep_alive_timeout(Duration::from_secs(10))
        .handshake(TokioIo::new(CoalescePreface::new(stream)));
    let (sender, connection) = handshake.await.map_err(|e| not_sent(format!("{to}: {e}")))?;
    metrics::CONNECTIONS.with_label_values(&["client"]).inc();
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "SBI connection closed with an error");
        }
    });
    Ok(sender)
}

fn build(
    to: &ApiRoot,
    request: &Request,
    encoded: Option<Encoded>,
) -> Result<http::Request<Full<Bytes>>, Problem> {
    let mut headers = request.headers.clone();
    let body = convert::full(&mut headers, encoded);
    let uri = format!("{}://{}{}", to.scheme, to.authority, request.target);
    let mut out =
        http::Request::builder().method(&request.method).uri(uri).body(body).map_err(|e| {
            Problem::unreachable(TransportFailure::NotSent, format!("{to}{}: {e}", request.target))
        })?;
    *out.headers_mut() = headers;
    Ok(out)
}
