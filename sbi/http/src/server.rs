//! The server: serves a [`Router`] over HTTP/2 with prior knowledge, and over HTTP/1.1 for command
//! line tools.
use crate::certificate::{PeerCertificate, as_peer};
use crate::connections::{Connection, Connections, report};
use crate::dial::{Listen, Stream};
use crate::limits::{Guard, ServerLimits};
use crate::{Tls, convert, metrics};
use hyper::body::{Body as _, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use martlet_sbi::{Body, Encoded, Problem, Request, Response, Router, headers};
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// `Retry-After` of rejected requests, in seconds.
const RETRY_AFTER: u32 = 1;

/// Timeout of a TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

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
        let all = Connections::new(self.limits.clone());
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
            let Some(connection) = all.admit(L::peer(&stream)) else { continue };
            let user = L::user(&stream);
            metrics::CONNECTIONS.with_label_values(&["server"]).inc();
            let (router, limits, permits) =
                (self.router.clone(), self.limits.clone(), permits.clone());
            connections.spawn(async move {
                let served = Served {
                    router,
                    limits: limits.clone(),
                    permits,
                    connection: Arc::clone(&connection),
                    certificate: None,
                    user,
                };
                let work = async {
                    match &limits.tls {
                        None => serve(stream, served).await,
                        Some(tls) => {
                            if let Some((stream, certificate)) =
                                handshake(tls, stream, connection.peer).await
                            {
                                serve(stream, Served { certificate, ..served }).await;
                            }
                        }
                    }
                };
                tokio::select! {
                    () = work => {}
                    () = connection.ended() => {}
                    () = connection.idle_timeout() => report("no request in time", connection.peer),
                    () = connection.stalled() => report("responses not read", connection.peer),
                }
            });
        }
    }
}

/// The server's side of a TLS handshake, and the client's certificate; `None` if it fails.
async fn handshake(
    tls: &Tls,
    stream: impl Stream,
    peer: Option<IpAddr>,
) -> Option<(impl Stream, Option<Arc<PeerCertificate>>)> {
    match tokio::time::timeout(HANDSHAKE_TIMEOUT, tls.acceptor().accept(stream)).await {
        Ok(Ok(stream)) => {
            let chain = stream.get_ref().1.peer_certificates();
            let own = chain.and_then(|chain| PeerCertificate::parse(chain.first()?));
            // An unreadable certificate has no names, so it owns nothing.
            let certificate = chain.map(|_| Arc::new(own.unwrap_or_default()));
            return Some((stream, certificate));
        }
        Ok(Err(error)) => {
            if let Some(suppressed) = martlet_log_limit::line("TLS", peer) {
                tracing::warn!(
                    %error,
                    suppressed,
                    "SBI connection refused: check that sbi.tls issued its certificate"
                );
            }
        }
        Err(_) => {}
    }
    metrics::REFUSED.with_label_values(&["TLS"]).inc();
    None
}

/// What the requests of a connection share.
struct Served {
    router: Arc<Router>,
    limits: Arc<ServerLimits>,
    permits: Arc<Semaphore>,
    connection: Arc<Connection>,
    /// The certificate of the client.
    certificate: Option<Arc<PeerCertificate>>,
    /// The user of the client, if it is a process of this machine.
    user: Option<u32>,
}

async fn serve(stream: impl Stream, served: Served) {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(served.limits.streams)
        .max_header_list_size(16 << 10);
    builder.http1().timer(TokioTimer::new()).header_read_timeout(served.limits.first_request);
    let served = Arc::new(served);
    let service = service_fn(|request| {
        let served = served.clone();
        async move { Ok::<_, Infallible>(respond(request, &served).await) }
    });
    if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "SBI connection closed with an error");
    }
}

