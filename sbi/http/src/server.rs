//! Serves a [`Router`] over HTTP/2 with prior knowledge, and HTTP/1.1 for people's tools.
use crate::net::{Listen, Stream};
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

/// What one server takes on.
#[derive(Debug, Clone)]
pub struct ServerLimits {
    /// Connections at a time.
    pub connections: usize,
    /// Requests at a time on one connection.
    pub streams: u32,
    /// Requests at a time on all connections: who comes beyond them is told to come back (TS
    /// 29.500, 6.4.2.2).
    pub requests: usize,
    /// Octets of a body.
    pub body: usize,
    /// Longest time that a request may take where its consumer names none.
    pub longest: Duration,
    /// TLS, where it is spoken.
    pub tls: Option<Tls>,
    /// Who may call what.
    pub guard: Option<Guard>,
}

/// What looks at the headers and the path of a request.
pub type Look = dyn Fn(&http::HeaderMap, &str) -> Result<(), Problem> + Send + Sync;

/// Says whether a request may reach the service that its path names, by its headers.
#[derive(Clone)]
pub struct Guard(pub Arc<Look>);

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Guard { .. }")
    }
}

/// When who was told to come back may do so, seconds.
const BACK_OFF: u32 = 1;

/// How long a client may take for its part of a TLS handshake.
const HANDSHAKE: Duration = Duration::from_secs(5);

impl Default for ServerLimits {
    fn default() -> Self {
        ServerLimits {
            connections: 256,
            streams: 1024,
            requests: 4096,
            body: 1 << 20,
            longest: Duration::from_secs(60),
            tls: None,
            guard: None,
        }
    }
}

/// A bound server, over TCP if not said otherwise.
pub struct HttpServer<L = TcpListener> {
    listener: L,
    router: Arc<Router>,
    limits: Arc<ServerLimits>,
}

impl HttpServer {
    /// Binds; the error names the address.
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

    /// The address bound, with the port that port 0 became.
    pub fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl<L: Listen> HttpServer<L> {
    /// Serves what comes in elsewhere.
    pub fn over(listener: L, router: Arc<Router>, limits: ServerLimits) -> Self {
        HttpServer { listener, router, limits: Arc::new(limits) }
    }

    /// Serves until the future is dropped; its connections end with it.
    pub async fn run(self) {
        let slots = Arc::new(Semaphore::new(self.limits.connections));
        let places = Arc::new(Semaphore::new(self.limits.requests));
        let mut connections = tokio::task::JoinSet::new();
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                Some(_) = connections.join_next() => continue,
            };
            let stream = match accepted {
                Ok(stream) => stream,
                Err(error) => {
                    // Out of descriptors, mostly: give the others time to close theirs.
                    tracing::warn!(%error, "an SBI connection was not accepted");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                }
            };
            let Ok(slot) = slots.clone().try_acquire_owned() else {
                metrics::REFUSED.with_label_values(&["too many connections"]).inc();
                continue;
            };
            metrics::CONNECTIONS.with_label_values(&["server"]).inc();
            let (router, limits, places) =
                (self.router.clone(), self.limits.clone(), places.clone());
            connections.spawn(async move {
                match limits.tls.clone() {
                    None => serve(stream, router, limits, places).await,
                    Some(tls) => match tokio::time::timeout(HANDSHAKE, tls.acceptor.accept(stream)).await {
                        Ok(Ok(stream)) => serve(stream, router, limits, places).await,
                        Ok(Err(error)) => {
                            metrics::REFUSED.with_label_values(&["TLS"]).inc();
                            tracing::warn!(%error, "an SBI connection is refused: is the certificate one of sbi.tls?");
                        }
                        Err(_) => metrics::REFUSED.with_label_values(&["TLS"]).inc(),
                    },
                }
                drop(slot);
            });
        }
    }
}

async fn serve(
    stream: impl Stream,
    router: Arc<Router>,
    limits: Arc<ServerLimits>,
    places: Arc<Semaphore>,
) {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(16 << 10);
    builder.http1().timer(TokioTimer::new()).header_read_timeout(Duration::from_secs(10));
    let service = service_fn(|request| {
        let (router, limits, places) = (router.clone(), limits.clone(), places.clone());
        async move { Ok::<_, Infallible>(answer(request, &router, &limits, &places).await) }
    });
    if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "an SBI connection ended with an error");
    }
}

async fn answer(
    request: http::Request<Incoming>,
    router: &Router,
    limits: &ServerLimits,
    places: &Semaphore,
) -> http::Response<convert::Answered> {
    let (parts, mut incoming) = request.into_parts();
    let Ok(_place) = places.try_acquire() else {
        metrics::REFUSED.with_label_values(&["too many requests"]).inc();
        let mut problem = Problem::new(503, "NF_CONGESTION")
            .detail("too many requests are under way: see sbi.max_requests");
        problem.retry_after = Some(BACK_OFF);
        return written(Response::problem(problem), incoming);
    };
    let wait = parts.headers.get(headers::MAX_RSP_TIME).and_then(|v| v.to_str().ok()?.parse().ok());
    let wait = wait.map_or(limits.longest, Duration::from_millis).min(limits.longest);
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
    written(response, incoming)
}

/// The answer to a request, of which what is left is read as well.
fn written(response: Response, incoming: Incoming) -> http::Response<convert::Answered> {
    let encoded = response.body.to_encoded();
    let (status, encoded, mut fields) = match encoded {
        Ok(encoded) => (response.status, encoded, response.headers),
        Err(problem) => {
            (500, Response::problem(problem).body.to_encoded().ok().flatten(), Default::default())
        }
    };
    let body = convert::Answered::new(convert::full(&mut fields, encoded), incoming);
    let mut answer = http::Response::new(body);
    *answer.status_mut() =
        http::StatusCode::from_u16(status).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    *answer.headers_mut() = fields;
    answer
}
