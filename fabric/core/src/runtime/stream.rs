//! Connections for tokio: the fabric's counterparts of `TcpStream` and `TcpListener`.
use super::Fabric;
use crate::link::sockets::{Connection, Listener, PORT_ATTEMPTS, random_port};
use crate::membership::{Membership, SERVE_TIMEOUT};
use crate::messages::Service;
use std::future::poll_fn;
use std::io::{Error, ErrorKind, IoSlice, Result};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

impl Fabric {
    /// Opens a connection to an address.
    ///
    /// # Errors
    /// `ConnectionRefused` if no process of the fabric listens there; `TimedOut` after
    /// `connect_ms`; `QuotaExceeded` at the limit of connections.
    ///
    /// # Cancel safety
    /// Dropping the future gives up the connection.
    pub async fn connect(&self, to: SocketAddr) -> Result<FabricStream> {
        let timeout = Duration::from_millis(self.config().connect_ms);
        let refused = || {
            Error::new(
                ErrorKind::ConnectionRefused,
                format!("no process of the fabric listens at {to}"),
            )
        };
        let connect = async {
            let (membership, authority) = (self.membership(), to.to_string());
            let route = poll_fn(|context| {
                membership.poll_route(Service::Connections, &authority, Instant::now(), context)
            });
            let link = route.await.ok_or_else(refused)?;
            let connection = FabricStream { connection: link.connect(to)?, _fabric: self.clone() };
            let opened = poll_fn(|context| connection.connection.poll_open(context)).await;
            if opened.is_err() {
                membership.invalidate_route(Service::Connections, &authority, &link);
            }
            opened.map(|()| connection)
        };
        let slow = |_| {
            Error::new(ErrorKind::TimedOut, format!("no connection to {to} within {timeout:?}"))
        };
        tokio::time::timeout(timeout, connect).await.map_err(slow)?
    }

    /// Opens a listener at an address. Port 0 selects a free port. It is not an error if the
    /// manager is not running.
    ///
    /// # Errors
    /// `AddrInUse` if another listener of the security domain has the address; `TimedOut` if the
    /// manager does not answer.
    pub async fn listen(&self, address: SocketAddr) -> Result<FabricListener> {
        if address.port() != 0 {
            return self.listen_at(address).await;
        }
        let mut outcome = Err(ErrorKind::AddrInUse.into());
        for _ in 0..PORT_ATTEMPTS {
            outcome = self.listen_at(SocketAddr::new(address.ip(), random_port())).await;
            if !matches!(&outcome, Err(error) if error.kind() == ErrorKind::AddrInUse) {
                break;
            }
        }
        outcome
    }

    async fn listen_at(&self, address: SocketAddr) -> Result<FabricListener> {
        let membership = self.membership().clone();
        let listener = FabricListener {
            listener: membership.listen(address)?,
            fabric: self.clone(),
            membership,
        };
        let authority = address.to_string();
        let served = poll_fn(|context| {
            listener.membership.poll_served(Service::Connections, &authority, context)
        });
        let slow = |_| {
            Error::new(
                ErrorKind::TimedOut,
                "the fabric manager does not answer: check that it runs",
            )
        };
        let served = tokio::time::timeout(SERVE_TIMEOUT, served).await.map_err(slow)?;
        served
            .map_err(|reason| Error::new(ErrorKind::AddrInUse, format!("{address}: {reason}")))?;
        Ok(listener)
    }
}

/// A connection over the fabric. Dropping it closes the connection: written data still arrives,
/// received data is discarded.
pub struct FabricStream {
    connection: Arc<Connection>,
    _fabric: Fabric,
}

impl FabricStream {
    /// This side's address.
    pub fn local_addr(&self) -> SocketAddr {
        self.connection.local_addr()
    }
    /// The peer's address.
    pub fn peer_addr(&self) -> SocketAddr {
        self.connection.peer_addr()
    }
    /// The user of the process at the other end, if the manager reports it.
    pub fn peer_user(&self) -> Option<u32> {
        self.connection.peer_user()
    }
}

impl Drop for FabricStream {
    fn drop(&mut self) {
        self.connection.close();
    }
}

impl std::fmt::Debug for FabricStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FabricStream({} to {})", self.local_addr(), self.peer_addr())
    }
}

impl AsyncRead for FabricStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        let read = self.connection.poll_read(context, buffer.initialize_unfilled());
        read.map_ok(|length| buffer.advance(length))
    }
}

impl AsyncWrite for FabricStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        self.connection.poll_write(context, bytes)
    }
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        self.connection.poll_write_vectored(context, parts)
    }
    fn is_write_vectored(&self) -> bool {
        true
    }
    /// Writes are not buffered.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(self.connection.shutdown_write())
    }
}

/// Accepts connections at an address until it is dropped.
pub struct FabricListener {
    listener: Arc<Listener>,
    membership: Arc<Membership>,
    fabric: Fabric,
}

impl FabricListener {
    /// The listener's address, with the selected port.
    pub fn local_addr(&self) -> SocketAddr {
        self.listener.address()
    }

    /// Accepts the next connection.
    ///
    /// # Cancel safety
    /// No connection is lost if the future is dropped.
    pub async fn accept(&self) -> Result<(FabricStream, SocketAddr)> {
        let connection = poll_fn(|context| self.listener.poll_accept(context)).await?;
        let peer = connection.peer_addr();
        Ok((FabricStream { connection, _fabric: self.fabric.clone() }, peer))
    }
}

impl Drop for FabricListener {
    fn drop(&mut self) {
        self.membership.unlisten(&self.listener);
    }
}
