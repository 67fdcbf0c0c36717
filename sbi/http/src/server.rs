//! The server: serves a [`Router`] over HTTP/2 with prior knowledge, and over HTTP/1.1 for command
//! line tools.
use crate::dial::{Listen, Stream};
use crate::{Tls, convert, metrics};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use martlet_sbi::{Problem, Request, Response, Router, headers};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// Limits of a server.
#[derive(Debug, Clone)]
pub struct ServerLimits {
    /// Maximum number of connections.
    pub connections: usize,
    /// Maximum number of concurrent requests on one connection.
    pub streams: u32,
    /// Maximum number of concurrent requests. Further ones get 503 with `Retry-After` (TS 29.500,
    /// 6.4.2.2).
    pub requests: usize,
    /// Maximum length of a body in bytes.
    pub body: usize,
    /// Maximum processing time of a request.
    pub max_duration: Duration,
    /// TLS; `None` serves plain HTTP.
    pub tls: Option<Tls>,
    /// The authorisation check.
    pub guard: Option<Guard>,
}

/// Checks the headers and the path of a request.
pub type Check = dyn Fn(&http::HeaderMap, &str) -> Result<(), Problem> + Send + Sync;

/// Authorises requests by their headers and path.
#[derive(Clone)]
pub struct Guard(pub Arc<Check>);

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Guard { .. }")
    }
}

/// `Retry-After` of rejected requests, in seconds.
const RETRY_AFTER: u32 = 1;

/// Timeout of a TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

impl Default for ServerLimits {
    fn default() -> Self {
        ServerLimits {
            connections: 256,
            streams: 1024,
            requests: 4096,
            body: 1 << 20,
            max_duration: Duration::from_secs(60),
            tls: None,
            guard: None,
        }
    }
}

/// A bound server, over TCP by default.
pub struct HttpServer<L = TcpListener> {
    listener: L,
    router: Arc<Router>,
    limits: Arc<ServerLimits>,
}

impl HttpServer {
    /// Binds a TCP socket. The error names the address.
    pub async fn bind(
        address: SocketAddr,
        router: Arc<Router>,
        limits: ServerLimits,
    ) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address).await.map_err(|e| {
            std::io::Error::new(
                e.kind(),
                format!("cannot listen for SBI requests on {address}: {e}"),
            )
        })?;
        Ok(HttpServer::over(listener, router, limits))
    }

    /// The bound address, with the selected port.
    pub fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl<L: Listen> HttpServer<L> {
    /// A server over another listener.
    pub fn over(listener: L, router: Arc<Router>, limits: ServerLimits) -> Self {
        HttpServer { listener, router, limits: Arc::new(limits) }
    }

    /// Serves until the future is dropped, which closes the connections.
    pub async fn run(self) {
        let slots = Arc::new(Semaphore::new(self.limits.connections));
        let permits = Arc::new(Semaphore::new(self.limits.requests));
        let mut connections = tokio::task::JoinSet::new();
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                Some(_) = connections.join_next() => continue,
            };
            let stream = match accepted {
                Ok(stream) => stream,
                Err(error) => {
                    // Usually out of descriptors: wait for other connections to close.
                    tracing::warn!(%error, "SBI connection not accepted");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                }
            };
            let Ok(slot) = slots.clone().try_acquire_owned() else {
                metrics::REFUSED.with_label_values(&["too many connections"]).inc();
                continue;
            };
            metrics::CONNECTIONS.with_label_values(&["server"]).inc();
            let (router, limits, permits) =
                (self.router.clone(), self.limits.clone(), permits.clone());
            connections.spawn(async move {
                match limits.tls.clone() {
                    None => serve(stream, router, limits, permits).await,
                    Some(tls) => {
                        if let Some(stream) = handshake(&tls, stream).await {
                            serve(stream, router, limits, permits).await;
                        }
                    }
                }
                drop(slot);
            });
        }
    }
}

/// The server's side of a TLS handshake; `None` if it fails.
async fn handshake(tls: &Tls, stream: impl Stream) -> Option<impl Stream> {
    match tokio::time::timeout(HANDSHAKE_TIMEOUT, tls.acceptor.accept(stream)).await {
        Ok(Ok(stream)) => return Some(stream),
        Ok(Err(error)) => {
            tracing::warn!(
                %error,
                "SBI connection refused: check that sbi.tls issued its certificate"
            );
        }
        Err(_) => {}
    }
    metrics::REFUSED.with_label_values(&["TLS"]).inc();
    None
}

async fn serve(
    stream: impl Stream,
    router: Arc<Router>,
    limits: Arc<ServerLimits>,
    permits: Arc<Semaphore>,
) {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(16 << 10);
    builder.http1().timer(TokioTimer::new()).header_read_timeout(Duration::from_secs(10));
    let service = service_fn(|request| {
        let (router, limits, permits) = (router.clone(), limits.clone(), permits.clone());
        async move { Ok::<_, Infallible>(respond(request, &router, &limits, &permits).await) }
    });
    if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "SBI connection closed with an error");
    }
}

async fn respond(
    request: http::Request<Incoming>,
    router: &Router,
    limits: &ServerLimits,
    permits: &Semaphore,
) -> http::Response<convert::ResponseBody> {
    let (parts, mut incoming) = request.into_parts();
    let Ok(_permit) = permits.try_acquire() else {
        metrics::REFUSED.with_label_values(&["too many requests"]).inc();
        let mut problem = Problem::new(503, "NF_CONGESTION")
            .detail("too many concurrent requests: retry later or raise sbi.max_requests");
        problem.retry_after = Some(RETRY_AFTER);
        return convert_response(Response::problem(problem), incoming);
    };
    let wait = parts.headers.get(headers::MAX_RSP_TIME).and_then(|v| v.to_str().ok()?.parse().ok());
    let wait = wait.map_or(limits.max_duration, Duration::from_millis).min(limits.max_duration);
    let collected =
        tokio::time::timeout(wait, convert::collect(&parts.headers, &mut incoming, limits.body))
            .await;
    let collected = collected.unwrap_or_else(|_| {
        Err(Problem::new(408, "").detail(format!("the request was not complete within {wait:?}")))
    });
    let path = parts.uri.path();
    let allowed = limits.guard.as_ref().map_or(Ok(()), |guard| (guard.0)(&parts.headers, path));
    let response = match allowed.and(collected) {
        Ok(body) => {
            let target = parts.uri.path_and_query().map_or("/", |p| p.as_str()).to_string();
            let deadline = Some(Instant::now() + wait);
            router
                .handle(Request {
                    operation: None,
                    method: parts.method,
                    target,
                    headers: parts.headers,
                    body,
                    deadline,
                })
                .await
        }
        Err(problem) => {
            metrics::REFUSED.with_label_values(&["body"]).inc();
            Response::problem(problem)
        }
    };
    convert_response(response, incoming)
}

/// Converts a response for hyper.
fn convert_response(
    response: Response,
    incoming: Incoming,
) -> http::Response<convert::ResponseBody> {
    let encoded = response.body.to_encoded();
    let (status, encoded, mut fields) = match encoded {
        Ok(encoded) => (response.status, encoded, response.headers),
        Err(problem) => {
            (500, Response::problem(problem).body.to_encoded().ok().flatten(), Default::default())
        }
    };
    let body = convert::ResponseBody::new(convert::full(&mut fields, encoded), incoming);
    let mut answer = http::Response::new(body);
    *answer.status_mut() =
        http::StatusCode::from_u16(status).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    *answer.headers_mut() = fields;
    answer
}
