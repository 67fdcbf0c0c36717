//! The sockets of associations and listeners.
use crate::ffi::{kernel, sys};
use crate::socket::{self, Accepted, Listen, Read};
use socket2::SockAddr;
use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::Semaphore;

/// Bytes read at once.
const SCRATCH: usize = 1 << 16;

thread_local! {
    /// Where messages are read to, before they are as long as they need to be.
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; SCRATCH]);
}

/// The socket of an association.
pub(crate) struct Socket {
    watched: AsyncFd<sys::Watched>,
    socket: Arc<socket2::Socket>,
    /// Closed by the abort, so that no task waits for an aborted socket.
    alive: Semaphore,
}

impl Socket {
    /// Has the current runtime watch it.
    pub(super) fn new(socket: socket2::Socket) -> io::Result<Socket> {
        let socket = Arc::new(socket);
        let watched = sys::watch(socket.clone(), Interest::READABLE | Interest::WRITABLE)?;
        Ok(Socket { watched, socket, alive: Semaphore::new(0) })
    }

    pub(super) fn inner(&self) -> &socket2::Socket {
        &self.socket
    }
}

impl socket::Socket for Socket {
    fn send(&self, stream: u16, ppid: u32, data: &[u8]) -> io::Result<()> {
        kernel::send(self.socket.as_fd(), stream, ppid, data)
    }

    fn read(&self, message: &mut Vec<u8>) -> io::Result<Read> {
        BUFFER.with_borrow_mut(|buffer| {
            let (read, data) = kernel::receive(self.socket.as_fd(), buffer)?;
            message.extend_from_slice(data);
            Ok(read)
        })
    }

    // Readiness is cleared before the next attempt, so no event in between is missed.
    async fn readable(&self) -> io::Result<()> {
        tokio::select! {
            ready = self.watched.readable() => ready?.clear_ready(),
            _ = self.alive.acquire() => {}
        }
        Ok(())
    }

    async fn writable(&self) -> io::Result<()> {
        tokio::select! {
            ready = self.watched.writable() => ready?.clear_ready(),
            _ = self.alive.acquire() => {}
        }
        Ok(())
    }

    fn unacknowledged(&self) -> io::Result<u16> {
        kernel::unacknowledged(&self.socket)
    }

    fn shutdown(&self) -> io::Result<()> {
        self.socket.shutdown(std::net::Shutdown::Write)
    }

    fn abort(&self) {
        if let Err(error) = kernel::abort(&self.socket) {
            tracing::warn!(%error, "SCTP association not aborted: it ends when it is dropped");
        }
        self.alive.close();
    }
}

/// A listening socket.
pub(crate) struct ListeningSocket {
    watched: AsyncFd<sys::Watched>,
    socket: Arc<socket2::Socket>,
    local: SocketAddr,
}

impl ListeningSocket {
    pub(super) fn new(socket: socket2::Socket) -> io::Result<ListeningSocket> {
        let local = known(socket.local_addr()?)?;
        let socket = Arc::new(socket);
        let watched = sys::watch(socket.clone(), Interest::READABLE)?;
        Ok(ListeningSocket { watched, socket, local })
    }
}

impl Listen for ListeningSocket {
    type Socket = Socket;

    fn accept(&self) -> io::Result<Option<Accepted<Socket>>> {
        let (socket, peer) = self.socket.accept()?;
        socket.set_nonblocking(true)?;
        // Fails on an association that has already ended.
        let (Ok(streams), Ok(local)) = (kernel::outbound_streams(&socket), socket.local_addr())
        else {
            return Ok(None);
        };
        let socket = Arc::new(Socket::new(socket)?);
        Ok(Some(Accepted { socket, peer: known(peer)?, local: known(local)?, streams }))
    }

    async fn acceptable(&self) -> io::Result<()> {
        self.watched.readable().await?.clear_ready();
        Ok(())
    }

    fn local_addr(&self) -> SocketAddr {
        self.local
    }
}

/// The address as the standard library has it.
pub(super) fn known(address: SockAddr) -> io::Result<SocketAddr> {
    address
        .as_socket()
        .ok_or_else(|| io::Error::other("an SCTP socket with an address of an unknown family"))
}
