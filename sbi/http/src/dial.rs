//! The transports of HTTP: traits for listening and connecting, and their implementations for TCP,
//! unix sockets and the fabric.
use martlet_fabric::{Fabric, FabricListener, FabricStream};
use martlet_sbi::BoxFuture;
use std::future::Future;
use std::io::{Error, ErrorKind, Result};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

/// A byte stream in both directions.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin + 'static> Stream for S {}

/// Accepts connections.
pub trait Listen: Send + Sync + 'static {
    /// The type of a connection.
    type Stream: Stream;
    /// Accepts the next connection.
    fn accept(&self) -> impl Future<Output = Result<Self::Stream>> + Send;
    /// The address of a connection's peer, if it has one.
    fn peer(_: &Self::Stream) -> Option<IpAddr> {
        None
    }
    /// The user of the process at the other end of a connection, on this machine.
    fn user(_: &Self::Stream) -> Option<u32> {
        None
    }
}

impl Listen for TcpListener {
    type Stream = TcpStream;
    async fn accept(&self) -> Result<TcpStream> {
        let (stream, _) = TcpListener::accept(self).await?;
        let _ = stream.set_nodelay(true);
        Ok(stream)
    }
    fn peer(stream: &TcpStream) -> Option<IpAddr> {
        stream.peer_addr().ok().map(|address| address.ip())
    }
}

impl Listen for UnixListener {
    type Stream = UnixStream;
    async fn accept(&self) -> Result<UnixStream> {
        Ok(UnixListener::accept(self).await?.0)
    }
    fn user(stream: &UnixStream) -> Option<u32> {
        stream.peer_cred().ok().map(|peer| peer.uid())
    }
}

impl Listen for FabricListener {
    type Stream = FabricStream;
    async fn accept(&self) -> Result<FabricStream> {
        Ok(FabricListener::accept(self).await?.0)
    }
    fn user(stream: &FabricStream) -> Option<u32> {
        stream.peer_user()
    }
}

/// Opens connections. After an error nothing was sent.
pub trait Dial: Send + Sync {
    /// Opens a connection to a host and port.
    fn dial<'a>(&'a self, authority: &'a str) -> BoxFuture<'a, Result<Box<dyn Stream>>>;
}

/// Connects over TCP.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tcp;

impl Dial for Tcp {
    fn dial<'a>(&'a self, authority: &'a str) -> BoxFuture<'a, Result<Box<dyn Stream>>> {
        Box::pin(async move {
            let stream = TcpStream::connect(authority).await?;
            let _ = stream.set_nodelay(true);
            Ok(Box::new(stream) as Box<dyn Stream>)
        })
    }
}

/// Connects to one unix socket, for all authorities.
#[derive(Debug, Clone)]
pub struct Unix(pub PathBuf);

impl Dial for Unix {
    fn dial<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Box<dyn Stream>>> {
        Box::pin(
            async move { Ok(Box::new(UnixStream::connect(&self.0).await?) as Box<dyn Stream>) },
        )
    }
}

/// Timeout of connecting over the fabric, which normally takes microseconds.
const FABRIC_TIMEOUT: Duration = Duration::from_millis(300);

/// Connects over the fabric if one of its processes listens at the authority, else over the next
/// transport.
#[derive(Clone)]
pub struct OverFabric {
    fabric: Fabric,
    next: Option<Arc<dyn Dial>>,
}

impl OverFabric {
    /// Connects over a process's membership in the fabric.
    pub fn new(fabric: Fabric) -> Self {
        OverFabric { fabric, next: None }
    }

    /// Sets the transport for authorities outside the fabric.
    pub fn with_next(mut self, next: Arc<dyn Dial>) -> Self {
        self.next = Some(next);
        self
    }

    async fn connect(&self, authority: &str) -> Result<Box<dyn Stream>> {
        let failed = match authority.parse::<SocketAddr>() {
            // Bounded, to leave time for the next transport if a manager or a listener hangs.
            Ok(address) => {
                match tokio::time::timeout(FABRIC_TIMEOUT, self.fabric.connect(address)).await {
                    Ok(Ok(stream)) => return Ok(Box::new(stream)),
                    Ok(Err(error)) => error,
                    Err(_) => Error::new(
                        ErrorKind::TimedOut,
                        format!("no connection over the fabric within {FABRIC_TIMEOUT:?}"),
                    ),
                }
            }
            // The next transport can resolve names.
            Err(_) => Error::new(
                ErrorKind::ConnectionRefused,
                "the fabric has no host names: use an address",
            ),
        };
        match &self.next {
            Some(next) => next.dial(authority).await,
            None => Err(failed),
        }
    }
}

impl Dial for OverFabric {
    fn dial<'a>(&'a self, authority: &'a str) -> BoxFuture<'a, Result<Box<dyn Stream>>> {
        Box::pin(self.connect(authority))
    }
}
