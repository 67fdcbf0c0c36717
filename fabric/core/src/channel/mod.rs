//! A channel: what two processes share, from one end. Frames in, frames out, bells, and the other
//! end's death.
//!
//! Nothing here waits. What waits (a task, a thread) calls [`Channel::receive`] until there is
//! nothing, then [`Channel::may_sleep`], and only if that agrees waits for [`Channel::bell`] or
//! [`Channel::life_line`].
mod descriptor;
mod inbox;
mod outbox;
#[cfg(test)]
mod tests;
mod violation;

pub use descriptor::{Head, INLINE, Kind};
pub use inbox::{Frame, Inbox};
pub use outbox::Outbox;
pub use violation::Violation;

#[doc(hidden)]
pub use descriptor::{Descriptor, Place};

use crate::memory::attention::Attention;
use crate::memory::layout::{Layout, Sizes};
use crate::memory::mapping::{self, ChannelMemory, SharedOne};
use crate::{bells, fd, metrics};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

/// What one end of a channel is made of, as the manager hands it over.
#[derive(Debug)]
pub struct Parts {
    /// The memory.
    pub memory: OwnedFd,
    /// This end's bell.
    pub bell: OwnedFd,
    /// The other end's bell.
    pub peer_bell: OwnedFd,
    /// A socket whose other end closes with the other process.
    pub life_line: OwnedFd,
}

impl Parts {
    /// The parts of both ends of a new channel.
    pub fn pair(layout: &Layout, huge_pages: bool) -> std::io::Result<[Parts; 2]> {
        let memory = mapping::create(layout, huge_pages)?;
        let (bell_a, bell_b) = (fd::bell()?, fd::bell()?);
        let (line_a, line_b) = fd::life_line()?;
        Ok([
            Parts {
                memory: memory.try_clone()?,
                bell: bell_a.try_clone()?,
                peer_bell: bell_b.try_clone()?,
                life_line: line_a,
            },
            Parts { memory, bell: bell_b, peer_bell: bell_a, life_line: line_b },
        ])
    }

    /// In the order in which they travel.
    pub fn as_fds(&self) -> [BorrowedFd<'_>; 4] {
        [self.memory.as_fd(), self.bell.as_fd(), self.peer_bell.as_fd(), self.life_line.as_fd()]
    }

    /// From what travelled; `None` if it is another number of descriptors.
    pub fn from_fds(fds: Vec<OwnedFd>) -> Option<Parts> {
        let [memory, bell, peer_bell, life_line] = fds.try_into().ok()?;
        Some(Parts { memory, bell, peer_bell, life_line })
    }
}

/// Why a channel is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Closed {
    /// The other process ended, or closed its end.
    #[error("the other process is gone")]
    Gone,
    /// This process closed it.
    #[error("this process closed the channel")]
    Here,
    /// The other process broke the rules.
    #[error("the other process broke the rules of the channel: {0}")]
    Violation(Violation),
}

impl Closed {
    fn label(self) -> &'static str {
        match self {
            Closed::Gone => "peer gone",
            Closed::Here => "closed here",
            Closed::Violation(Violation::Index) => "wrong index",
            Closed::Violation(Violation::Descriptor) => "wrong descriptor",
            Closed::Violation(Violation::Buffer) => "wrong buffer",
            Closed::Violation(Violation::Return) => "wrong buffer returned",
            Closed::Violation(Violation::Frame) => "wrong frame",
            Closed::Violation(Violation::Order) => "wrong order",
            Closed::Violation(Violation::Limit) => "limit exceeded",
        }
    }
}

/// One end of a channel.
pub struct Channel {
    outbox: Mutex<Outbox>,
    inbox: Mutex<Inbox>,
    own: SharedOne<Attention>,
    peer: SharedOne<Attention>,
    bell: Arc<OwnedFd>,
    peer_bell: Arc<OwnedFd>,
    life_line: Arc<OwnedFd>,
    longest: usize,
    closed: OnceLock<Closed>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic while it was held can have left nothing half done that the checks would not find.
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

impl Channel {
    /// Takes over an end (0 or 1) of a channel that nobody has used yet.
    pub fn new(parts: Parts, sizes: &Sizes, end: usize) -> std::io::Result<Channel> {
        let layout = Arc::new(Layout::of(sizes).map_err(std::io::Error::other)?);
        let memory = ChannelMemory::map(&parts.memory, &layout, end)?;
        metrics::CHANNELS.inc();
        Ok(Channel {
            outbox: Mutex::new(Outbox::new(memory.out, &layout)),
            inbox: Mutex::new(Inbox::new(memory.into, &layout)),
            own: memory.own,
            peer: memory.peer,
            bell: Arc::new(parts.bell),
            peer_bell: Arc::new(parts.peer_bell),
            life_line: Arc::new(parts.life_line),
            longest: sizes.frame as usize,
            closed: OnceLock::new(),
        })
    }

