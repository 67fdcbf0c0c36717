//! The binding over TCP on the loopback interface.
use martlet_sbi::*;
use martlet_sbi_http::*;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, martlet_sbi::Compact)]
#[allow(missing_docs)]
pub struct Note {
    text: String,
}
json_payload!(Note);

service! {
    /// Echoes requests.
    pub Echo / EchoClient / ECHO = "necho" / "v1" {
        /// Echoes a note with its parts.
        op echo "Echo": POST "/notes/{id}", path(id), body(Multipart<Note>),
            returns(Created<Multipart<Note>>), errors[];
        /// Returns the path parameter.
        op read "Read": GET "/notes/{id}", path(id), returns(Note), errors[404 "CONTEXT_NOT_FOUND"];
        /// Never responds.
        op hang "Hang": GET "/hang", path(), returns(()), errors[];
    }
}

#[derive(Default)]
struct Server {
    reads: AtomicU32,
    hanging: AtomicU32,
}
impl Echo for Server {
    async fn echo(
        &self,
        id: &str,
        body: Multipart<Note>,
    ) -> Result<Created<Multipart<Note>>, Problem> {
        Ok(Created { location: format!("/necho/v1/notes/{id}"), body })
    }
    async fn read(&self, id: &str) -> Result<Note, Problem> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        match id {
            "none" => Err(Problem::new(404, "CONTEXT_NOT_FOUND").detail("no such note")),
            _ => Ok(Note { text: id.into() }),
        }
    }
    async fn hang(&self) -> Result<(), Problem> {
        self.hanging.fetch_add(1, Ordering::Relaxed);
        std::future::pending().await
    }
}

async fn start(address: SocketAddr) -> (SocketAddr, tokio::task::JoinHandle<()>) {
    serve(address, Arc::default()).await
}

async fn serve(
    address: SocketAddr,
    server: Arc<Server>,
) -> (SocketAddr, tokio::task::JoinHandle<()>) {
    let router = Arc::new(Router::new().serve(ECHO.routes(server)));
    let limits = ServerLimits { body: 64 << 10, requests: 80, ..Default::default() };
    let server = HttpServer::bind(address, router, limits).await.unwrap();
    (server.local_addr().unwrap(), tokio::spawn(server.run()))
}

fn client(address: SocketAddr) -> EchoClient {
    client_within(address, Duration::from_secs(30))
}

/// A client whose calls end after this time.
fn client_within(address: SocketAddr, timeout: Duration) -> EchoClient {
    let transport =
        Arc::new(Bindings::new().with_remote(Arc::new(HttpBinding::new(ClientLimits::default()))));
    let policy = CallPolicy { timeout, strict: false };
    EchoClient::new(Peer::new(transport, ApiRoot::http(address.to_string()), "AMF", policy))
}

const ANY: &str = "127.0.0.1:0";

#[tokio::test]
async fn bodies_statuses_and_causes_are_transferred() {
    let (address, _server) = start(ANY.parse().unwrap()).await;
    let client = client(address);
    let note = Multipart::new(Note { text: "ä\"\n".into() }).part(
        "n1",
        content_type::NAS,
        vec![0, 13, 10, 255],
    );
    let created = client.echo("7", note.clone()).await.unwrap();
    assert_eq!((created.location.as_str(), created.body), ("/necho/v1/notes/7", note));
    let problem = client.read("none").await.unwrap_err();
    assert_eq!(
        (problem.status(), problem.cause(), problem.transport),
        (404, "CONTEXT_NOT_FOUND", None)
    );
}

#[tokio::test]
async fn many_calls_share_one_connection() {
    let (address, _server) = start(ANY.parse().unwrap()).await;
    let client = client(address);
    let calls: Vec<_> = (0..64)
        .map(|n| {
            let c = client.clone();
            tokio::spawn(async move { c.read(&n.to_string()).await.unwrap().text })
        })
        .collect();
    for (n, call) in calls.into_iter().enumerate() {
        assert_eq!(call.await.unwrap(), n.to_string());
    }
}

/// A callback URI may name `http` for the port of a producer with TLS.
#[tokio::test]
async fn a_request_for_tls_is_not_sent_on_a_connection_without() {
    let (address, _server) = start(ANY.parse().unwrap()).await;
    let transport = Arc::new(HttpBinding::new(ClientLimits::default()));
    let read = async |scheme: &str| {
        let root = ApiRoot { scheme: scheme.into(), ..ApiRoot::http(address.to_string()) };
        let peer = Peer::new(transport.clone(), root, "AMF", CallPolicy::default());
        EchoClient::new(peer).read("1").await
    };
    assert_eq!(read("http").await.unwrap().text, "1");
    assert_eq!(read("https").await.unwrap_err().cause(), "TARGET_NF_NOT_REACHABLE");
}

#[tokio::test]
async fn timeouts_and_unreachable_producers_have_different_causes() {
    let (address, server) = start(ANY.parse().unwrap()).await;
    let client = client_within(address, Duration::from_secs(2));
    assert_eq!(client.hang().await.unwrap_err().cause(), "TIMED_OUT_REQUEST");
    server.abort();
    let _ = server.await;
    let problem = client.read("1").await.unwrap_err();
    assert_eq!((problem.cause(), problem.status()), ("TARGET_NF_NOT_REACHABLE", 504));
    // After a restart at the same address the next call reconnects.
    let (_, _server) = start(address).await;
    assert_eq!(client.read("2").await.unwrap().text, "2");
}

