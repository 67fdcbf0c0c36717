//! Connections for tokio: what `TcpStream` and `TcpListener` are to TCP.
use super::Fabric;
use crate::messages::Service;
use crate::process::{LISTEN_PATIENCE, Process};
use crate::sockets::{Connection, Listener};
use std::future::poll_fn;
use std::io::{Error, ErrorKind, IoSlice, Result};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Port numbers that are tried for port 0.
const TRIES: u16 = 16;

impl Fabric {
    /// Connects to who listens at an address of the fabric.
    pub async fn connect(&self, to: SocketAddr) -> Result<FabricStream> {
        let longest = Duration::from_millis(self.config().connect_ms);
        let refused = || {
            Error::new(
                ErrorKind::ConnectionRefused,
                format!("nobody of the fabric listens at {to}"),
            )
        };
        let connect = async {
            let (process, authority) = (self.process(), to.to_string());
            let way = poll_fn(|context| {
                process.poll_way(Service::Connections, &authority, Instant::now(), context)
            });
            let link = way.await.ok_or_else(refused)?;
            let connection = FabricStream { connection: link.connect(to)?, _fabric: self.clone() };
            let opened = poll_fn(|context| connection.connection.poll_open(context)).await;
            if opened.is_err() {
                process.mistaken(Service::Connections, &authority, &link);
            }
            opened.map(|()| connection)
        };
        let slow = |_| {
            Error::new(ErrorKind::TimedOut, format!("no connection to {to} within {longest:?}"))
        };
        tokio::time::timeout(longest, connect).await.map_err(slow)?
    }

    /// Listens at an address of the fabric; port 0 becomes a free one. It is no error if there is
    /// no manager yet.
    pub async fn listen(&self, address: SocketAddr) -> Result<FabricListener> {
        if address.port() != 0 {
            return self.listen_at(address).await;
        }
        let mut outcome = Err(ErrorKind::AddrInUse.into());
        for _ in 0..TRIES {
            outcome = self.listen_at(SocketAddr::new(address.ip(), some_port())).await;
            if !matches!(&outcome, Err(error) if error.kind() == ErrorKind::AddrInUse) {
                break;
            }
        }
        outcome
    }

    async fn listen_at(&self, address: SocketAddr) -> Result<FabricListener> {
        let process = self.process().clone();
        let listener =
            FabricListener { listener: process.listen(address)?, fabric: self.clone(), process };
        let authority = address.to_string();
        let served = poll_fn(|context| {
            listener.process.poll_served(Service::Connections, &authority, context)
        });
        let slow = |_| Error::new(ErrorKind::TimedOut, "the fabric's manager does not answer");
        let served = tokio::time::timeout(LISTEN_PATIENCE, served).await.map_err(slow)?;
        served.map_err(|reason| {
            Error::new(ErrorKind::AddrInUse, format!("{address} of the fabric: {reason}"))
        })?;
        Ok(listener)
    }
}

/// A port of the range for private use, seldom the same one twice.
pub(crate) fn some_port() -> u16 {
    use std::hash::{BuildHasher, RandomState};
    49152 + (RandomState::new().hash_one(std::process::id()) % 16384) as u16
}

/// A connection over the fabric. To drop it is to close it: what was written arrives, what comes is
/// unwanted.
pub struct FabricStream {
    connection: Arc<Connection>,
    _fabric: Fabric,
}

impl FabricStream {
    /// This side's address.
    pub fn local_addr(&self) -> SocketAddr {
        self.connection.local_addr()
    }
    /// The other side's address.
    pub fn peer_addr(&self) -> SocketAddr {
        self.connection.peer_addr()
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
        octets: &[u8],
    ) -> Poll<Result<usize>> {
        self.connection.poll_write(context, octets)
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
    /// Nothing is held back.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(Ok(()))
    }
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<()>> {
        Poll::Ready(self.connection.shut_down())
    }
}

/// Takes connections at an address of the fabric until it is dropped.
pub struct FabricListener {
    listener: Arc<Listener>,
    process: Arc<Process>,
    fabric: Fabric,
}

impl FabricListener {
    /// Its address, with the port that port 0 became.
    pub fn local_addr(&self) -> SocketAddr {
        self.listener.address()
    }

    /// The next connection.
    pub async fn accept(&self) -> Result<(FabricStream, SocketAddr)> {
        let connection = poll_fn(|context| self.listener.poll_accept(context)).await?;
        let peer = connection.peer_addr();
        Ok((FabricStream { connection, _fabric: self.fabric.clone() }, peer))
    }
}

impl Drop for FabricListener {
    fn drop(&mut self) {
        self.process.unlisten(&self.listener);
    }
}
