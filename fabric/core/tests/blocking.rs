//! Conformance tests of blocking sockets, run over the kernel's TCP and over the fabric.
mod support;

use martlet_fabric::*;
use std::io::{ErrorKind, Read, Result, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::TestDir;

trait Stream: Send + Sync + 'static {
    fn read(&self, buffer: &mut [u8]) -> Result<usize>;
    fn write_all(&self, bytes: &[u8]) -> Result<()>;
    fn finish(&self) -> Result<()>;
    /// Sets the read timeout.
    fn read_timeout(&self, time: Option<Duration>);
    /// Sets the write timeout.
    fn write_timeout(&self, time: Option<Duration>);
    fn read_to_end(&self) -> Result<Vec<u8>> {
        let (mut all, mut buffer) = (Vec::new(), vec![0; 5000]);
        loop {
            match self.read(&mut buffer)? {
                0 => return Ok(all),
                length => all.extend_from_slice(&buffer[..length]),
            }
        }
    }
}

impl Stream for TcpStream {
    fn read(&self, buffer: &mut [u8]) -> Result<usize> {
        Read::read(&mut &*self, buffer)
    }
    fn write_all(&self, bytes: &[u8]) -> Result<()> {
        Write::write_all(&mut &*self, bytes)
    }
    fn finish(&self) -> Result<()> {
        self.shutdown(Shutdown::Write)
    }
    fn read_timeout(&self, time: Option<Duration>) {
        self.set_read_timeout(time).unwrap();
    }
    fn write_timeout(&self, time: Option<Duration>) {
        self.set_write_timeout(time).unwrap();
    }
}

impl Stream for BlockingStream {
    fn read(&self, buffer: &mut [u8]) -> Result<usize> {
        Read::read(&mut &*self, buffer)
    }
    fn write_all(&self, bytes: &[u8]) -> Result<()> {
        Write::write_all(&mut &*self, bytes)
    }
    fn finish(&self) -> Result<()> {
        self.shutdown(Shutdown::Write)
    }
    fn read_timeout(&self, time: Option<Duration>) {
        self.set_read_deadline(time.map(|time| Instant::now() + time));
    }
    fn write_timeout(&self, time: Option<Duration>) {
        self.set_write_deadline(time.map(|time| Instant::now() + time));
    }
}

/// Creates pairs of connected streams.
type Pair<S> = Box<dyn Fn() -> (S, S)>;

fn tcp() -> Pair<TcpStream> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    Box::new(move || {
        let a = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (a, listener.accept().unwrap().0)
    })
}

/// A manager in a thread of its own, and two processes that have joined.
struct Machine {
    server: BlockingFabric,
    client: BlockingFabric,
    _dir: TestDir,
}

fn machine(name: &str) -> Machine {
    let dir = TestDir::new(name);
    let config = dir.manager_config();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { Manager::bind(config).unwrap().run().await });
    });
    let start = |name| BlockingFabric::start(name, dir.socket(), ProcessLimits::default()).unwrap();
    let (server, client) = (start("server"), start("client"));
    let deadline = Some(Instant::now() + Duration::from_secs(10));
    assert_eq!(server.joined(deadline).unwrap(), MembershipState::Joined("core".into()));
    assert_eq!(client.joined(deadline).unwrap(), MembershipState::Joined("core".into()));
    Machine { server, client, _dir: dir }
}

fn over_fabric(machine: &Machine) -> Pair<BlockingStream> {
    let listener = machine.server.listen("127.0.0.1:0".parse().unwrap()).unwrap();
    let client = machine.client.clone();
    Box::new(move || {
        let a = client.connect(listener.local_addr(), None).unwrap();
        (a, listener.accept(None).unwrap())
    })
}

fn bytes(length: usize, seed: usize) -> Vec<u8> {
    (0..length).map(|n| (n * 31 + n / 253 + seed) as u8).collect()
}

