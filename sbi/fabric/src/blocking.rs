//! The fabric for programs without a runtime: calls that block, with deadlines. One thread waits for the kernel on behalf
//! of all connections; the C interface stands on this.
use crate::channel::Closed;
use crate::fd;
use crate::link::{Host, Link};
use crate::membership;
use crate::messages::{self, Service};
use crate::process::{News, Process, ProcessLimits, Standing};
use crate::sockets::{Connection, Listener};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use std::collections::HashMap;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// Batches that are taken from one link before others get their turn.
const MOST_TURNS: u32 = 16;

/// Waits until something is ready, or a deadline has passed.
fn wait<T>(deadline: Option<Instant>, poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> Result<T> {
    wait_until(|| deadline, poll)
}

/// Waits until something is ready, or a deadline has passed that may change meanwhile.
fn wait_until<T>(
    deadline: impl Fn() -> Option<Instant>,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
) -> Result<T> {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(value) = poll(&mut context) {
            return Ok(value);
        }
        match deadline() {
            None => std::thread::park(),
            Some(deadline) => match deadline.checked_duration_since(Instant::now()) {
                Some(left) if !left.is_zero() => std::thread::park_timeout(left),
                _ => return Err(Error::new(ErrorKind::TimedOut, "the deadline has passed")),
            },
        }
    }
}

struct Part {
    process: Arc<Process>,
}

impl Host for Part {
    /// Frames are for those who have a router.
    fn request(&self, link: &Arc<Link>, stream: u32, _: Vec<u8>) -> std::result::Result<(), crate::channel::Violation> {
        link.refuse(stream);
        Ok(())
    }
    fn listener(&self, address: &SocketAddr) -> Option<Arc<Listener>> {
        self.process.listener(address)
    }
}

/// A process's part in the fabric, for calls that block. It ends with its last clone.
#[derive(Clone)]
pub struct BlockingFabric {
    part: Arc<Part>,
    _end: Arc<End>,
}

/// Ends the thread when nobody uses the fabric any more.
struct End {
    over: Arc<AtomicBool>,
    bell: Arc<OwnedFd>,
    process: Arc<Process>,
}

impl Drop for End {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        fd::ring(&self.bell);
        self.process.close();
    }
}

impl BlockingFabric {
    /// Takes part from now on, with a thread of its own. It is no error if there is no manager yet.
    pub fn start(name: &str, socket: PathBuf, limits: ProcessLimits) -> Result<BlockingFabric> {
        let process = Arc::new(Process::new(name, 0, limits));
        let part = Arc::new(Part { process: process.clone() });
        let host = Arc::downgrade(&part) as Weak<dyn Host>;
        let (over, bell) = (Arc::new(AtomicBool::new(false)), Arc::new(fd::bell()?));
        let driver = Driver::new(process.clone(), socket, host, over.clone(), bell.clone())?;
        std::thread::Builder::new().name("martlet-fabric".into()).spawn(move || driver.run())?;
        Ok(BlockingFabric { part, _end: Arc::new(End { over, bell, process }) })
    }

    /// Waits until the process has joined, or was refused.
    pub fn joined(&self, deadline: Option<Instant>) -> Result<Standing> {
        wait(deadline, |context| self.part.process.poll_joined(context))
    }

    /// Connects to who listens at an address of the fabric.
    pub fn connect(&self, to: SocketAddr, deadline: Option<Instant>) -> Result<BlockingStream> {
        let (process, authority) = (&self.part.process, to.to_string());
        let way =
            wait(deadline, |context| process.poll_way(Service::Connections, &authority, Instant::now(), context))?;
        let refused = || Error::new(ErrorKind::ConnectionRefused, format!("nobody of the fabric listens at {to}"));
        let link = way.ok_or_else(refused)?;
        let stream = BlockingStream::new(link.connect(to)?);
        let opened = wait(deadline, |context| stream.connection.poll_open(context)).and_then(|opened| opened);
        if opened.is_err() {
            process.mistaken(Service::Connections, &authority, &link);
        }
        opened.map(|()| stream)
    }

    /// Listens at an address of the fabric; port 0 becomes a free one.
    pub fn listen(&self, address: SocketAddr) -> Result<BlockingListener> {
        let mut tries = if address.port() == 0 { 16 } else { 1 };
        loop {
            tries -= 1;
            let port = if address.port() == 0 { crate::runtime::some_port() } else { address.port() };
            let outcome = self.listen_at(SocketAddr::new(address.ip(), port));
            match &outcome {
                Err(error) if error.kind() == ErrorKind::AddrInUse && tries > 0 => {}
                _ => return outcome,
            }
        }
    }

    fn listen_at(&self, address: SocketAddr) -> Result<BlockingListener> {
        let process = &self.part.process;
        let listener = BlockingListener { listener: process.listen(address)?, fabric: self.clone() };
        let authority = address.to_string();
        let served = wait(None, |context| process.poll_served(Service::Connections, &authority, context))?;
        served.map_err(|reason| Error::new(ErrorKind::AddrInUse, format!("{address} of the fabric: {reason}")))?;
        Ok(listener)
    }
}