    /// Octets of the longest frame.
    pub fn longest_frame(&self) -> usize {
        self.longest
    }

    /// Readable when there may be something to receive, or room to send.
    pub fn bell(&self) -> &Arc<OwnedFd> {
        &self.bell
    }

    /// Readable when the other end is gone.
    pub fn life_line(&self) -> &Arc<OwnedFd> {
        &self.life_line
    }

    /// Why it is closed, if it is.
    pub fn closed(&self) -> Option<Closed> {
        self.closed.get().copied()
    }

    fn open(&self) -> Result<(), Closed> {
        self.closed().map_or(Ok(()), Err)
    }

    /// Closes the channel for both ends. The first reason stays.
    pub fn close(&self, reason: Closed) {
        if self.closed.set(reason).is_ok() {
            metrics::CHANNELS.dec();
            metrics::CLOSED.with_label_values(&[reason.label()]).inc();
            // Wakes whoever waits for the channel, at both ends.
            let _ = nix::sys::socket::shutdown(
                fd::raw(&self.life_line),
                nix::sys::socket::Shutdown::Both,
            );
        }
    }

    fn checked<T>(&self, outcome: Result<T, Violation>) -> Result<T, Closed> {
        outcome.map_err(|violation| {
            self.close(Closed::Violation(violation));
            self.closed().unwrap_or(Closed::Violation(violation))
        })
    }

    /// Sends a frame; one that finds no room waits in this process. Frames stay in order.
    pub fn send(&self, head: Head, octets: &[u8]) -> Result<(), Closed> {
        self.open()?;
        if octets.len() > self.longest {
            // The callers look first; the channel itself is sound.
            return Err(Closed::Violation(Violation::Frame));
        }
        let mut outbox = lock(&self.outbox);
        self.checked(outbox.send(head, octets))?;
        self.settle(&mut outbox)
    }

    /// Sends as much as there is room for as a frame of its own, and says how much that was. At 0
    /// the channel will be [woken](Channel::bell) when there is room again.
    pub fn send_some(&self, head: Head, octets: &[u8]) -> Result<usize, Closed> {
        self.open()?;
        let mut outbox = lock(&self.outbox);
        let mut sent = self.checked(outbox.send_some(head, octets))?;
        if sent == 0 && !outbox.is_waiting() {
            self.own.starve();
            sent = self.checked(outbox.send_some(head, octets))?;
        }
        self.settle(&mut outbox)?;
        Ok(sent)
    }

    /// Octets of memory of what waits for room.
    pub fn backlog(&self) -> usize {
        lock(&self.outbox).backlog()
    }

    /// Buffers that the other end has not given back.
    pub fn lent(&self) -> Result<u32, Closed> {
        self.open()?;
        let mut outbox = lock(&self.outbox);
        self.checked(outbox.reclaim())?;
        Ok(outbox.lent())
    }

    /// Rings the other end's bell if it has to, and asks to be woken if frames wait for room.
    fn settle(&self, outbox: &mut Outbox) -> Result<(), Closed> {
        if outbox.is_waiting() {
            self.own.starve();
            self.checked(outbox.flush())?;
        }
        if outbox.take_published() && self.peer.after_sending() {
            metrics::BELLS.inc();
            bells::ring(&self.peer_bell);
        }
        Ok(())
    }

    /// Takes what the peer gave back, sends what waited for it, and moves up to `most` frames into
    /// `frames`.
    pub fn receive(&self, most: usize, frames: &mut Vec<Frame>) -> Result<(), Closed> {
        self.open()?;
        {
            let mut outbox = lock(&self.outbox);
            if outbox.is_waiting() {
                self.checked(outbox.flush())?;
                self.settle(&mut outbox)?;
            }
        }
        let mut inbox = lock(&self.inbox);
        for _ in 0..most {
            match self.checked(inbox.take_next())? {
                Some(frame) => frames.push(frame),
                None => break,
            }
        }
        if inbox.publish() && self.peer.after_returning() {
            metrics::BELLS.inc();
            bells::ring(&self.peer_bell);
        }
        Ok(())
    }

    /// Whether there is something to receive, as far as can be seen without a look at it.
    pub fn has_news(&self) -> bool {
        // Whatever is wrong with it is found when it is received.
        lock(&self.inbox).has_some().unwrap_or(true)
    }

    /// Says that this end waits for its bell from now on; `false` where there is something to do
    /// first.
    pub fn may_sleep(&self) -> Result<bool, Closed> {
        self.open()?;
        self.own.sleep();
        if self.checked(lock(&self.inbox).has_some())? {
            self.own.wake();
            return Ok(false);
        }
        Ok(true)
    }

    /// Says that this end looks by itself again.
    pub fn awake(&self) {
        self.own.wake();
    }

    /// Looks whether the other end is still there; to be called when the life line is readable.
    pub fn check_life(&self) {
        if fd::is_gone(&self.life_line) {
            self.close(Closed::Gone);
        }
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.close(Closed::Here);
    }
}
