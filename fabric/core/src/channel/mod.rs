//! One end of a channel between two processes: frames in both directions, doorbells, and detection
//! of the peer's death.
//!
//! Nothing here blocks. The caller (a task or a thread) calls [`Channel::receive`] until it yields
//! no frame, then [`Channel::prepare_sleep`]. If that returns `true`, the caller waits for
//! [`Channel::doorbell`] or [`Channel::liveness`] to become readable.
mod descriptor;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;
mod violation;

pub use descriptor::{FrameHeader, FrameKind, INLINE_BYTES};
pub use receiver::{Frame, Receiver};
pub use sender::Sender;
pub use violation::Violation;

#[doc(hidden)]
pub use descriptor::{Descriptor, Payload};

use crate::memory::layout::{Layout, Sizes};
use crate::memory::mapping::{self, ChannelMemory, SharedOne};
use crate::memory::need_wakeup::NeedWakeup;
use crate::{fd, metrics, wakeup};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

/// The file descriptors of one end of a channel, as the manager sends them.
#[derive(Debug)]
pub struct ChannelFds {
    /// The shared memory.
    pub memory: OwnedFd,
    /// This end's doorbell, to wait for.
    pub doorbell: OwnedFd,
    /// The other end's doorbell, to signal.
    pub peer_doorbell: OwnedFd,
    /// A socket whose other end closes when the peer dies.
    pub liveness: OwnedFd,
}

impl ChannelFds {
    /// Creates the descriptors of both ends of a new channel.
    pub fn pair(layout: &Layout, huge_pages: bool) -> std::io::Result<[ChannelFds; 2]> {
        let memory = mapping::create(layout, huge_pages)?;
        let (doorbell_a, doorbell_b) = (fd::shared_doorbell()?, fd::shared_doorbell()?);
        let (liveness_a, liveness_b) = fd::liveness_pair()?;
        Ok([
            ChannelFds {
                memory: memory.try_clone()?,
                doorbell: doorbell_a.wait,
                peer_doorbell: doorbell_b.signal,
                liveness: liveness_a,
            },
            ChannelFds {
                memory,
                doorbell: doorbell_b.wait,
                peer_doorbell: doorbell_a.signal,
                liveness: liveness_b,
            },
        ])
    }

    /// The descriptors in the order of the message.
    pub fn as_fds(&self) -> [BorrowedFd<'_>; 4] {
        [
            self.memory.as_fd(),
            self.doorbell.as_fd(),
            self.peer_doorbell.as_fd(),
            self.liveness.as_fd(),
        ]
    }

    /// From received descriptors. `None` if there are not exactly four.
    pub fn from_fds(fds: Vec<OwnedFd>) -> Option<ChannelFds> {
        let [memory, doorbell, peer_doorbell, liveness] = fds.try_into().ok()?;
        Some(ChannelFds { memory, doorbell, peer_doorbell, liveness })
    }
}

/// Why a channel is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Closed {
    /// The peer ended or closed its end.
    #[error("the peer process is gone")]
    PeerGone,
    /// This process closed it.
    #[error("this process closed the channel")]
    Local,
    /// The peer violated the protocol.
    #[error("the peer violated the channel protocol: {0}")]
    Violation(Violation),
}

