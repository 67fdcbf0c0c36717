//! The thread that waits for the kernel on behalf of every connection of a process.
use crate::channel::Closed;
use crate::fd;
use crate::link::{Host, Link};
use crate::membership;
use crate::messages;
use crate::process::{News, Process, Standing};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use std::collections::HashMap;
use std::io::{ErrorKind, Result};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// Batches that are taken from one link before others get their turn.
const MOST_TURNS: u32 = 16;

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
pub(super) struct Driver {
    process: Arc<Process>,
    path: PathBuf,
    host: Weak<dyn Host>,
    over: Arc<AtomicBool>,
    bell: Arc<OwnedFd>,
    epoll: Epoll,
    links: HashMap<u64, Arc<Link>>,
    manager: Option<OwnedFd>,
    /// A message that the manager had no room for.
    unsent: Option<Vec<u8>>,
    pause: Duration,
    again: Instant,
    /// Links on which more came than one turn takes.
    busy: Vec<u64>,
}

/// What the thread wants to hear of the manager's socket.
fn manager_event(has_room: bool) -> EpollEvent {
    let flags =
        if has_room { EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT } else { EpollFlags::EPOLLIN };
    EpollEvent::new(flags, Source::Manager.token())
}

/// Rings the thread's bell: what wakes it when there is a message for the manager.
struct Ring(Arc<OwnedFd>);
impl Wake for Ring {
    fn wake(self: Arc<Self>) {
        fd::ring(&self.0);
    }
}

impl Driver {
    pub(super) fn new(
        process: Arc<Process>,
        path: PathBuf,
        host: Weak<dyn Host>,
        over: Arc<AtomicBool>,
        bell: Arc<OwnedFd>,
    ) -> Result<Driver> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let event =
            EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, Source::Bell.token());
        epoll.add(&bell, event)?;
        let links = HashMap::new();
        let (pause, again) = (FIRST_PAUSE, Instant::now());
        let (manager, unsent, busy) = (None, None, Vec::new());
        Ok(Driver {
            process,
            path,
            host,
            over,
            bell,
            epoll,
            links,
            manager,
            unsent,
            pause,
            again,
            busy,
        })
    }

    pub(super) fn run(mut self) {
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
                    let left =
                        self.again.saturating_duration_since(Instant::now()).as_millis() as u16;
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
            self.epoll.add(&socket, manager_event(false))?;
            Ok(socket)
        });
        match opened {
            Ok(socket) => {
                self.manager = Some(socket);
                self.unsent = None;
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

    /// Sends what there is to say to the manager. What it has no room for is kept until it has
    /// some.
    fn speak(&mut self) {
        let waker = Waker::from(Arc::new(Ring(self.bell.clone())));
        let mut context = Context::from_waker(&waker);
        let Some(socket) = &self.manager else { return };
        loop {
            let held_up = self.unsent.is_some();
            let message = match self.unsent.take() {
                Some(message) => message,
                None => match self.process.poll_outgoing(&mut context) {
                    Poll::Ready(message) => message,
                    Poll::Pending => break,
                },
            };
            match fd::send(socket, &message, &[]) {
                Ok(()) => {
                    if held_up {
                        let _ = self.epoll.modify(socket, &mut manager_event(false));
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.unsent = Some(message);
                    if !held_up {
                        let _ = self.epoll.modify(socket, &mut manager_event(true));
                    }
                    break;
                }
                Err(error) => {
                    // Its last words, if there are any, are read before the end shows.
                    tracing::debug!(%error, "the manager takes no message");
                    break;
                }
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
            let bell = self
                .epoll
                .add(link.channel().bell(), EpollEvent::new(edge, Source::Link(number).token()));
            let life = EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP;
            let life = self.epoll.add(
                link.channel().life_line(),
                EpollEvent::new(life, Source::Life(number).token()),
            );
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
