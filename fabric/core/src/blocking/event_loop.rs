//! The background thread: an epoll loop that drives the manager's socket and all links.
use crate::channel::Closed;
use crate::fd;
use crate::link::{Host, Link};
use crate::manager_socket::{self, RECONNECT_MAX, RECONNECT_MIN};
use crate::membership::{ManagerError, Membership, MembershipState};
use crate::messages;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use std::collections::HashMap;
use std::io::{ErrorKind, Result};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

/// Batches of frames of one link before other links are served.
const MAX_BATCHES: u32 = 16;

/// A source of epoll events.
#[derive(Clone, Copy)]
enum Source {
    /// There is a message to the manager, or the loop has to stop.
    Doorbell,
    Manager,
    Link(u64),
    Liveness(u64),
}

impl Source {
    fn token(self) -> u64 {
        match self {
            Source::Doorbell => 0,
            Source::Manager => 1,
            Source::Link(number) => 2 | number << 2,
            Source::Liveness(number) => 3 | number << 2,
        }
    }
    fn of(token: u64) -> Source {
        match token & 3 {
            0 => Source::Doorbell,
            1 => Source::Manager,
            2 => Source::Link(token >> 2),
            _ => Source::Liveness(token >> 2),
        }
    }
}

/// The epoll loop.
pub(super) struct EventLoop {
    membership: Arc<Membership>,
    path: PathBuf,
    host: Weak<dyn Host>,
    stop: Arc<AtomicBool>,
    doorbell: Arc<OwnedFd>,
    epoll: Epoll,
    links: HashMap<u64, Arc<Link>>,
    manager: Option<OwnedFd>,
    /// A message that did not fit into the socket.
    unsent: Option<Vec<u8>>,
    delay: Duration,
    reconnect_at: Instant,
    /// Links with more frames than [`MAX_BATCHES`].
    busy: Vec<u64>,
}

/// The events of the manager's socket to wait for; `wait_for_room` adds writability.
fn manager_event(wait_for_room: bool) -> EpollEvent {
    let flags = if wait_for_room {
        EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT
    } else {
        EpollFlags::EPOLLIN
    };
    EpollEvent::new(flags, Source::Manager.token())
}

/// A waker that signals the loop's doorbell.
struct SignalDoorbell(Arc<OwnedFd>);
impl Wake for SignalDoorbell {
    fn wake(self: Arc<Self>) {
        fd::signal(&self.0);
    }
}

