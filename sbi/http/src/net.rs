//! What HTTP runs over: anything that listens, and anything that connects to an authority.
use martlet_fabric::{Fabric, FabricListener, FabricStream};
use martlet_sbi::BoxFuture;
use std::future::Future;
use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

/// Octets in both directions.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin + 'static> Stream for S {}

/// Where connections come in.
pub trait Listen: Send + Sync + 'static {
    /// A connection.
    type Stream: Stream;
    /// The next connection.
    fn accept(&self) -> impl Future<Output = Result<Self::Stream>> + Send;
}

impl Listen for TcpListener {
    type Stream = TcpStream;
    async fn accept(&self) -> Result<TcpStream> {
        let (stream, _) = TcpListener::accept(self).await?;
        let _ = stream.set_nodelay(true);
        Ok(stream)
    }
}

impl Listen for UnixListener {
    type Stream = UnixStream;
    async fn accept(&self) -> Result<UnixStream> {
        Ok(UnixListener::accept(self).await?.0)
    }
}

impl Listen for FabricListener {
    type Stream = FabricStream;
    async fn accept(&self) -> Result<FabricStream> {
        Ok(FabricListener::accept(self).await?.0)
    }
}

/// How a client reaches an authority. Errors mean that nothing was sent.
pub trait Dial: Send + Sync {
    /// A connection to a host and port.
    fn dial<'a>(&'a self, authority: &'a str) -> BoxFuture<'a, Result<Box<dyn Stream>>>;
}

/// Over TCP.
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

/// Over one unix socket, whatever the authority.
#[derive(Debug, Clone)]
pub struct Unix(pub PathBuf);

impl Dial for Unix {
    fn dial<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Box<dyn Stream>>> {
        Box::pin(
            async move { Ok(Box::new(UnixStream::connect(&self.0).await?) as Box<dyn Stream>) },
        )
    }
}

/// How long a connection over the fabric may take, which is made within microseconds where all is
/// well.
const PATIENCE: Duration = Duration::from_millis(300);

/// Over the fabric's sockets where somebody of the fabric listens at the authority, else another
/// way.
#[derive(Clone)]
pub struct OverFabric {
    fabric: Fabric,
    next: Option<Arc<dyn Dial>>,
}

impl OverFabric {
    /// Over a process's part in the fabric.
    pub fn new(fabric: Fabric) -> Self {
        OverFabric { fabric, next: None }
    }

    /// Authorities at which nobody of the fabric listens are reached this way.
    pub fn with_next(mut self, next: Arc<dyn Dial>) -> Self {
        self.next = Some(next);
        self
    }

    async fn connect(&self, authority: &str) -> Result<Box<dyn Stream>> {
        let failed = match authority.parse::<SocketAddr>() {
            // Another way has to have its time, too, where a manager or a listener does not answer.
            Ok(address) => match tokio::time::timeout(PATIENCE, self.fabric.connect(address)).await
            {
                Ok(Ok(stream)) => return Ok(Box::new(stream)),
                Ok(Err(error)) => error,
                Err(_) => Error::new(
                    ErrorKind::TimedOut,
                    format!("no connection over the fabric within {PATIENCE:?}"),
                ),
            },
            // Names are for those who can look them up.
            Err(_) => {
                Error::new(ErrorKind::ConnectionRefused, "the fabric has addresses, and no names")
            }
        };
        match &self.next {
            // Nothing was sent, whatever it was.
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
