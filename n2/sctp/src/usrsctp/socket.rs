//! The sockets of this stack, as associations and listeners want them.
use super::core::Core;
use super::endpoint::Endpoint;
use super::gate;
use super::route::route;
use super::tables::{self, Path};
use crate::Options;
use crate::socket::{self, Accepted, Listen, Read};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

/// The socket of an association with what it needs to send. Dropped in this order: the ABORT of a
/// socket that is closed still has to find its way.
pub(crate) struct Socket {
    core: Arc<Core>,
    _pin: Pin,
    endpoint: Arc<Endpoint>,
}

/// A peer that is remembered while its association lives.
pub(super) struct Pin {
    endpoint: u16,
    peer: u16,
    path: Path,
}

impl Pin {
    pub(super) fn new(endpoint: u16, peer: u16) -> Option<Pin> {
        let path = tables::lock().pin(endpoint, peer)?;
        Some(Pin { endpoint, peer, path })
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        tables::lock().unpin(self.endpoint, self.peer);
    }
}

impl Socket {
    pub(super) fn new(core: Arc<Core>, pin: Pin, endpoint: Arc<Endpoint>) -> Socket {
        Socket { core, _pin: pin, endpoint }
    }

    /// Its local address.
    pub(super) fn local(&self) -> SocketAddr {
        SocketAddr::new(self.endpoint.local, self.endpoint.port())
    }
}

impl socket::Socket for Socket {
    fn send(&self, stream: u16, ppid: u32, data: &[u8]) -> io::Result<()> {
        let mut gate = gate::enter();
        let sent = self.core.send(&mut gate, stream, ppid, data);
        if matches!(&sent, Err(error) if error.kind() == io::ErrorKind::WouldBlock) {
            self.core.wait_to_write();
        }
        sent
    }

    fn read(&self, message: &mut Vec<u8>) -> io::Result<Read> {
        gate::enter().read(&self.core, message)
    }

    async fn readable(&self) -> io::Result<()> {
        self.core.readable.notified().await;
        Ok(())
    }

    async fn writable(&self) -> io::Result<()> {
        self.core.writable.notified().await;
        Ok(())
    }

    fn shutdown(&self) -> io::Result<()> {
        self.core.shutdown(&mut gate::enter())
    }

    fn abort(&self) {
        self.core.abort(&mut gate::enter());
        self.core.wait_to_write();
        self.core.signal(true, true);
    }
}

/// A listening socket.
pub(crate) struct ListeningSocket {
    // First, so that it is closed before its port goes.
    core: Arc<Core>,
    endpoint: Arc<Endpoint>,
    options: Options,
}

impl ListeningSocket {
    pub(super) fn new(
        core: Arc<Core>,
        endpoint: Arc<Endpoint>,
        options: Options,
    ) -> ListeningSocket {
        ListeningSocket { core, endpoint, options }
    }
}

impl Listen for ListeningSocket {
    type Socket = Socket;

    fn accept(&self) -> io::Result<Option<Accepted<Socket>>> {
        let mut gate = gate::enter();
        let (handle, peer) = self.core.accept(&mut gate)?;
        let Some(pin) = Pin::new(self.endpoint.inner_port, peer) else {
            handle.close(&mut gate);
            return Ok(None);
        };
        let path = pin.path;
        let streams = handle.streams(&mut gate);
        let fits = route(Some(path.local), path.remote.ip())
            .and_then(|route| Ok(handle.set_mtu(&mut gate, &self.options, route.mtu)?));
        if let Err(error) = fits {
            tracing::warn!(peer = %path.remote, %error, "cannot tell the size of packets to an SCTP peer");
        }
        let core = Core::new(handle, &mut gate)?;
        drop(gate);
        let socket = Arc::new(Socket::new(core, pin, self.endpoint.clone()));
        let local = SocketAddr::new(path.local, self.endpoint.port());
        Ok(streams.ok().map(|(streams, _)| Accepted { socket, peer: path.remote, local, streams }))
    }

    async fn acceptable(&self) -> io::Result<()> {
        self.core.readable.notified().await;
        Ok(())
    }

    fn local_addr(&self) -> SocketAddr {
        SocketAddr::new(self.endpoint.local, self.endpoint.port())
    }
}