/// A connection whose calls block.
pub struct BlockingStream {
    connection: Arc<Connection>,
    deadlines: Mutex<[Option<Instant>; 2]>,
}

impl BlockingStream {
    fn new(connection: Arc<Connection>) -> Self {
        BlockingStream { connection, deadlines: Mutex::default() }
    }

    /// This side's address.
    pub fn local_addr(&self) -> SocketAddr {
        self.connection.local_addr()
    }
    /// The other side's address.
    pub fn peer_addr(&self) -> SocketAddr {
        self.connection.peer_addr()
    }
    /// When calls that read give up, those included that wait at the moment.
    pub fn set_read_deadline(&self, deadline: Option<Instant>) {
        self.set_deadline(0, deadline);
    }
    /// When calls that write give up, those included that wait at the moment.
    pub fn set_write_deadline(&self, deadline: Option<Instant>) {
        self.set_deadline(1, deadline);
    }
    fn set_deadline(&self, of: usize, deadline: Option<Instant>) {
        self.deadlines.lock().unwrap_or_else(|e| e.into_inner())[of] = deadline;
        self.connection.nudge();
    }
    fn deadline(&self, of: usize) -> Option<Instant> {
        self.deadlines.lock().unwrap_or_else(|e| e.into_inner())[of]
    }

    /// Ends a direction: to write, the other side reads the end of the stream; to read, this one lets go of what comes.
    pub fn shutdown(&self, how: Shutdown) -> Result<()> {
        match how {
            Shutdown::Write => self.connection.shut_down(),
            Shutdown::Read | Shutdown::Both => {
                self.connection.close();
                Ok(())
            }
        }
    }
}

impl Drop for BlockingStream {
    fn drop(&mut self) {
        self.connection.close();
    }
}

impl Read for &BlockingStream {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        wait_until(|| self.deadline(0), |context| self.connection.poll_read(context, buffer))?
    }
}

impl Write for &BlockingStream {
    fn write(&mut self, octets: &[u8]) -> Result<usize> {
        wait_until(|| self.deadline(1), |context| self.connection.poll_write(context, octets))?
    }
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Read for BlockingStream {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        (&*self).read(buffer)
    }
}

impl Write for BlockingStream {
    fn write(&mut self, octets: &[u8]) -> Result<usize> {
        (&*self).write(octets)
    }
    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Takes connections, and blocks until there is one.
pub struct BlockingListener {
    listener: Arc<Listener>,
    fabric: BlockingFabric,
}

impl BlockingListener {
    /// Its address, with the port that port 0 became.
    pub fn local_addr(&self) -> SocketAddr {
        self.listener.address()
    }

    /// The next connection.
    pub fn accept(&self, deadline: Option<Instant>) -> Result<BlockingStream> {
        wait(deadline, |context| self.listener.poll_accept(context))?.map(BlockingStream::new)
    }