impl Closed {
    fn label(self) -> &'static str {
        match self {
            Closed::PeerGone => "peer gone",
            Closed::Local => "closed locally",
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
    sender: Mutex<Sender>,
    receiver: Mutex<Receiver>,
    own: SharedOne<NeedWakeup>,
    peer: SharedOne<NeedWakeup>,
    doorbell: Arc<OwnedFd>,
    peer_doorbell: Arc<OwnedFd>,
    liveness: Arc<OwnedFd>,
    max_frame_bytes: usize,
    closed: OnceLock<Closed>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The state behind a poisoned lock is still checked on every use.
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

impl Channel {
    /// Opens an end (0 or 1) of an unused channel.
    pub fn new(fds: ChannelFds, sizes: &Sizes, end: usize) -> std::io::Result<Channel> {
        let layout = Arc::new(Layout::of(sizes).map_err(std::io::Error::other)?);
        let memory = ChannelMemory::map(&fds.memory, &layout, end)?;
        metrics::CHANNELS.inc();
        Ok(Channel {
            sender: Mutex::new(Sender::new(memory.out, &layout)),
            receiver: Mutex::new(Receiver::new(memory.into, &layout)),
            own: memory.own,
            peer: memory.peer,
            doorbell: Arc::new(fds.doorbell),
            peer_doorbell: Arc::new(fds.peer_doorbell),
            liveness: Arc::new(fds.liveness),
            max_frame_bytes: sizes.frame as usize,
            closed: OnceLock::new(),
        })
    }

    /// Maximum frame length in bytes.
    pub fn max_frame_bytes(&self) -> usize {
        self.max_frame_bytes
    }

    /// Readable when there may be frames to receive, or room to send.
    pub fn doorbell(&self) -> &Arc<OwnedFd> {
        &self.doorbell
    }

    /// Readable when the peer may be gone; see [`Channel::check_liveness`].
    pub fn liveness(&self) -> &Arc<OwnedFd> {
        &self.liveness
    }

    /// Why the channel is closed; `None` while it is open.
    pub fn closed(&self) -> Option<Closed> {
        self.closed.get().copied()
    }

    fn ensure_open(&self) -> Result<(), Closed> {
        self.closed().map_or(Ok(()), Err)
    }

    /// Closes the channel for both ends. Only the first reason is stored.
    pub fn close(&self, reason: Closed) {
        if self.closed.set(reason).is_ok() {
            metrics::CHANNELS.dec();
            metrics::CLOSED.with_label_values(&[reason.label()]).inc();
            // Wakes the tasks and threads that wait at both ends.
            let _ = nix::sys::socket::shutdown(
                fd::raw(&self.liveness),
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

    /// Sends a frame, or queues it in this process if there is no room. Frames stay in order.
    pub fn send(&self, head: FrameHeader, bytes: &[u8]) -> Result<(), Closed> {
        self.ensure_open()?;
        if bytes.len() > self.max_frame_bytes {
            // The callers check the length first. The channel itself stays open.
            return Err(Closed::Violation(Violation::Frame));
        }
        let mut sender = lock(&self.sender);
        self.checked(sender.send(head, bytes))?;
        self.publish(&mut sender)
    }

    /// Sends the part of `bytes` that there is room for as one frame, and returns its length. After
    /// 0 the [doorbell](Channel::doorbell) is signalled when there is room again.
    pub fn send_some(&self, head: FrameHeader, bytes: &[u8]) -> Result<usize, Closed> {
        self.ensure_open()?;
        let mut sender = lock(&self.sender);
        let mut sent = self.checked(sender.send_some(head, bytes))?;
        if sent == 0 && !sender.has_queued() {
            self.own.arm_send();
            sent = self.checked(sender.send_some(head, bytes))?;
        }
        self.publish(&mut sender)?;
        Ok(sent)
    }

    /// Memory in bytes of the frames that wait for room.
    pub fn backlog(&self) -> usize {
        lock(&self.sender).backlog()
    }

    /// Number of buffers that the peer holds.
    pub fn lent(&self) -> Result<u32, Closed> {
        self.ensure_open()?;
        let mut sender = lock(&self.sender);
        self.checked(sender.reclaim())?;
        Ok(sender.lent())
    }

    /// Signals the peer's doorbell if needed, and arms the wakeup if frames wait for room.
    fn publish(&self, sender: &mut Sender) -> Result<(), Closed> {
        if sender.has_queued() {
            self.own.arm_send();
            self.checked(sender.flush())?;
        }
        if sender.take_published() && self.peer.take_receive() {
            metrics::WAKEUPS.inc();
            wakeup::signal(&self.peer_doorbell);
        }
        Ok(())
    }

    /// Reclaims returned buffers, sends queued frames, and appends up to `limit` received frames to
    /// `frames`.
    pub fn receive(&self, limit: usize, frames: &mut Vec<Frame>) -> Result<(), Closed> {
        self.ensure_open()?;
        {
            let mut sender = lock(&self.sender);
            if sender.has_queued() {
                self.checked(sender.flush())?;
                self.publish(&mut sender)?;
            }
        }
        let mut receiver = lock(&self.receiver);
        for _ in 0..limit {
            match self.checked(receiver.next_frame())? {
                Some(frame) => frames.push(frame),
                None => break,
            }
        }
        if receiver.publish() && self.peer.take_send() {
            metrics::WAKEUPS.inc();
            wakeup::signal(&self.peer_doorbell);
        }
        Ok(())
    }

    /// Whether the peer has published descriptors. Does not validate them.
    pub fn has_frames(&self) -> bool {
        // An invalid index is reported by the next `receive`.
        lock(&self.receiver).has_frames().unwrap_or(true)
    }

    /// Arms the wakeup for received frames. Returns `false` if frames have arrived meanwhile; then
    /// the caller must not sleep.
    pub fn prepare_sleep(&self) -> Result<bool, Closed> {
        self.ensure_open()?;
        self.own.arm_receive();
        if self.checked(lock(&self.receiver).has_frames())? {
            self.own.disarm_receive();
            return Ok(false);
        }
        Ok(true)
    }

    /// Disarms the wakeup: this end polls its ring itself.
    pub fn mark_awake(&self) {
        self.own.disarm_receive();
    }

    /// Closes the channel if the peer is gone. Call it when [`Channel::liveness`] is readable.
    pub fn check_liveness(&self) {
        if fd::is_peer_gone(&self.liveness) {
            self.close(Closed::PeerGone);
        }
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.close(Closed::Local);
    }
}
