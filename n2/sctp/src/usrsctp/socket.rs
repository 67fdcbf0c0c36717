//! The sockets of associations and listeners.
use super::addresses;
use super::endpoint::Endpoint;
use super::library;
use super::library_socket::LibrarySocket;
use super::raw_socket::Path;
use super::route::route;
use crate::socket::{self, Accepted, Listen, Read};
use crate::{AssociationRecord, Options};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

/// The socket of an association. Fields are dropped in this order, because closing the socket sends
/// an ABORT, which needs the peer and the endpoint.
pub(crate) struct Socket {
    library_socket: Arc<LibrarySocket>,
    peer: PeerReference,
    endpoint: Arc<Endpoint>,
}

/// A reference to a peer in the address table while its association exists.
pub(super) struct PeerReference {
    endpoint: u16,
    peer: u16,
    path: Path,
}

impl PeerReference {
    pub(super) fn new(endpoint: u16, peer: u16) -> Option<PeerReference> {
        let path = addresses::lock().reference(endpoint, peer)?;
        Some(PeerReference { endpoint, peer, path })
    }
}

impl Drop for PeerReference {
    fn drop(&mut self) {
        addresses::lock().dereference(self.endpoint, self.peer);
    }
}

impl Socket {
    pub(super) fn new(
        library_socket: Arc<LibrarySocket>,
        peer: PeerReference,
        endpoint: Arc<Endpoint>,
    ) -> Socket {
        Socket { library_socket, peer, endpoint }
    }

    /// What a successor of this process needs to abort the association.
    pub(crate) fn record(&self) -> Option<AssociationRecord> {
        let peer = &self.peer;
        let tag = addresses::lock().tag(peer.endpoint, peer.peer)?;
        let local = SocketAddr::new(peer.path.local, self.endpoint.port());
        Some(AssociationRecord { local, peer: peer.path.remote, tag })
    }

    /// Its local address.
    pub(super) fn local(&self) -> SocketAddr {
        SocketAddr::new(self.endpoint.local, self.endpoint.port())
    }
}

impl socket::Socket for Socket {
    fn send(&self, stream: u16, ppid: u32, data: &[u8]) -> io::Result<()> {
        let mut library = library::lock();
        let sent = self.library_socket.send(&mut library, stream, ppid, data);
        if matches!(&sent, Err(error) if error.kind() == io::ErrorKind::WouldBlock) {
            self.library_socket.wait_to_write();
        }
        sent
    }

    fn read(&self, message: &mut Vec<u8>) -> io::Result<Read> {
        library::lock().read(&self.library_socket, message)
    }

    async fn readable(&self) -> io::Result<()> {
        self.library_socket.readable.notified().await;
        Ok(())
    }

    async fn writable(&self) -> io::Result<()> {
        self.library_socket.writable.notified().await;
        Ok(())
    }

    fn unacknowledged(&self) -> io::Result<u16> {
        self.library_socket.unacknowledged(&mut library::lock())
    }

    fn shutdown(&self) -> io::Result<()> {
        self.library_socket.shutdown(&mut library::lock())
    }

    fn abort(&self) {
        self.library_socket.abort(&mut library::lock());
        self.library_socket.wait_to_write();
        self.library_socket.wake(true, true);
    }
}

/// A listening socket.
pub(crate) struct ListeningSocket {
    // First, so that it is closed before its port is released.
    library_socket: Arc<LibrarySocket>,
    endpoint: Arc<Endpoint>,
    options: Options,
}

impl ListeningSocket {
    pub(super) fn new(
        library_socket: Arc<LibrarySocket>,
        endpoint: Arc<Endpoint>,
        options: Options,
    ) -> ListeningSocket {
        ListeningSocket { library_socket, endpoint, options }
    }
}

impl Listen for ListeningSocket {
    type Socket = Socket;

    fn accept(&self) -> io::Result<Option<Accepted<Socket>>> {
        let mut library = library::lock();
        let (handle, peer) = self.library_socket.accept(&mut library)?;
        let Some(peer) = PeerReference::new(self.endpoint.inner_port, peer) else {
            handle.close(&mut library);
            return Ok(None);
        };
        let path = peer.path;
        let streams = handle.streams(&mut library);
        let fits = route(Some(path.local), path.remote.ip())
            .and_then(|route| Ok(handle.set_mtu(&mut library, &self.options, route.mtu)?));
        if let Err(error) = fits
            && let Some(suppressed) = martlet_log_limit::line("path_mtu", path.remote.ip())
        {
            tracing::warn!(
                peer = %path.remote, %error, suppressed,
                "path MTU of an SCTP peer not set"
            );
        }
        let library_socket = library::register(handle, &mut library)?;
        drop(library);
        let socket = Arc::new(Socket::new(library_socket, peer, self.endpoint.clone()));
        let local = SocketAddr::new(path.local, self.endpoint.port());
        Ok(streams.ok().map(|(streams, _)| Accepted { socket, peer: path.remote, local, streams }))
    }

    async fn acceptable(&self) -> io::Result<()> {
        self.library_socket.readable.notified().await;
        Ok(())
    }

    fn local_addr(&self) -> SocketAddr {
        SocketAddr::new(self.endpoint.local, self.endpoint.port())
    }
}
