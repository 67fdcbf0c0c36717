//! Conformance tests of async sockets, run over TCP and over the fabric, and hyper over both.
mod support;

use martlet_fabric::*;
use std::future::Future;
use std::io::{ErrorKind, Result};
use std::net::SocketAddr;
use std::time::Duration;
use support::TestDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A network.
trait Net: Clone + Send + Sync + 'static {
    type Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static;
    type Listener: Send + Sync + 'static;
    fn listen(&self, address: SocketAddr) -> impl Future<Output = Result<Self::Listener>> + Send;
    fn address(listener: &Self::Listener) -> SocketAddr;
    fn accept(listener: &Self::Listener) -> impl Future<Output = Result<Self::Stream>> + Send;
    fn connect(&self, to: SocketAddr) -> impl Future<Output = Result<Self::Stream>> + Send;
    /// The local address and the peer's.
    fn addresses(stream: &Self::Stream) -> (SocketAddr, SocketAddr);
}

#[derive(Clone)]
struct Tcp;
impl Net for Tcp {
    type Stream = TcpStream;
    type Listener = TcpListener;
    async fn listen(&self, address: SocketAddr) -> Result<TcpListener> {
        TcpListener::bind(address).await
    }
    fn address(listener: &TcpListener) -> SocketAddr {
        listener.local_addr().unwrap()
    }
    async fn accept(listener: &TcpListener) -> Result<TcpStream> {
        Ok(listener.accept().await?.0)
    }
    async fn connect(&self, to: SocketAddr) -> Result<TcpStream> {
        TcpStream::connect(to).await
    }
    fn addresses(stream: &TcpStream) -> (SocketAddr, SocketAddr) {
        (stream.local_addr().unwrap(), stream.peer_addr().unwrap())
    }
}

/// Two processes of one fabric: one listens, one connects.
#[derive(Clone)]
struct OverFabric {
    server: Fabric,
    client: Fabric,
}
impl Net for OverFabric {
    type Stream = FabricStream;
    type Listener = FabricListener;
    async fn listen(&self, address: SocketAddr) -> Result<FabricListener> {
        self.server.listen(address).await
    }
    fn address(listener: &FabricListener) -> SocketAddr {
        listener.local_addr()
    }
    async fn accept(listener: &FabricListener) -> Result<FabricStream> {
        Ok(listener.accept().await?.0)
    }
    async fn connect(&self, to: SocketAddr) -> Result<FabricStream> {
        self.client.connect(to).await
    }
    fn addresses(stream: &FabricStream) -> (SocketAddr, SocketAddr) {
        (stream.local_addr(), stream.peer_addr())
    }
}

/// A fabric for one test. Its buffers are small, so that most code paths are used.
async fn fabric(dir: &TestDir) -> (OverFabric, JoinHandle<()>) {
    let class = |bytes, count| BufferClass { bytes, count };
    let sizes = Sizes { slots: 16, classes: vec![class(512, 8), class(4096, 4)], frame: 1 << 20 };
    let manager = Manager::bind(ManagerConfig { sizes, ..dir.manager_config() }).unwrap();
    let manager = tokio::spawn(manager.run());
    let net = OverFabric {
        server: Fabric::start(dir.config("server")),
        client: Fabric::start(dir.config("client")),
    };
    net.server.joined().await;
    net.client.joined().await;
    (net, manager)
}

const V4: &str = "127.0.0.1:0";

async fn pair<N: Net>(net: &N) -> (N::Stream, N::Stream) {
    let listener = net.listen(V4.parse().unwrap()).await.unwrap();
    let (a, b) = tokio::join!(net.connect(N::address(&listener)), N::accept(&listener));
    (a.unwrap(), b.unwrap())
}

fn bytes(length: usize, seed: usize) -> Vec<u8> {
    (0..length).map(|n| (n * 31 + n / 253 + seed) as u8).collect()
}

async fn both_directions_carry_all_data_in_order<N: Net>(net: N) {
    let (a, b) = pair(&net).await;
    let talk = |stream: N::Stream, seed: usize| async move {
        let (mut from, mut to) = tokio::io::split(stream);
        let sent = bytes(1_000_000, seed);
        let expected = bytes(1_000_000, 3 - seed);
        let write = async {
            for piece in sent.chunks(7919) {
                to.write_all(piece).await.unwrap();
            }
            to.shutdown().await.unwrap();
        };
        let read = async {
            let mut got = Vec::new();
            from.read_to_end(&mut got).await.unwrap();
            assert!(got == expected);
        };
        tokio::join!(write, read);
    };
    tokio::join!(talk(a, 1), talk(b, 2));
}

