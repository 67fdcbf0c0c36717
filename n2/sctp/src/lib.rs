#![doc = include_str!("../README.md")]
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

/// The SCTP implementation to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StackChoice {
    /// The kernel's if it has one, else `usrsctp`.
    #[default]
    Auto,
    /// The kernel's.
    Kernel,
    /// `usrsctp` on raw IP protocol 132.
    Usrsctp,
}

/// An open SCTP implementation. It belongs to the tokio runtime in which it is first used.
#[derive(Clone)]
pub struct SctpStack(Kind);

#[derive(Clone)]
enum Kind {
    Kernel(Arc<kernel::Stack>),
    #[cfg(feature = "usrsctp")]
    Usrsctp(Arc<usrsctp::Stack>),
}

/// A listening endpoint. Dropping it closes the endpoint; accepted associations continue.
pub struct Listener(ListenerKind);

enum ListenerKind {
    Kernel(listener::Listener<kernel::ListeningSocket>),
    #[cfg(feature = "usrsctp")]
    Usrsctp(listener::Listener<usrsctp::ListeningSocket>),
}

/// An association. Clones share it. Dropping the last one without
/// [`shutdown`](Association::shutdown) aborts the association.
#[derive(Clone)]
pub struct Association(AssociationKind);

#[derive(Clone)]
enum AssociationKind {
    Kernel(association::Association<kernel::Socket>),
    #[cfg(feature = "usrsctp")]
    Usrsctp(association::Association<usrsctp::Socket>),
}

/// Evaluates an expression for the stack in use.
macro_rules! either {
    ($of:ident, $on:expr, $it:ident => $call:expr) => {
        match $on {
            $of::Kernel($it) => $call,
            #[cfg(feature = "usrsctp")]
            $of::Usrsctp($it) => $call,
        }
    };
}

/// What identifies an association of the user-space stack to its peer. A process that stores it
/// lets its successor abort the association: see [`SctpStack::abort_former`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AssociationRecord {
    /// The local address and port.
    pub local: SocketAddr,
    /// The peer's address and port.
    pub peer: SocketAddr,
    /// The peer's verification tag (RFC 9260, 3.1).
    pub tag: u32,
}

/// A message with its stream and payload protocol identifier (host byte order).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Stream.
    pub stream: u16,
    /// Payload protocol identifier.
    pub ppid: u32,
    /// Content.
    pub data: Bytes,
}

impl SctpStack {
    /// Opens an implementation and logs which one and why.
    ///
    /// # Errors
    /// [`SctpError::Unavailable`] if [`StackChoice::Kernel`] is requested and the kernel has no
    /// SCTP, [`SctpError::NeedsRawSocket`] if `usrsctp` may not open a raw socket.
    pub fn open(choice: StackChoice) -> Result<SctpStack, SctpError> {
        let kind = match choice {
            StackChoice::Auto => choose()?,
            StackChoice::Kernel => {
                let stack =
                    kernel::Stack::open().map_err(|_| SctpError::Unavailable(NO_KERNEL_SCTP))?;
                opened("kernel", "requested");
                Kind::Kernel(Arc::new(stack))
            }
            StackChoice::Usrsctp => {
                let kind = user_space()?;
                opened("usrsctp", "requested");
                warn_beside_kernel();
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

    /// Listens on `port` of these local addresses, or of all IPv4 addresses if the list is empty.
    /// Port 0 selects a free port.
    ///
    /// With several addresses the kernel's stack is multi-homed; `usrsctp` uses the first one and
    /// logs a warning.
    ///
    /// # Errors
    /// The address is not local, the port is in use, or an option is out of range.
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

    /// Sends ABORT to the peers of a former process that was killed. A peer that has the
    /// association still ends it at once; to others the tag is wrong, and they ignore the packet
    /// (RFC 9260, 8.5.1). Returns how many were sent. The kernel's stack sends none: the kernel
    /// aborts the associations of a process that ends.
    ///
    /// A peer would otherwise notice at its next heartbeat or message, which is answered with ABORT
    /// (RFC 9260, 8.4): with the usual interval of 30 seconds, after a minute.
    pub fn abort_former(&self, records: &[AssociationRecord]) -> usize {
        match &self.0 {
            Kind::Kernel(_) => 0,
            #[cfg(feature = "usrsctp")]
            Kind::Usrsctp(_) => usrsctp::abort_former(records),
        }
    }

    /// Sets up an association with `remote`, from `local` if given (port 0 selects a free port).
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
                              sctp); use the stack `usrsctp` or `auto`";

fn opened(stack: &str, reason: &str) {
    tracing::info!(stack, reason, "SCTP stack opened");
}

/// The kernel's SCTP answers packets for an endpoint that it does not have with ABORT (RFC 9260,
/// 8.4). It sees each packet that the user-space stack sees.
fn warn_beside_kernel() {
    if std::path::Path::new("/proc/net/sctp").exists() {
        tracing::warn!(
            "the kernel's SCTP is loaded and aborts the associations of the user-space stack: use \
             the stack `auto` or `kernel`, or unload the module sctp"
        );
    }
}

/// The kernel's stack if it has one, else `usrsctp`.
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
        "this program was built without the user-space SCTP stack: load the kernel's (modprobe \
         sctp), or build with the feature `usrsctp`",
    ))
}

