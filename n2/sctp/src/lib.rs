//! N2 transport: SCTP (RFC 9260) from the kernel where it has it, else from user space over raw IP
//! protocol 132.
//!
//! ```no_run
//! # async fn example() -> Result<(), martlet_sctp::SctpError> {
//! use martlet_sctp::{Options, PPID_NGAP, SctpStack, StackChoice};
//! let stack = SctpStack::open(StackChoice::Auto)?;
//! let amf = "127.0.0.5:38412".parse().expect("an address");
//! let association = stack.connect(None, amf, &Options::default()).await?;
//! association.send(0, PPID_NGAP, "NG setup".into()).await?;
//! while let Some(message) = association.recv().await? {
//!     println!("stream {}: {} octets", message.stream, message.data.len());
//! }
//! # Ok(()) }
//! ```
use bytes::Bytes;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

mod association;
mod error;
mod ffi;
mod kernel;
mod listener;
mod metrics;
mod options;
mod socket;
#[cfg(feature = "usrsctp")]
mod usrsctp;

pub use error::SctpError;
pub use options::Options;

/// Payload protocol identifier of NGAP (TS 38.412, 7).
pub const PPID_NGAP: u32 = 60;
/// SCTP's number in the IP header.
pub(crate) const IPPROTO_SCTP: i32 = 132;

/// Which implementation of SCTP to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StackChoice {
    /// The kernel's where it has one, else the one in user space.
    #[default]
    Auto,
    /// The kernel's.
    Kernel,
    /// `usrsctp` on raw IP protocol 132.
    Usrsctp,
}

/// One SCTP implementation, opened. It belongs to the tokio runtime in which it is first used.
#[derive(Clone)]
pub struct SctpStack(Kind);

#[derive(Clone)]
enum Kind {
    Kernel(Arc<kernel::Stack>),
    #[cfg(feature = "usrsctp")]
    Usrsctp(Arc<usrsctp::Stack>),
}

/// A listening endpoint. Closed when dropped; associations already accepted live on.
pub struct Listener(ListenerKind);

enum ListenerKind {
    Kernel(listener::Listener<kernel::ListeningSocket>),
    #[cfg(feature = "usrsctp")]
    Usrsctp(listener::Listener<usrsctp::ListeningSocket>),
}

/// An association; clones share it. When the last one is dropped without
/// [`shutdown`](Association::shutdown), the association is aborted.
#[derive(Clone)]
pub struct Association(AssociationKind);

#[derive(Clone)]
enum AssociationKind {
    Kernel(association::Association<kernel::Socket>),
    #[cfg(feature = "usrsctp")]
    Usrsctp(association::Association<usrsctp::Socket>),
}

/// Does the same with whichever stack there is.
macro_rules! either {
    ($of:ident, $on:expr, $it:ident => $does:expr) => {
        match $on {
            $of::Kernel($it) => $does,
            #[cfg(feature = "usrsctp")]
            $of::Usrsctp($it) => $does,
        }
    };
}

/// A message with its stream and payload protocol identifier (host byte order).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Stream on which it came.
    pub stream: u16,
    /// Payload protocol identifier.
    pub ppid: u32,
    /// The octets.
    pub data: Bytes,
}

impl SctpStack {
    /// Opens the implementation asked for, and logs which it is and why.
    ///
    /// # Errors
    /// [`SctpError::Unavailable`] if the kernel has no SCTP and it was asked for,
    /// [`SctpError::NeedsRawSocket`] if the stack in user space is not permitted its raw
    /// socket.
    pub fn open(choice: StackChoice) -> Result<SctpStack, SctpError> {
        let kind = match choice {
            StackChoice::Auto => choose()?,
            StackChoice::Kernel => {
                let stack =
                    kernel::Stack::open().map_err(|_| SctpError::Unavailable(NO_KERNEL_SCTP))?;
                opened("kernel", "asked for");
                Kind::Kernel(Arc::new(stack))
            }
            StackChoice::Usrsctp => {
                let kind = user_space()?;
                opened("usrsctp", "asked for");
                kind
            }
        };
        Ok(SctpStack(kind))
    }

    /// `"kernel"` or `"usrsctp"`.
    pub fn kind(&self) -> &'static str {
        match &self.0 {
            Kind::Kernel(_) => "kernel",
            #[cfg(feature = "usrsctp")]
            Kind::Usrsctp(_) => "usrsctp",
        }
    }

    /// Listens on `port` of these local addresses; on all IPv4 addresses if there is none. Port 0
    /// takes a free one.
    ///
    /// Several addresses make the endpoint multi-homed with the kernel's stack; the one in user
    /// space takes the first and says so in the log.
    ///
    /// # Errors
    /// The address is not one of the machine, the port is in use, or an option is out of range.
    pub async fn listen(
        &self,
        local: &[IpAddr],
        port: u16,
        options: &Options,
    ) -> Result<Listener, SctpError> {
        options.check()?;
        Ok(Listener(match &self.0 {
            Kind::Kernel(stack) => ListenerKind::Kernel(stack.listen(local, port, options).await?),
            #[cfg(feature = "usrsctp")]
            Kind::Usrsctp(stack) => {
                ListenerKind::Usrsctp(stack.listen(local, port, options).await?)
            }
        }))
    }

    /// Sets up an association with `remote`, from `local` if given (port 0 takes a free one).
    ///
    /// # Errors
    /// [`SctpError::Refused`], [`SctpError::ConnectTimeout`], no route, the port is in use, an
    /// option is out of range.
    pub async fn connect(
        &self,
        local: Option<SocketAddr>,
        remote: SocketAddr,
        options: &Options,
    ) -> Result<Association, SctpError> {
        options.check()?;
        Ok(Association(match &self.0 {
            Kind::Kernel(stack) => {
                AssociationKind::Kernel(stack.connect(local, remote, options).await?)
            }
            #[cfg(feature = "usrsctp")]
            Kind::Usrsctp(stack) => {
                AssociationKind::Usrsctp(stack.connect(local, remote, options).await?)
            }
        }))
    }
}

