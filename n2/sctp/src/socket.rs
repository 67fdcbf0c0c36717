//! The interface of an SCTP implementation. Associations and listeners are built on it.
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

/// A one-to-one SCTP socket that never blocks. Dropping it aborts its association.
pub(crate) trait Socket: Send + Sync + 'static {
    /// Queues a whole message; `WouldBlock` while the send buffer has no room for it.
    fn send(&self, stream: u16, ppid: u32, data: &[u8]) -> io::Result<()>;
    /// Reads an event, or appends a part of a message to `message`; `WouldBlock` if there is
    /// nothing.
    fn read(&self, message: &mut Vec<u8>) -> io::Result<Read>;
    /// Waits until another [`read`](Socket::read) may succeed.
    fn readable(&self) -> impl Future<Output = io::Result<()>> + Send;
    /// Waits until another [`send`](Socket::send) may succeed.
    fn writable(&self) -> impl Future<Output = io::Result<()>> + Send;
    /// DATA chunks that were queued or sent, and not acknowledged.
    fn unacknowledged(&self) -> io::Result<u16>;
    /// Sends what is queued, then SHUTDOWN.
    fn shutdown(&self) -> io::Result<()>;
    /// Sends ABORT and wakes waiting tasks.
    fn abort(&self);
}

/// The result of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    /// A part of a message, its last one if `end`.
    Data { stream: u16, ppid: u32, end: bool },
    /// The association is established, with this number of outbound streams.
    Up { streams: u16 },
    /// The association could not be set up. The next read fails with the reason.
    CannotStart,
    /// The association is lost. The next read fails with the reason. `cause` is that of the peer's
    /// ABORT, if it sent one.
    Lost { cause: u16 },
    /// The peer restarted the association.
    Restart { streams: u16 },
    /// The association was shut down gracefully.
    Shutdown,
    /// End of the association.
    Eof,
    /// Another event.
    Other,
}

/// An association that was accepted or connected.
pub(crate) struct Accepted<S> {
    pub(crate) socket: Arc<S>,
    pub(crate) peer: SocketAddr,
    pub(crate) local: SocketAddr,
    /// Outbound streams.
    pub(crate) streams: u16,
}

/// A listening socket that never blocks.
pub(crate) trait Listen: Send + Sync + 'static {
    /// The sockets of its associations.
    type Socket: Socket;
    /// The next association; `None` if it has already ended, `WouldBlock` if there is none.
    fn accept(&self) -> io::Result<Option<Accepted<Self::Socket>>>;
    /// Waits until another [`accept`](Listen::accept) may succeed.
    fn acceptable(&self) -> impl Future<Output = io::Result<()>> + Send;
    /// The (first) local address.
    fn local_addr(&self) -> SocketAddr;
}