impl EventLoop {
    pub(super) fn new(
        membership: Arc<Membership>,
        path: PathBuf,
        host: Weak<dyn Host>,
        stop: Arc<AtomicBool>,
        doorbell: Arc<OwnedFd>,
    ) -> Result<EventLoop> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let event =
            EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, Source::Doorbell.token());
        epoll.add(&doorbell, event)?;
        let links = HashMap::new();
        let (delay, reconnect_at) = (RECONNECT_MIN, Instant::now());
        let (manager, unsent, busy) = (None, None, Vec::new());
        Ok(EventLoop {
            membership,
            path,
            host,
            stop,
            doorbell,
            epoll,
            links,
            manager,
            unsent,
            delay,
            reconnect_at,
            busy,
        })
    }

    pub(super) fn run(mut self) {
        let mut events = [EpollEvent::empty(); 32];
        while !self.stop.load(Ordering::Relaxed) {
            if self.manager.is_none() && Instant::now() >= self.reconnect_at {
                self.connect();
            }
            self.send_messages();
            let timeout = match self.manager {
                _ if !self.busy.is_empty() => EpollTimeout::ZERO,
                Some(_) => EpollTimeout::NONE,
                None => {
                    let left =
                        self.reconnect_at.saturating_duration_since(Instant::now()).as_millis()
                            as u16;
                    EpollTimeout::from(left.saturating_add(1))
                }
            };
            let count = match self.epoll.wait(&mut events, timeout) {
                Ok(count) => count,
                Err(nix::Error::EINTR) => 0,
                Err(error) => {
                    tracing::error!(%error, "fabric thread stopped: epoll_wait failed");
                    break;
                }
            };
            for number in std::mem::take(&mut self.busy) {
                self.progress(number);
            }
            for event in events.iter().take(count) {
                match Source::of(event.data()) {
                    Source::Doorbell => {}
                    Source::Manager => self.receive_messages(),
                    Source::Link(number) => self.progress(number),
                    Source::Liveness(number) => {
                        self.progress(number);
                        // The peer published the frames that are left before it ended. The event is
                        // level-triggered, so it arrives again.
                        if self.busy.contains(&number) {
                            continue;
                        }
                        if let Some(link) = self.links.get(&number) {
                            link.channel().check_liveness();
                        }
                        self.progress(number);
                    }
                }
            }
        }
        self.links.values().for_each(|link| link.end());
    }

    fn connect(&mut self) {
        let opened = manager_socket::open(&self.path).and_then(|socket| {
            self.epoll.add(&socket, manager_event(false))?;
            Ok(socket)
        });
        match opened {
            Ok(socket) => {
                self.manager = Some(socket);
                self.unsent = None;
                self.membership.connected();
            }
            Err(error) => self.disconnect(&format!("{}: {error}", self.path.display())),
        }
    }

    fn disconnect(&mut self, reason: &str) {
        if let Some(socket) = self.manager.take() {
            let _ = self.epoll.delete(&socket);
        }
        if matches!(self.membership.state(), MembershipState::Joined(_)) {
            self.delay = RECONNECT_MIN;
        }
        self.membership.disconnected(reason);
        self.reconnect_at = Instant::now() + self.delay;
        self.delay = (self.delay * 2).min(RECONNECT_MAX);
    }

    /// Sends the queued messages to the manager. Keeps a message that does not fit until the socket
    /// is writable.
    fn send_messages(&mut self) {
        let waker = Waker::from(Arc::new(SignalDoorbell(self.doorbell.clone())));
        let mut context = Context::from_waker(&waker);
        let Some(socket) = &self.manager else { return };
        loop {
            let was_blocked = self.unsent.is_some();
            let message = match self.unsent.take() {
                Some(message) => message,
                None => match self.membership.poll_outgoing(&mut context) {
                    Poll::Ready(message) => message,
                    Poll::Pending => break,
                },
            };
            match fd::send(socket, &message, &[]) {
                Ok(()) => {
                    if was_blocked {
                        let _ = self.epoll.modify(socket, &mut manager_event(false));
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.unsent = Some(message);
                    if !was_blocked {
                        let _ = self.epoll.modify(socket, &mut manager_event(true));
                    }
                    break;
                }
                Err(error) => {
                    // Keep reading: the manager's last message has the reason why it closed the
                    // connection.
                    tracing::debug!(%error, "message to the fabric manager not sent");
                    break;
                }
            }
        }
    }

    /// Handles the received messages of the manager.
    fn receive_messages(&mut self) {
        let mut buffer = vec![0; messages::MAX_MESSAGE_BYTES];
        while let Some(socket) = &self.manager {
            let outcome = match fd::receive(socket, &mut buffer) {
                Ok((0, _)) => Err(ManagerError::Closed),
                Ok((length, fds)) => {
                    self.membership.handle_message(&buffer[..length], fds, &self.host)
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => Err(error.into()),
            };
            match outcome {
                Ok(Some(link)) => self.add_link(link),
                Ok(None) => {}
                Err(error) => self.disconnect(&error.to_string()),
            }
        }
    }

    fn add_link(&mut self, link: Arc<Link>) {
        let number = link.number;
        let edge = EpollFlags::EPOLLIN | EpollFlags::EPOLLET;
        let doorbell = EpollEvent::new(edge, Source::Link(number).token());
        let level = EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP;
        let liveness = EpollEvent::new(level, Source::Liveness(number).token());
        let added = self
            .epoll
            .add(link.channel().doorbell(), doorbell)
            .and(self.epoll.add(link.channel().liveness(), liveness));
        if added.is_err() {
            link.channel().close(Closed::Local);
        }
        self.links.insert(number, link);
        self.progress(number);
    }

    /// Handles the received frames of a link until it can sleep or [`MAX_BATCHES`] is reached.
    fn progress(&mut self, number: u64) {
        let Some(link) = self.links.get(&number).cloned() else { return };
        let mut frames = Vec::new();
        link.channel().mark_awake();
        let mut batches = 0;
        let closed = loop {
            batches += 1;
            match link.progress(&mut frames) {
                Ok(true) if batches > MAX_BATCHES => {
                    if !self.busy.contains(&number) {
                        self.busy.push(number);
                    }
                    return;
                }
                Ok(true) => continue,
                Ok(false) => {}
                Err(closed) => break closed,
            }
            match link.channel().prepare_sleep() {
                Ok(true) => return,
                Ok(false) => continue,
                Err(closed) => break closed,
            }
        };
        tracing::debug!(peer = link.peer.name, number, %closed, "fabric channel closed");
        let _ = self.epoll.delete(link.channel().doorbell());
        let _ = self.epoll.delete(link.channel().liveness());
        self.links.remove(&number);
        link.end();
        self.membership.remove_link(&link);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::{Channel, ChannelFds, FrameHeader, FrameKind, Violation};
    use crate::limits::ProcessLimits;
    use crate::link::sockets::Listener;
    use crate::memory::layout::{Layout, Sizes};
    use crate::messages::Peer;
    use std::net::SocketAddr;
    use std::sync::atomic::AtomicU32;

    #[derive(Default)]
    struct Counter(AtomicU32);
    impl Host for Counter {
        fn request(&self, _: &Arc<Link>, _: u32, _: Vec<u8>) -> std::result::Result<(), Violation> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
        fn listener(&self, _: &SocketAddr) -> Option<Arc<Listener>> {
            None
        }
    }

    #[test]
    fn all_frames_of_a_peer_that_ended_are_handled() {
        const FRAMES: u32 = 4000;
        let sizes = Sizes { slots: 4096, ..Sizes::default() };
        let limits = ProcessLimits { serving: FRAMES as usize, ..ProcessLimits::default() };
        let [own, other] = ChannelFds::pair(&Layout::of(&sizes).unwrap(), false).unwrap();
        let sender = Channel::new(other, &sizes, 1).unwrap();
        for stream in 0..FRAMES {
            let head = FrameHeader { kind: FrameKind::Request, own: true, stream };
            sender.send(head, b"x").unwrap();
        }
        drop(sender);

        let counter = Arc::new(Counter::default());
        let host: Arc<dyn Host> = counter.clone();
        let (name, calls) = ("p".into(), vec![]);
        let peer = Peer { name, schema: 0, user: None, calls, connections: vec![] };
        let channel = Channel::new(own, &sizes, 0).unwrap();
        let link = Link::new(1, peer, channel, &limits, Arc::downgrade(&host));
        let membership = Arc::new(Membership::new("test", 0, limits));
        let (stop, doorbell) =
            (Arc::new(AtomicBool::new(false)), Arc::new(fd::doorbell().unwrap()));
        let mut event_loop = EventLoop::new(
            membership,
            "/nonexistent/fabric.sock".into(),
            Arc::downgrade(&host),
            stop.clone(),
            doorbell.clone(),
        )
        .unwrap();
        event_loop.add_link(link.clone());
        let thread = std::thread::spawn(move || event_loop.run());
        let give_up = Instant::now() + Duration::from_secs(30);
        while link.channel().closed().is_none() && Instant::now() < give_up {
            std::thread::yield_now();
        }
        stop.store(true, Ordering::Relaxed);
        fd::signal(&doorbell);
        thread.join().unwrap();
        assert_eq!(link.channel().closed(), Some(Closed::PeerGone));
        assert_eq!(counter.0.load(Ordering::Relaxed), FRAMES);
    }
}