const NO_KERNEL_SCTP: &str = "this kernel has no SCTP (or its module is not loaded: modprobe \
                              sctp); take the stack `usrsctp` or `auto`";

fn opened(stack: &str, reason: &str) {
    tracing::info!(stack, reason, "SCTP stack opened");
}

/// The kernel's stack if there is one, else the one in user space.
fn choose() -> Result<Kind, SctpError> {
    match kernel::Stack::open() {
        Ok(stack) => {
            opened("kernel", "the kernel has SCTP");
            Ok(Kind::Kernel(Arc::new(stack)))
        }
        Err(error) => {
            let kind = user_space()?;
            opened("usrsctp", &format!("the kernel has no SCTP: {error}"));
            Ok(kind)
        }
    }
}

#[cfg(feature = "usrsctp")]
fn user_space() -> Result<Kind, SctpError> {
    Ok(Kind::Usrsctp(Arc::new(usrsctp::Stack::open()?)))
}

#[cfg(not(feature = "usrsctp"))]
fn user_space() -> Result<Kind, SctpError> {
    Err(SctpError::Unavailable(
        "this program was built without the SCTP stack in user space: load the kernel's (modprobe \
         sctp), or build with the feature `usrsctp`",
    ))
}

impl Listener {
    /// The next association. Give its future up and call again as you like.
    ///
    /// # Errors
    /// The operating system refused. Errors of single associations are not reported here.
    pub async fn accept(&self) -> Result<Association, SctpError> {
        Ok(Association(match &self.0 {
            ListenerKind::Kernel(listener) => AssociationKind::Kernel(listener.accept().await?),
            #[cfg(feature = "usrsctp")]
            ListenerKind::Usrsctp(listener) => AssociationKind::Usrsctp(listener.accept().await?),
        }))
    }

    /// The (first) address and the port it listens on.
    pub fn local_addr(&self) -> SocketAddr {
        either!(ListenerKind, &self.0, it => it.local_addr())
    }
}

impl Association {
    /// The peer's (primary) address and port.
    pub fn peer_addr(&self) -> SocketAddr {
        either!(AssociationKind, &self.0, it => it.peer_addr())
    }

    /// The (first) local address and port.
    pub fn local_addr(&self) -> SocketAddr {
        either!(AssociationKind, &self.0, it => it.local_addr())
    }

    /// Outbound streams agreed on.
    pub fn streams(&self) -> u16 {
        either!(AssociationKind, &self.0, it => it.streams())
    }

    /// Sends a message, in order within its stream. Many tasks may send at once. Waits while the
    /// send buffer is full.
    ///
    /// # Errors
    /// [`SctpError::MessageTooLarge`], [`SctpError::EmptyMessage`] and [`SctpError::NoSuchStream`]
    /// leave the association as it was; with any other error it has ended.
    pub async fn send(&self, stream: u16, ppid: u32, data: Bytes) -> Result<(), SctpError> {
        either!(AssociationKind, &self.0, it => it.send(stream, ppid, data).await)
    }

    /// The next message; `Ok(None)` after an orderly shutdown by either side. Give its future up
    /// and call again as you like: no message is lost. Once it has told the end, it tells the
    /// same for ever.
    ///
    /// # Errors
    /// [`SctpError::PeerAborted`], [`SctpError::PathFailed`], [`SctpError::PeerRestarted`] (the new
    /// association waits in [`Listener::accept`]), [`SctpError::MessageTooLarge`] (and the
    /// association is aborted), [`SctpError::Closed`] after [`abort`](Association::abort).
    pub async fn recv(&self) -> Result<Option<Message>, SctpError> {
        either!(AssociationKind, &self.0, it => it.recv().await)
    }

    /// Orderly shutdown: what was sent is delivered first. Returns when the peer has agreed, or
    /// when [`Options::shutdown_timeout`] has passed and the association was aborted. Messages
    /// that nobody has received by then are dropped.
    pub async fn shutdown(&self) {
        either!(AssociationKind, &self.0, it => it.shutdown().await)
    }

    /// Ends the association at once and tells the peer with ABORT.
    pub fn abort(&self) {
        either!(AssociationKind, &self.0, it => it.abort())
    }
}