impl Listener {
    /// The next association.
    ///
    /// # Cancel safety
    /// Dropping the future loses no association.
    ///
    /// # Errors
    /// An error of the operating system. Errors of single associations are not reported here.
    pub async fn accept(&self) -> Result<Association, SctpError> {
        Ok(Association(match &self.0 {
            ListenerKind::Kernel(listener) => AssociationKind::Kernel(listener.accept().await?),
            #[cfg(feature = "usrsctp")]
            ListenerKind::Usrsctp(listener) => AssociationKind::Usrsctp(listener.accept().await?),
        }))
    }

    /// The (first) local address and the port.
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

    /// What a successor of this process needs to abort the association, if this process is killed;
    /// `None` with the kernel's stack.
    pub fn record(&self) -> Option<AssociationRecord> {
        match &self.0 {
            AssociationKind::Kernel(_) => None,
            #[cfg(feature = "usrsctp")]
            AssociationKind::Usrsctp(it) => it.socket().record(),
        }
    }

    /// Whether packets of the peer were accepted without a checksum (user-space stack; see
    /// [`Options::missing_checksums`]).
    pub fn omits_checksums(&self) -> bool {
        match &self.0 {
            AssociationKind::Kernel(_) => false,
            #[cfg(feature = "usrsctp")]
            AssociationKind::Usrsctp(it) => {
                usrsctp::omits_checksums(it.peer_addr().ip().to_canonical())
            }
        }
    }

    /// Number of outbound streams that were negotiated.
    pub fn streams(&self) -> u16 {
        either!(AssociationKind, &self.0, it => it.streams())
    }

    /// Sends a message, ordered within its stream. Several tasks may send at once. Waits while the
    /// send buffer is full.
    ///
    /// # Errors
    /// [`SctpError::MessageTooLarge`], [`SctpError::EmptyMessage`] and [`SctpError::NoSuchStream`]
    /// do not affect the association; any other error ends it.
    pub async fn send(&self, stream: u16, ppid: u32, data: Bytes) -> Result<(), SctpError> {
        either!(AssociationKind, &self.0, it => it.send(stream, ppid, data).await)
    }

    /// The next message; `Ok(None)` after a graceful shutdown by either side. After the end of the
    /// association every call returns the same result.
    ///
    /// # Cancel safety
    /// Dropping the future loses no message.
    ///
    /// # Errors
    /// [`SctpError::PeerAborted`], [`SctpError::PathFailed`], [`SctpError::PeerRestarted`] (the new
    /// association is returned by [`Listener::accept`]), [`SctpError::MessageTooLarge`] (and the
    /// association is aborted), [`SctpError::Closed`] after [`abort`](Association::abort).
    pub async fn recv(&self) -> Result<Option<Message>, SctpError> {
        either!(AssociationKind, &self.0, it => it.recv().await)
    }

    /// Whether the peer's SCTP has acknowledged all messages that were sent: it is alive. False if
    /// the association has ended.
    pub fn is_acknowledged(&self) -> bool {
        either!(AssociationKind, &self.0, it => it.is_acknowledged())
    }

    /// Graceful shutdown: sent messages are delivered first. Returns when the peer has agreed, or
    /// when [`Options::shutdown_timeout`] has passed and the association was aborted. Messages
    /// that were not received by then are dropped.
    pub async fn shutdown(&self) {
        either!(AssociationKind, &self.0, it => it.shutdown().await)
    }

    /// Aborts the association: the peer gets ABORT.
    pub fn abort(&self) {
        either!(AssociationKind, &self.0, it => it.abort())
    }
}