#[tokio::test]
async fn requests_beyond_the_limit_get_503_with_retry_after() {
    let echo = Arc::<Server>::default();
    let (address, _server) = serve(ANY.parse().unwrap(), echo.clone()).await;
    // Two consumers use up the limit with calls that never end.
    let limit = Duration::from_secs(5);
    let (one, other) = (client_within(address, limit), client_within(address, limit));
    let hanging: Vec<_> = (0..80)
        .map(|n| {
            let consumer = [&one, &other][n % 2].clone();
            tokio::spawn(async move { consumer.hang().await.unwrap_err().cause().to_string() })
        })
        .collect();
    let all = async {
        while echo.hanging.load(Ordering::Relaxed) < 80 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), all).await.expect("all calls arrive");
    for consumer in [&one, &other, &client(address)] {
        let shed = consumer.read("1").await.unwrap_err();
        assert_eq!(
            (shed.status(), shed.cause(), shed.retry_after),
            (503, "NF_CONGESTION", Some(1))
        );
    }
    for call in hanging {
        assert_eq!(call.await.unwrap(), "TIMED_OUT_REQUEST");
    }
    assert_eq!(one.read("1").await.unwrap().text, "1");
}

#[tokio::test]
async fn a_body_above_the_limit_is_rejected() {
    let (address, _server) = start(ANY.parse().unwrap()).await;
    let big = Multipart::new(Note { text: "x".repeat(80 << 10) });
    assert_eq!(client(address).echo("1", big).await.unwrap_err().status(), 413);
    assert_eq!(client(address).read("1").await.unwrap().text, "1");
}

#[tokio::test]
async fn invalid_http2_frames_affect_only_their_own_connection() {
    use tokio::io::AsyncWriteExt;
    let (address, _server) = start(ANY.parse().unwrap()).await;
    let client = client(address);
    let mut garbage = tokio::net::TcpStream::connect(address).await.unwrap();
    garbage
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff")
        .await
        .unwrap();
    assert_eq!(client.read("1").await.unwrap().text, "1");
}

/// A server that accepts a request only if it arrives together with the preface, and answers 404.
fn server_with_short_timeouts() -> (SocketAddr, Arc<AtomicU32>) {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind(ANY).unwrap();
    let address = listener.local_addr().unwrap();
    let rejected = Arc::new(AtomicU32::new(0));
    let counted = rejected.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut preface = [0; 24];
            stream.read_exact(&mut preface).unwrap();
            stream.set_nonblocking(true).unwrap();
            let mut rest = [0; 2000];
            let read = stream.read(&mut rest).unwrap_or(0);
            stream.set_nonblocking(false).unwrap();
            let (mut at, mut asked) = (0, false);
            while let Some(header) = rest[..read].get(at..at + 9) {
                asked |= header[3] == 1;
                at += 9 + usize::from(header[1]) * 256 + usize::from(header[2]);
            }
            // SETTINGS, then HEADERS with ":status: 404", else GOAWAY of stream 0 without an error.
            let answer: &[u8] = match asked {
                true => &[0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 1, 1, 5, 0, 0, 0, 1, 0x8d],
                false => {
                    &[0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
                }
            };
            counted.fetch_add(u32::from(!asked), Ordering::Relaxed);
            stream.write_all(answer).unwrap();
            stream.shutdown(std::net::Shutdown::Write).unwrap();
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        }
    });
    (address, rejected)
}

#[tokio::test]
async fn the_first_request_is_sent_together_with_the_preface() {
    let (address, rejected) = server_with_short_timeouts();
    let client = client(address);
    for n in 0..30 {
        let problem = client.read(&n.to_string()).await.unwrap_err();
        assert_eq!(problem.status(), 404, "{problem}");
    }
    assert_eq!(rejected.load(Ordering::Relaxed), 0);
}

/// A server that answers the first request of a connection with 404, and closes the connection
/// while others are on the way: GOAWAY says that it did not process them. free5GC's functions do
/// so when a connection was idle for a millisecond.
fn server_of_one_request_per_connection() -> (SocketAddr, Arc<AtomicU32>) {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind(ANY).unwrap();
    let address = listener.local_addr().unwrap();
    let closed = Arc::new(AtomicU32::new(0));
    let counted = closed.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let counted = counted.clone();
            std::thread::spawn(move || {
                stream.read_exact(&mut [0; 24]).unwrap();
                // Requests that share the connection come in this time.
                std::thread::sleep(Duration::from_millis(5));
                // SETTINGS, HEADERS of stream 1 with ":status: 404", GOAWAY after stream 1.
                let answer = [
                    &[0, 0, 0, 4, 0, 0, 0, 0, 0][..],
                    &[0, 0, 1, 1, 5, 0, 0, 0, 1, 0x8d],
                    &[0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0],
                ];
                counted.fetch_add(1, Ordering::Relaxed);
                let _ = stream.write_all(&answer.concat());
                let _ = stream.shutdown(std::net::Shutdown::Write);
                let _ = std::io::copy(&mut stream, &mut std::io::sink());
            });
        }
    });
    (address, closed)
}

/// The requests create something, so they are sent again only if they were not processed.
#[tokio::test]
async fn simultaneous_requests_reach_a_producer_that_closes_each_connection() {
    let (address, connections) = server_of_one_request_per_connection();
    let client = client(address);
    let calls = (0..24).map(|n| {
        let client = client.clone();
        tokio::spawn(async move {
            let note = Multipart::new(Note { text: "x".into() });
            client.echo(&n.to_string(), note).await.unwrap_err()
        })
    });
    for call in calls.collect::<Vec<_>>() {
        let problem = call.await.unwrap();
        assert_eq!(problem.status(), 404, "{problem}");
    }
    // Each connection has answered one request.
    assert_eq!(connections.load(Ordering::Relaxed), 24);
}