async fn a_half_closed_connection_still_receives<N: Net>(net: N) {
    let (mut a, mut b) = pair(&net).await;
    a.write_all(b"question").await.unwrap();
    a.shutdown().await.unwrap();
    let mut question = String::new();
    b.read_to_string(&mut question).await.unwrap();
    assert_eq!(question, "question");
    tokio::time::sleep(Duration::from_millis(5)).await;
    b.write_all(b"answer").await.unwrap();
    drop(b);
    let mut answer = String::new();
    a.read_to_string(&mut answer).await.unwrap();
    assert_eq!(answer, "answer");
    assert_eq!(a.write(b"more").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
}

async fn a_closed_peer_is_detected<N: Net>(net: N) {
    let (mut a, b) = pair(&net).await;
    drop(b);
    assert_eq!(a.read(&mut [0; 8]).await.unwrap(), 0);
    let error = async {
        loop {
            if let Err(error) = a.write_all(&[0; 1000]).await {
                return error.kind();
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let kind = tokio::time::timeout(Duration::from_secs(30), error).await.unwrap();
    assert!(matches!(kind, ErrorKind::BrokenPipe | ErrorKind::ConnectionReset), "{kind}");
}

async fn connecting_without_a_listener_is_refused<N: Net>(net: N) {
    let listener = net.listen(V4.parse().unwrap()).await.unwrap();
    let address = N::address(&listener);
    drop(net.connect(address).await.unwrap());
    drop(listener);
    // On the fabric, the manager propagates the withdrawal.
    let refused = async {
        while net.connect(address).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        net.connect(address).await.map(|_| ()).unwrap_err().kind()
    };
    let kind = tokio::time::timeout(Duration::from_secs(30), refused).await.unwrap();
    assert_eq!(kind, ErrorKind::ConnectionRefused);
    // The address is free again.
    let listener = net.listen(address).await.unwrap();
    let again = net.listen(address).await.map(|_| ()).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::AddrInUse);
    drop(listener);
}

async fn both_sides_agree_on_their_addresses<N: Net>(net: N) {
    for any in [V4, "[::1]:0"] {
        let Ok(listener) = net.listen(any.parse().unwrap()).await else {
            eprintln!("SKIPPED: no addresses like {any} here");
            continue;
        };
        let (a, b) = tokio::join!(net.connect(N::address(&listener)), N::accept(&listener));
        let (a, b) = (N::addresses(&a.unwrap()), N::addresses(&b.unwrap()));
        assert_eq!((a.0, a.1), (b.1, b.0));
        assert_eq!(a.1, N::address(&listener));
        assert!(a.0.port() != 0 && a.0.is_ipv4() == a.1.is_ipv4());
    }
    let listener = net.listen("0.0.0.0:0".parse().unwrap()).await.unwrap();
    let to = SocketAddr::new("127.0.0.1".parse().unwrap(), N::address(&listener).port());
    let (a, b) = tokio::join!(net.connect(to), N::accept(&listener));
    assert_eq!(N::addresses(&a.unwrap()).1, N::addresses(&b.unwrap()).0);
}

async fn a_stalled_reader_blocks_its_own_connection_only<N: Net>(net: N) {
    let listener = net.listen(V4.parse().unwrap()).await.unwrap();
    let address = N::address(&listener);
    let (a, b) = tokio::join!(net.connect(address), N::accept(&listener));
    let (mut writer, mut stopped) = (a.unwrap(), b.unwrap());
    // More than any buffer in between holds.
    let all = 64 << 20;
    let written = tokio::spawn(async move {
        let piece = bytes(64 << 10, 0);
        for _ in 0..all / piece.len() {
            writer.write_all(&piece).await.unwrap();
        }
        writer.shutdown().await.unwrap();
    });
    tokio::time::sleep(Duration::from_millis(50)).await;
    for n in 0..10 {
        let (a, b) = tokio::join!(net.connect(address), N::accept(&listener));
        let (mut a, mut b) = (a.unwrap(), b.unwrap());
        let sent = bytes(10_000, n);
        a.write_all(&sent).await.unwrap();
        let mut got = vec![0; sent.len()];
        b.read_exact(&mut got).await.unwrap();
        assert_eq!(got, sent);
    }
    assert!(!written.is_finished());
    let mut got = 0;
    let mut buffer = vec![0; 256 << 10];
    loop {
        match stopped.read(&mut buffer).await.unwrap() {
            0 => break,
            length => got += length,
        }
    }
    assert_eq!(got, all);
    written.await.unwrap();
}

async fn many_connections_do_not_interfere<N: Net>(net: N) {
    let listener = net.listen(V4.parse().unwrap()).await.unwrap();
    let address = N::address(&listener);
    let echo = tokio::spawn(async move {
        loop {
            let stream = N::accept(&listener).await.unwrap();
            tokio::spawn(async move {
                let (mut from, mut to) = tokio::io::split(stream);
                tokio::io::copy(&mut from, &mut to).await.unwrap();
                to.shutdown().await.unwrap();
            });
        }
    });
    let clients: Vec<_> = (0..100)
        .map(|n| {
            let net = net.clone();
            tokio::spawn(async move {
                let (mut from, mut to) = tokio::io::split(net.connect(address).await.unwrap());
                let sent = bytes(20_000, n);
                let write = async {
                    to.write_all(&sent).await.unwrap();
                    to.shutdown().await.unwrap();
                };
                let mut got = Vec::new();
                let (_, read) = tokio::join!(write, from.read_to_end(&mut got));
                read.unwrap();
                assert!(got == bytes(20_000, n));
            })
        })
        .collect();
    for client in clients {
        client.await.unwrap();
    }
    echo.abort();
}

async fn small_writes_arrive_complete_and_in_order<N: Net>(net: N) {
    let (mut a, mut b) = pair(&net).await;
    let write = tokio::spawn(async move {
        for n in 0..30_000u32 {
            a.write_all(&[n as u8]).await.unwrap();
        }
    });
    let mut got = Vec::new();
    b.read_to_end(&mut got).await.unwrap();
    write.await.unwrap();
    assert!(got.len() == 30_000 && got.iter().enumerate().all(|(n, byte)| *byte == n as u8));
}

async fn closing_with_unread_data_resets_the_connection<N: Net>(net: N) {
    let (mut a, mut b) = pair(&net).await;
    a.write_all(b"hardly read").await.unwrap();
    b.write_all(b"bye").await.unwrap();
    assert_eq!(b.read(&mut [0; 6]).await.unwrap(), 6);
    let mut got = [0; 3];
    a.read_exact(&mut got).await.unwrap();
    drop(b);
    let error = tokio::time::timeout(Duration::from_secs(30), a.read(&mut [0; 8]))
        .await
        .unwrap()
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

async fn a_cancelled_read_loses_nothing<N: Net>(net: N) {
    let (mut a, mut b) = pair(&net).await;
    let sent = bytes(20_000, 5);
    let write = async {
        for piece in sent.chunks(500) {
            a.write_all(piece).await.unwrap();
            tokio::time::sleep(Duration::from_micros(300)).await;
        }
        a.shutdown().await.unwrap();
    };
    let read = async {
        let (mut got, mut given_up, mut at) = (Vec::new(), 0, 0);
        loop {
            at += 1;
            let mut some = vec![0; 1 + at % 700];
            match tokio::time::timeout(Duration::from_micros(100), b.read(&mut some)).await {
                Ok(Ok(0)) => return (got, given_up),
                Ok(length) => got.extend_from_slice(&some[..length.unwrap()]),
                Err(_) => given_up += 1,
            }
        }
    };
    let (_, (got, given_up)) = tokio::join!(write, read);
    assert!(got == bytes(20_000, 5) && given_up > 0);
}

async fn a_cancelled_write_is_atomic<N: Net>(net: N) {
    let (mut a, mut b) = pair(&net).await;
    // Write pieces of an odd length until nothing more is accepted.
    let mut written = 0;
    let piece = bytes(7001, 0);
    while let Ok(length) = tokio::time::timeout(Duration::from_millis(50), a.write(&piece)).await {
        written += length.unwrap();
    }
    let end = async {
        a.write_all(b"end").await.unwrap();
        drop(a);
    };
    let mut got = Vec::new();
    let (_, read) = tokio::join!(end, b.read_to_end(&mut got));
    read.unwrap();
    assert_eq!(got.len(), written + 3);
    assert!(got.ends_with(b"end"));
}

/// hyper over any network: `http2` or HTTP/1.1.
async fn hyper_runs<N: Net>(net: N, http2: bool) {
    use http_body_util::{BodyExt, Full};
    use hyper::body::{Bytes, Incoming};
    use hyper_util::rt::{TokioExecutor, TokioIo};
    let listener = net.listen(V4.parse().unwrap()).await.unwrap();
    let address = N::address(&listener);
    let server = tokio::spawn(async move {
        let service = hyper::service::service_fn(|request: http::Request<Incoming>| async move {
            let path = request.uri().path().to_string();
            let body = request.into_body().collect().await?.to_bytes();
            let answer =
                http::Response::builder().header("x-path", path).body(Full::new(body)).unwrap();
            Ok::<_, hyper::Error>(answer)
        });
        loop {
            let stream = TokioIo::new(N::accept(&listener).await.unwrap());
            let builder = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
            tokio::spawn(async move {
                builder.serve_connection(stream, service).await.map_err(|e| e.to_string())
            });
        }
    });
    let stream = TokioIo::new(net.connect(address).await.unwrap());
    let request = |n: usize, length: usize| {
        let uri = format!("http://{address}/{n}");
        http::Request::post(uri)
            .header("host", "x")
            .body(Full::new(Bytes::from(bytes(length, n))))
            .unwrap()
    };
    let check = async |n: usize, length: usize, answer: hyper::Result<http::Response<Incoming>>| {
        let answer = answer.unwrap();
        assert_eq!(
            (answer.status().as_u16(), answer.headers()["x-path"].to_str().unwrap()),
            (200, format!("/{n}").as_str())
        );
        assert!(answer.into_body().collect().await.unwrap().to_bytes() == bytes(length, n));
    };
    if http2 {
        let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), stream);
        let (sender, connection) = handshake.await.unwrap();
        tokio::spawn(connection);
        let calls: Vec<_> =
            (0..50).map(|n| (n, sender.clone().send_request(request(n, n * n * 40)))).collect();
        for (n, call) in calls {
            check(n, n * n * 40, call.await).await;
        }
    } else {
        let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await.unwrap();
        tokio::spawn(connection);
        for n in 0..50 {
            sender.ready().await.unwrap();
            check(n, n * n * 40, sender.send_request(request(n, n * n * 40)).await).await;
        }
    }
    server.abort();
}

macro_rules! conformance {
    ($($test:ident $(($argument:expr))? as $tcp:ident and $over_fabric:ident),* $(,)?) => {$(
        #[tokio::test]
        async fn $tcp() {
            $test(Tcp $(, $argument)?).await;
        }
        #[tokio::test]
        async fn $over_fabric() {
            let dir = TestDir::new(stringify!($over_fabric));
            let (net, _manager) = fabric(&dir).await;
            $test(net $(, $argument)?).await;
        }
    )*};
}

conformance! {
    both_directions_carry_all_data_in_order as tcp_directions and fabric_directions,
    a_half_closed_connection_still_receives as tcp_half_close and fabric_half_close,
    a_closed_peer_is_detected as tcp_close and fabric_close,
    connecting_without_a_listener_is_refused as tcp_refusal and fabric_refusal,
    both_sides_agree_on_their_addresses as tcp_addresses and fabric_addresses,
    a_stalled_reader_blocks_its_own_connection_only
        as tcp_back_pressure and fabric_back_pressure,
    many_connections_do_not_interfere as tcp_many and fabric_many,
    small_writes_arrive_complete_and_in_order as tcp_small and fabric_small,
    closing_with_unread_data_resets_the_connection as tcp_reset and fabric_reset,
    a_cancelled_read_loses_nothing as tcp_cancelled_reads and fabric_cancelled_reads,
    a_cancelled_write_is_atomic as tcp_cancelled_writes and fabric_cancelled_writes,
    hyper_runs(false) as tcp_http1 and fabric_http1,
    hyper_runs(true) as tcp_http2 and fabric_http2,
}

// Tests of the fabric only.

#[tokio::test]
async fn the_limit_of_connections_is_enforced_and_released() {
    let dir = TestDir::new("full");
    let _manager = dir.manager();
    let mut config = dir.config("client");
    config.limits.sockets.connections = 4;
    let (server, client) = (Fabric::start(dir.config("server")), Fabric::start(config));
    server.joined().await;
    client.joined().await;
    let listener = server.listen(V4.parse().unwrap()).await.unwrap();
    let mut all = Vec::new();
    for _ in 0..4 {
        all.push(client.connect(listener.local_addr()).await.unwrap());
    }
    let error = client.connect(listener.local_addr()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::QuotaExceeded);
    all.pop();
    all.push(client.connect(listener.local_addr()).await.unwrap());
    // Other tests of this process have connections too.
    let connections = || {
        let families = prometheus::default_registry().gather();
        let gauges = families.iter().filter(|f| f.name() == "martlet_fabric_connections");
        gauges.flat_map(|f| f.get_metric()).map(|m| m.get_gauge().get_value()).sum::<f64>()
    };
    assert!(connections() >= 8.0);
}

#[tokio::test]
async fn a_stream_keeps_its_membership_alive() {
    let dir = TestDir::new("handle");
    let (net, _manager) = fabric(&dir).await;
    let (mut a, mut b) = pair(&net).await;
    drop(net);
    b.write_all(b"still here").await.unwrap();
    drop(b);
    let mut got = String::new();
    a.read_to_string(&mut got).await.unwrap();
    assert_eq!(got, "still here");
}

#[tokio::test]
async fn cancelling_a_connect_does_not_affect_other_connections() {
    let dir = TestDir::new("given-up");
    let (net, _manager) = fabric(&dir).await;
    let listener = net.listen(V4.parse().unwrap()).await.unwrap();
    let address = listener.local_addr();
    let (a, b) = tokio::join!(net.connect(address), listener.accept());
    let (mut a, mut b) = (a.unwrap(), b.unwrap().0);
    for _ in 0..20 {
        // Cancel before the answer can arrive.
        let mut connecting = Box::pin(net.connect(address));
        std::future::poll_fn(|context| {
            assert!(connecting.as_mut().poll(context).is_pending());
            std::task::Poll::Ready(())
        })
        .await;
        drop(connecting);
        let given_up = tokio::time::timeout(Duration::from_secs(30), listener.accept()).await;
        drop(given_up.expect("the channel is still there").unwrap());
    }
    a.write_all(b"unharmed").await.unwrap();
    let mut got = [0; 8];
    b.read_exact(&mut got).await.unwrap();
    assert_eq!(&got, b"unharmed");
}

#[tokio::test]
async fn a_listener_with_a_full_backlog_refuses_connections() {
    let dir = TestDir::new("backlog");
    let _manager = dir.manager();
    let mut config = dir.config("server");
    config.limits.sockets.backlog = 2;
    let (server, client) = (Fabric::start(config), Fabric::start(dir.config("client")));
    server.joined().await;
    client.joined().await;
    let listener = server.listen(V4.parse().unwrap()).await.unwrap();
    let waiting =
        [client.connect(listener.local_addr()).await, client.connect(listener.local_addr()).await];
    assert!(waiting.iter().all(Result::is_ok));
    let error = client.connect(listener.local_addr()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    listener.accept().await.unwrap();
    client.connect(listener.local_addr()).await.unwrap();
}

#[tokio::test]
async fn a_process_connects_to_itself() {
    let dir = TestDir::new("self");
    let _manager = dir.manager();
    let fabric = Fabric::start(dir.config("alone"));
    fabric.joined().await;
    let net = OverFabric { server: fabric.clone(), client: fabric };
    let (mut a, mut b) = pair(&net).await;
    a.write_all(b"to myself").await.unwrap();
    drop(a);
    let mut got = String::new();
    b.read_to_string(&mut got).await.unwrap();
    assert_eq!(got, "to myself");
    // Again, over the same channel.
    both_directions_carry_all_data_in_order(net.clone()).await;
    assert_eq!(net.server.peers(), ["alone", "alone"]);
}