fn both_directions_carry_all_data<S: Stream>(pair: Pair<S>) {
    let (a, b) = pair();
    let (a, b) = (Arc::new(a), Arc::new(b));
    let mut threads = Vec::new();
    for (stream, seed) in [(a, 1), (b, 2)] {
        let writer = stream.clone();
        threads.push(std::thread::spawn(move || {
            writer.write_all(&bytes(500_000, seed)).unwrap();
            writer.finish().unwrap();
        }));
        threads.push(std::thread::spawn(move || {
            assert!(stream.read_to_end().unwrap() == bytes(500_000, 3 - seed))
        }));
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

fn a_read_timeout_does_not_end_the_connection<S: Stream>(pair: Pair<S>) {
    let (a, b) = pair();
    a.read_timeout(Some(Duration::from_millis(20)));
    let kind = a.read(&mut [0; 8]).unwrap_err().kind();
    assert!(matches!(kind, ErrorKind::TimedOut | ErrorKind::WouldBlock), "{kind}");
    b.write_all(b"late").unwrap();
    a.read_timeout(Some(Duration::from_secs(10)));
    let mut got = [0; 4];
    assert_eq!((a.read(&mut got).unwrap(), &got), (4, b"late"));
}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock)
}

fn a_half_closed_connection_still_receives<S: Stream>(pair: Pair<S>) {
    let (a, b) = pair();
    a.write_all(b"question").unwrap();
    a.finish().unwrap();
    assert_eq!(b.read_to_end().unwrap(), b"question");
    assert_eq!(b.read(&mut [0; 1]).unwrap(), 0);
    b.write_all(b"answer").unwrap();
    drop(b);
    assert_eq!(a.read_to_end().unwrap(), b"answer");
    assert_eq!(a.write_all(b"more").unwrap_err().kind(), ErrorKind::BrokenPipe);
}

fn partial_reads_lose_nothing<S: Stream>(pair: Pair<S>) {
    let (a, b) = pair();
    let sent = bytes(30_000, 3);
    a.write_all(&sent).unwrap();
    a.finish().unwrap();
    let (mut got, mut size) = (Vec::new(), 1);
    loop {
        let mut some = vec![0; size];
        match b.read(&mut some).unwrap() {
            0 => break,
            length => got.extend_from_slice(&some[..length]),
        }
        size = size * 3 % 1009 + 1;
    }
    assert!(got == sent);
    assert_eq!(b.read(&mut []).unwrap(), 0);
}

fn a_writer_without_reader_blocks_until_its_timeout_and_loses_nothing<S: Stream>(pair: Pair<S>) {
    let (a, b) = pair();
    a.write_timeout(Some(Duration::from_millis(100)));
    let piece = bytes(100_000, 0);
    // More than any buffer in between holds. The timeout may cut a piece off.
    let late_at = (0..1000).find(|_| a.write_all(&piece).is_err_and(|error| is_timeout(&error)));
    let whole = late_at.expect("a writer without a reader blocks") * piece.len();
    a.finish().unwrap();
    let got = b.read_to_end().unwrap();
    assert!(got.len() >= whole && got.len() < whole + piece.len());
    assert!(got.chunks(piece.len()).all(|chunk| chunk == &piece[..chunk.len()]));
}

fn closing_with_unread_data_resets_the_connection<S: Stream>(pair: Pair<S>) {
    let (a, b) = pair();
    a.write_all(b"hardly read").unwrap();
    assert_eq!(b.read(&mut [0; 6]).unwrap(), 6);
    drop(b);
    a.read_timeout(Some(Duration::from_secs(30)));
    assert_eq!(a.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::ConnectionReset);
}