async fn respond(
    request: http::Request<Incoming>,
    served: &Served,
) -> http::Response<convert::ResponseBody> {
    let Served { router, limits, permits, connection, .. } = served;
    let mut serving = connection.begin();
    let (parts, mut incoming) = request.into_parts();
    let convert = |response, incoming| convert_response(response, incoming, connection);
    // Before the body is read, so that a client without authorisation takes no memory.
    let certificate = served.certificate.as_deref();
    let check =
        |guard: &Guard| (guard.0)(&parts.method, &parts.headers, parts.uri.path(), certificate);
    if let Some(Err(refusal)) = limits.guard.as_ref().map(check) {
        report("not authorised", connection.peer);
        let mut response = Response::problem(refusal.problem);
        if !refusal.challenge.is_empty()
            && let Ok(value) = http::HeaderValue::from_str(&refusal.challenge)
        {
            response.headers.insert(http::header::WWW_AUTHENTICATE, value);
        }
        return convert(response, incoming);
    }
    if let (Some(guard), Some(user)) = (&limits.user_guard, served.user)
        && let Err(problem) = (guard.0)(&parts.method, parts.uri.path(), user)
    {
        report("user", connection.peer);
        return convert(Response::problem(problem), incoming);
    }
    connection.room(&mut serving).await;
    let wait = parts.headers.get(headers::MAX_RSP_TIME).and_then(|v| v.to_str().ok()?.parse().ok());
    let wait = wait.map_or(limits.max_duration, Duration::from_millis).min(limits.max_duration);
    let deadline = Instant::now() + wait;
    let body = match receive(&parts.headers, &mut incoming, served, wait).await {
        Ok(body) => body,
        Err(problem) => {
            metrics::REFUSED.with_label_values(&["body"]).inc();
            return convert(Response::problem(problem), incoming);
        }
    };
    let Ok(_permit) = permits.try_acquire() else {
        metrics::REFUSED.with_label_values(&["too many requests"]).inc();
        let mut problem = Problem::new(503, "NF_CONGESTION")
            .detail("too many concurrent requests: retry later or raise sbi.max_requests");
        problem.retry_after = Some(RETRY_AFTER);
        return convert(Response::problem(problem), incoming);
    };
    let target = parts.uri.path_and_query().map_or("/", |p| p.as_str()).to_string();
    let answer = router.handle(Request {
        operation: None,
        method: parts.method,
        target,
        headers: parts.headers,
        body,
        deadline: Some(deadline),
    });
    let response = match &served.certificate {
        Some(certificate) => as_peer(certificate.clone(), answer).await,
        None => answer.await,
    };
    convert(response, incoming)
}

/// The body of a request.
async fn receive(
    headers: &http::HeaderMap,
    incoming: &mut Incoming,
    served: &Served,
    wait: Duration,
) -> Result<Body, Problem> {
    let limits = &served.limits;
    if incoming.is_end_stream() {
        return Ok(Body::empty());
    }
    let receiving = served.connection.all().receive();
    let wait = wait.min(limits.body_time);
    let late = |why: String| Problem::new(408, "").detail(why);
    tokio::select! {
        biased;
        body = convert::collect(headers, incoming, limits.body) => body,
        () = tokio::time::sleep(wait) => {
            report("body too slow", served.connection.peer);
            Err(late(format!("the request was not complete within {wait:?}")))
        }
        () = receiving.given_up() => {
            report("body too slow", served.connection.peer);
            Err(late("newer requests needed its memory before it was complete".to_string()))
        }
    }
}

/// Converts a response for hyper.
fn convert_response(
    response: Response,
    incoming: Incoming,
    connection: &Arc<Connection>,
) -> http::Response<convert::ResponseBody> {
    let encoded = response.body.to_encoded();
    let (status, encoded, mut fields) = match encoded {
        Ok(encoded) => (response.status, encoded, response.headers),
        Err(error) => (
            500,
            Response::problem(error.into()).body.to_encoded().ok().flatten(),
            Default::default(),
        ),
    };
    let encoded = encoded.map(|it| Encoded { bytes: connection.count(it.bytes), ..it });
    let body = convert::ResponseBody::new(convert::full(&mut fields, encoded), incoming);
    let mut answer = http::Response::new(body);
    *answer.status_mut() =
        http::StatusCode::from_u16(status).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    *answer.headers_mut() = fields;
    answer
}
