//! The OAM endpoint of the process: metrics, status, health and command line requests. It serves no
//! 3GPP service.
use crate::{AskSource, Ready};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use martlet_sbi::{BoxFuture, Problem};
use prometheus::{Encoder, TextEncoder};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;

/// Returns the JSON of `/status`.
pub type StatusSource = Arc<dyn Fn() -> serde_json::Value + Send + Sync>;

/// Maximum number of connections. More are closed at once.
const MAX_CONNECTIONS: usize = 32;

/// A bound endpoint.
pub struct OamServer {
    listener: TcpListener,
    status: StatusSource,
    ask: Vec<AskSource>,
    ready: Ready,
}

impl OamServer {
    /// Binds to the address. The error says what to change.
    pub async fn bind(address: SocketAddr, status: StatusSource) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address).await.map_err(|e| {
            let text = format!(
                "cannot listen on {address} for metrics and status: {e}; change `oam.bind`"
            );
            std::io::Error::new(e.kind(), text)
        })?;
        Ok(OamServer { listener, status, ask: Vec::new(), ready: Arc::new(|| Ok(())) })
    }

    /// Serves command line requests to these functions at `/ask/…`.
    pub fn asking(mut self, functions: Vec<AskSource>) -> Self {
        self.ask = functions;
        self
    }

    /// Serves this readiness at `/readyz`.
    pub fn ready_when(mut self, ready: Ready) -> Self {
        self.ready = ready;
        self
    }

    /// The bound address.
    pub fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until the future is dropped.
    pub async fn run(self) {
        let mut connections = tokio::task::JoinSet::new();
        loop {
            let stream = tokio::select! {
                Ok((stream, _)) = self.listener.accept() => stream,
                Some(_) = connections.join_next() => continue,
                else => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                }
            };
            if connections.len() >= MAX_CONNECTIONS {
                continue;
            }
            let (status, ask, ready) = (self.status.clone(), self.ask.clone(), self.ready.clone());
            connections.spawn(async move {
                let service = service_fn(|request| {
                    let question = question(&request, &ask);
                    let answer = answer(&request, &status, &ready);
                    async move {
                        Ok::<_, Infallible>(match question {
                            Some(question) => asked(question.await),
                            None => answer,
                        })
                    }
                });
                let mut builder = hyper::server::conn::http1::Builder::new();
                builder.timer(TokioTimer::new()).header_read_timeout(Duration::from_secs(5));
                if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).await {
                    tracing::debug!(%error, "OAM connection ended with an error");
                }
            });
        }
    }
}

/// The answer of the first function that handles the request.
fn question(
    request: &hyper::Request<Incoming>,
    functions: &[AskSource],
) -> Option<BoxFuture<'static, Result<serde_json::Value, Problem>>> {
    let question = request.uri().path().strip_prefix("/ask/")?;
    functions.iter().find_map(|ask| ask(question))
}

fn asked(answer: Result<serde_json::Value, Problem>) -> hyper::Response<Full<Bytes>> {
    let (code, body) = match answer {
        Ok(body) => (200, body),
        Err(problem) => (
            problem.status(),
            serde_json::json!({"cause": problem.cause(), "detail": problem.to_string()}),
        ),
    };
    let mut response = hyper::Response::new(Full::new(Bytes::from(body.to_string())));
    *response.status_mut() = hyper::StatusCode::from_u16(code).unwrap_or_default();
    response
}

fn answer(
    request: &hyper::Request<Incoming>,
    status: &StatusSource,
    ready: &Ready,
) -> hyper::Response<Full<Bytes>> {
    let (code, kind, body) = match request.uri().path() {
        "/metrics" => {
            let mut text = Vec::new();
            match TextEncoder::new().encode(&prometheus::gather(), &mut text) {
                Ok(()) => (200, "text/plain; version=0.0.4", text),
                Err(error) => (500, "text/plain", error.to_string().into_bytes()),
            }
        }
        "/status" => (200, "application/json", status().to_string().into_bytes()),
        "/healthz" => (200, "text/plain", b"ok\n".to_vec()),
        "/readyz" => match ready() {
            Ok(()) => (200, "text/plain", b"ready\n".to_vec()),
            Err(why) => (503, "text/plain", format!("{why}\n").into_bytes()),
        },
        _ => (404, "text/plain", b"available: /metrics, /status, /healthz and /readyz\n".to_vec()),
    };
    let mut response = hyper::Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = hyper::StatusCode::from_u16(code).unwrap_or_default();
    response
        .headers_mut()
        .insert(hyper::header::CONTENT_TYPE, hyper::header::HeaderValue::from_static(kind));
    response
}