    /// Takes no more connections: calls that wait for one end with an error.
    pub fn close(&self) {
        self.fabric.part.process.unlisten(&self.listener);
    }
}

impl Drop for BlockingListener {
    fn drop(&mut self) {
        self.close();
    }
}

/// What the thread waits for.
#[derive(Clone, Copy)]
enum Source {
    /// Somebody wants the thread's attention: a message for the manager, or the end.
    Bell,
    Manager,
    Link(u64),
    Life(u64),
}

impl Source {
    fn token(self) -> u64 {
        match self {
            Source::Bell => 0,
            Source::Manager => 1,
            Source::Link(number) => 2 | number << 2,
            Source::Life(number) => 3 | number << 2,
        }
    }
    fn of(token: u64) -> Source {
        match token & 3 {
            0 => Source::Bell,
            1 => Source::Manager,
            2 => Source::Link(token >> 2),
            _ => Source::Life(token >> 2),
        }
    }
}

/// The thread that waits for the kernel.
struct Driver {
    process: Arc<Process>,
    path: PathBuf,
    host: Weak<dyn Host>,
    over: Arc<AtomicBool>,
    bell: Arc<OwnedFd>,
    epoll: Epoll,
    links: HashMap<u64, Arc<Link>>,
    manager: Option<OwnedFd>,
    pause: Duration,
    again: Instant,
    /// Links on which more came than one turn takes.
    busy: Vec<u64>,
}

/// Rings the thread's bell: what wakes it when there is a message for the manager.
struct Ring(Arc<OwnedFd>);
impl Wake for Ring {
    fn wake(self: Arc<Self>) {
        fd::ring(&self.0);
    }
}

impl Driver {
    fn new(
        process: Arc<Process>,
        path: PathBuf,
        host: Weak<dyn Host>,
        over: Arc<AtomicBool>,
        bell: Arc<OwnedFd>,
    ) -> Result<Driver> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let event = EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, Source::Bell.token());
        epoll.add(&bell, event)?;
        let links = HashMap::new();
        let (pause, again) = (FIRST_PAUSE, Instant::now());
        Ok(Driver { process, path, host, over, bell, epoll, links, manager: None, pause, again, busy: Vec::new() })
    }

    fn run(mut self) {
        let mut events = [EpollEvent::empty(); 32];
        while !self.over.load(Ordering::Relaxed) {
            if self.manager.is_none() && Instant::now() >= self.again {
                self.connect();
            }
            self.speak();
            let timeout = match self.manager {
                _ if !self.busy.is_empty() => EpollTimeout::ZERO,
                Some(_) => EpollTimeout::NONE,
                None => {
                    let left = self.again.saturating_duration_since(Instant::now()).as_millis() as u16;
                    EpollTimeout::from(left.saturating_add(1))
                }
            };
            let count = match self.epoll.wait(&mut events, timeout) {
                Ok(count) => count,
                Err(nix::Error::EINTR) => 0,
                Err(error) => {
                    tracing::error!(%error, "the fabric's thread cannot wait for the kernel");
                    break;
                }
            };
            for number in std::mem::take(&mut self.busy) {
                self.progress(number);
            }
            for event in events.iter().take(count) {
                match Source::of(event.data()) {
                    Source::Bell => {}
                    Source::Manager => self.listen(),
                    Source::Link(number) => self.progress(number),
                    Source::Life(number) => {
                        self.progress(number);
                        if let Some(link) = self.links.get(&number) {
                            link.channel().check_life();
                        }
                        self.progress(number);
                    }
                }
            }
        }
        self.links.values().for_each(|link| link.end());
    }

    fn connect(&mut self) {
        let opened = membership::open(&self.path).and_then(|socket| {
            let event = EpollEvent::new(EpollFlags::EPOLLIN, Source::Manager.token());
            self.epoll.add(&socket, event)?;
            Ok(socket)
        });
        match opened {
            Ok(socket) => {
                self.manager = Some(socket);
                self.process.connected();
            }
            Err(error) => self.lost(&format!("{}: {error}", self.path.display())),
        }
    }

    fn lost(&mut self, reason: &str) {
        if let Some(socket) = self.manager.take() {
            let _ = self.epoll.delete(&socket);
        }
        if matches!(self.process.standing(), Standing::Joined(_)) {
            self.pause = FIRST_PAUSE;
        }
        self.process.disconnected(reason);
        self.again = Instant::now() + self.pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }

    /// Sends what there is to say to the manager.
    fn speak(&mut self) {
        let waker = Waker::from(Arc::new(Ring(self.bell.clone())));
        let mut context = Context::from_waker(&waker);
        while let Some(socket) = &self.manager {
            let Poll::Ready(message) = self.process.poll_outgoing(&mut context) else { break };
            if let Err(error) = fd::send(socket, &message, &[]) {
                // Its last words, if there are any, are read before the end shows.
                tracing::debug!(%error, "the manager takes no message");
                break;
            }
        }
    }

    /// Reads what the manager says.
    fn listen(&mut self) {
        let mut buffer = vec![0; messages::LONGEST];
        while let Some(socket) = &self.manager {
            let outcome = match fd::receive(socket, &mut buffer) {
                Ok((0, _)) => Err("the manager has ended".to_string()),
                Ok((length, fds)) => self.process.incoming(&buffer[..length], fds, &self.host),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => Err(format!("the manager does not answer: {error}")),
            };
            match outcome {
                Ok(news) => self.take(news),
                Err(reason) => self.lost(&reason),
            }
        }
    }

    fn take(&mut self, news: News) {
        for link in news.links {
            let number = link.number;
            let edge = EpollFlags::EPOLLIN | EpollFlags::EPOLLET;
            let bell = self.epoll.add(link.channel().bell(), EpollEvent::new(edge, Source::Link(number).token()));
            let life = EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP;
            let life = self.epoll.add(link.channel().life_line(), EpollEvent::new(life, Source::Life(number).token()));
            if bell.and(life).is_err() {
                link.channel().close(Closed::Here);
            }
            self.links.insert(number, link);
            self.progress(number);
        }
    }

    /// Takes what has come over a link, until it may sleep or others should have their turn.
    fn progress(&mut self, number: u64) {
        let Some(link) = self.links.get(&number).cloned() else { return };
        let mut frames = Vec::new();
        link.channel().awake();
        let mut turns = 0;
        let closed = loop {
            turns += 1;
            match link.progress(&mut frames) {
                Ok(true) if turns > MOST_TURNS => {
                    self.busy.push(number);
                    return;
                }
                Ok(true) => continue,
                Ok(false) => {}
                Err(closed) => break closed,
            }
            match link.channel().may_sleep() {
                Ok(true) => return,
                Ok(false) => continue,
                Err(closed) => break closed,
            }
        };
        tracing::debug!(peer = link.peer.name, number, %closed, "a channel of the fabric is closed");
        let _ = self.epoll.delete(link.channel().bell());
        let _ = self.epoll.delete(link.channel().life_line());
        self.links.remove(&number);
        link.end();
        self.process.forget(&link);
    }
}