fn many_threads_use_many_connections<S: Stream>(pair: Pair<S>) {
    let threads: Vec<_> = (0..20)
        .map(|n| {
            let (a, b) = pair();
            std::thread::spawn(move || {
                for round in 0..50 {
                    let sent = bytes(3000, n + round);
                    a.write_all(&sent).unwrap();
                    let (mut got, mut at) = (vec![0; 3000], 0);
                    while at < got.len() {
                        at += b.read(&mut got[at..]).unwrap();
                    }
                    assert!(got == sent);
                }
                drop(a);
                assert_eq!(b.read(&mut [0; 8]).unwrap(), 0);
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

macro_rules! conformance {
    ($($test:ident as $tcp:ident and $over_fabric:ident),* $(,)?) => {$(
        #[test]
        fn $tcp() {
            $test(tcp());
        }
        #[test]
        fn $over_fabric() {
            let machine = machine(stringify!($over_fabric));
            $test(over_fabric(&machine));
        }
    )*};
}

conformance! {
    both_directions_carry_all_data as tcp_directions and fabric_directions,
    a_read_timeout_does_not_end_the_connection as tcp_deadline and fabric_deadline,
    many_threads_use_many_connections as tcp_many and fabric_many,
    a_half_closed_connection_still_receives as tcp_half_close and fabric_half_close,
    partial_reads_lose_nothing as tcp_partial and fabric_partial,
    a_writer_without_reader_blocks_until_its_timeout_and_loses_nothing
        as tcp_back_pressure and fabric_back_pressure,
    closing_with_unread_data_resets_the_connection as tcp_reset and fabric_reset,
}

#[test]
fn waiting_accepts_end_when_the_listener_closes_or_the_deadline_passes() {
    let machine = machine("waiting");
    let listener = Arc::new(machine.server.listen("127.0.0.1:0".parse().unwrap()).unwrap());
    let late = Some(Instant::now() + Duration::from_millis(10));
    assert_eq!(listener.accept(late).map(|_| ()).unwrap_err().kind(), ErrorKind::TimedOut);
    let waiting = std::thread::spawn({
        let listener = listener.clone();
        move || listener.accept(None).map(|_| ()).unwrap_err().kind()
    });
    std::thread::sleep(Duration::from_millis(20));
    listener.close();
    assert_eq!(waiting.join().unwrap(), ErrorKind::NotConnected);
    let unused: SocketAddr = "127.0.0.1:9".parse().unwrap();
    let error = machine.client.connect(unused, None).map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn a_new_deadline_applies_to_calls_that_wait_already() {
    let machine = machine("wake_waiters");
    let (a, b) = over_fabric(&machine)();
    let a = Arc::new(a);
    let waiting: Vec<_> = (0..3)
        .map(|_| {
            let a = a.clone();
            std::thread::spawn(move || Stream::read(&*a, &mut [0; 1]).map_err(|error| error.kind()))
        })
        .collect();
    std::thread::sleep(Duration::from_millis(20));
    Stream::write_all(&b, b"x").unwrap();
    let give_up = Instant::now() + Duration::from_secs(30);
    while !waiting.iter().any(|thread| thread.is_finished()) {
        assert!(Instant::now() < give_up, "no thread has read");
        std::thread::sleep(Duration::from_millis(1));
    }
    a.set_read_deadline(Some(Instant::now()));
    let mut outcomes: Vec<_> = waiting.into_iter().map(|thread| thread.join().unwrap()).collect();
    outcomes.sort();
    assert_eq!(outcomes, [Ok(1), Err(ErrorKind::TimedOut), Err(ErrorKind::TimedOut)]);
}

#[test]
fn blocking_and_async_sockets_interoperate() {
    let machine = machine("mixed");
    let listener = machine.server.listen("127.0.0.1:0".parse().unwrap()).unwrap();
    let (address, socket) = (listener.local_addr(), machine._dir.socket());
    let client = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            use tokio::io::{AsyncReadExt, AsyncWriteExt};
            let fabric = Fabric::start(FabricConfig { socket, ..FabricConfig::default() });
            fabric.joined().await;
            let mut stream = fabric.connect(address).await.unwrap();
            stream.write_all(b"from a task").await.unwrap();
            let mut got = [0; 13];
            stream.read_exact(&mut got).await.unwrap();
            assert_eq!(&got, b"from a thread");
        });
    });
    let stream = listener.accept(None).unwrap();
    let mut got = [0; 11];
    Read::read_exact(&mut &stream, &mut got).unwrap();
    assert_eq!(&got, b"from a task");
    Stream::write_all(&stream, b"from a thread").unwrap();
    client.join().unwrap();
    assert_eq!(Stream::read(&stream, &mut [0; 8]).unwrap(), 0);
}

#[test]
fn dropping_a_closed_listener_does_not_affect_its_successor() {
    let machine = machine("relisten");
    let first = machine.server.listen("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = first.local_addr();
    first.close();
    let second = machine.server.listen(address).unwrap();
    drop(first);
    let a = machine.client.connect(address, None).unwrap();
    let b = second.accept(Some(Instant::now() + Duration::from_secs(30))).unwrap();
    Stream::write_all(&a, b"x").unwrap();
    assert_eq!(Stream::read(&b, &mut [0; 8]).unwrap(), 1);
}

#[test]
fn a_side_that_stopped_reading_does_not_block_its_peer_and_can_still_write() {
    let machine = machine("discarding");
    let (a, b) = over_fabric(&machine)();
    Stream::write_all(&a, b"unread").unwrap();
    b.shutdown(Shutdown::Read).unwrap();
    // Many times the receive window.
    Stream::write_all(&a, &bytes(1 << 20, 0)).unwrap();
    assert_eq!(Stream::read(&b, &mut [0; 8]).unwrap(), 0);
    Stream::write_all(&b, b"heard").unwrap();
    drop(b);
    assert_eq!(Stream::read_to_end(&a).unwrap(), b"heard");
}

#[test]
fn the_end_of_the_stream_arrives_before_a_concurrent_close() {
    let machine = machine("order");
    let pair = over_fabric(&machine);
    for _ in 0..100 {
        let (a, b) = pair();
        Stream::write_all(&a, b"all").unwrap();
        let a = Arc::new(a);
        let closes = std::thread::spawn({
            let a = a.clone();
            move || a.close()
        });
        let _ = a.finish();
        assert_eq!(Stream::read_to_end(&b).unwrap(), b"all");
        closes.join().unwrap();
    }
}

#[test]
fn a_stream_keeps_its_membership_alive() {
    let Machine { server, client, _dir } = machine("outlives");
    let listener = server.listen("127.0.0.1:0".parse().unwrap()).unwrap();
    let a = client.connect(listener.local_addr(), None).unwrap();
    let b = listener.accept(None).unwrap();
    drop((client, listener, server));
    Stream::write_all(&a, b"still here").unwrap();
    drop(a);
    assert_eq!(Stream::read_to_end(&b).unwrap(), b"still here");
}

/// A manager that admits one process and then reads nothing until it is signalled.
fn silent_manager(
    dir: &TestDir,
    read: std::sync::mpsc::Receiver<()>,
) -> std::thread::JoinHandle<Vec<messages::ToManager>> {
    use nix::sys::socket::{
        AddressFamily, Backlog, SockFlag, SockType, UnixAddr, accept, bind, listen, socket,
    };
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    let listener =
        socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC, None).unwrap();
    bind(listener.as_raw_fd(), &UnixAddr::new(&dir.socket()).unwrap()).unwrap();
    listen(&listener, Backlog::new(1).unwrap()).unwrap();
    std::thread::spawn(move || {
        // SAFETY: a new descriptor that nothing else owns.
        let member = unsafe { OwnedFd::from_raw_fd(accept(listener.as_raw_fd()).unwrap()) };
        let welcome = messages::FromManager::Welcome { domain: "core".into() };
        nix::unistd::write(&member, &messages::encode(&welcome)).unwrap();
        read.recv().unwrap();
        let (mut all, mut buffer) = (Vec::new(), vec![0; messages::MAX_MESSAGE_BYTES]);
        loop {
            match nix::unistd::read(&member, &mut buffer).unwrap() {
                0 => return all,
                length => all.push(messages::decode(&buffer[..length]).unwrap()),
            }
        }
    })
}

#[test]
fn an_unresponsive_manager_blocks_no_member_and_receives_all_messages_later() {
    let dir = TestDir::new("silent");
    let (go, read) = std::sync::mpsc::channel();
    let manager = silent_manager(&dir, read);
    let limits = ProcessLimits { routes: 5000, ..ProcessLimits::default() };
    let fabric = BlockingFabric::start("test", dir.socket(), limits).unwrap();
    fabric.joined(Some(Instant::now() + Duration::from_secs(30))).unwrap();
    // More than the socket buffer holds.
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    for port in 1..=3000 {
        assert!(
            fabric.dial(SocketAddr::from(([127, 0, 0, 1], port))).poll(&mut context).is_pending()
        );
    }
    let error = fabric.listen("127.0.0.1:7".parse().unwrap()).map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    go.send(()).unwrap();
    let late = Some(Instant::now() + Duration::from_millis(200));
    assert_eq!(
        fabric.connect("127.0.0.1:1".parse().unwrap(), late).map(|_| ()).unwrap_err().kind(),
        ErrorKind::TimedOut
    );
    drop(fabric);
    let got = manager.join().unwrap();
    let asked =
        got.iter().filter(|message| matches!(message, messages::ToManager::Connect { .. })).count();
    assert_eq!(asked, 3000);
}

#[test]
fn the_background_thread_blocks_all_signals() {
    let _machine = machine("signals");
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let statuses =
        tasks.filter_map(|task| std::fs::read_to_string(task.path().join("status")).ok());
    let ours: Vec<String> =
        statuses.filter(|status| status.starts_with("Name:\tmartlet-fabric")).collect();
    assert!(ours.len() >= 2);
    for status in ours {
        let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:\t")).unwrap();
        let blocked = u64::from_str_radix(blocked.trim(), 16).unwrap();
        assert!(blocked & 1 << (nix::libc::SIGTERM - 1) != 0, "{status}");
    }
}
