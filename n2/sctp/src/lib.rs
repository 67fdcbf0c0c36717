//! N2 transport: SCTP (RFC 9260) from the kernel where it has it, else from user space over raw IP protocol 132.
use bytes::Bytes;
use std::net::{IpAddr, SocketAddr};

/// Payload protocol identifier of NGAP (TS 38.412, 7).
pub const PPID_NGAP: u32 = 60;

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

/// Options of an association or a listener.
#[derive(Debug, Clone)]
pub struct Options {
    /// Outbound streams asked for.
    pub streams: u16,
}

/// What can go wrong with SCTP.
#[derive(Debug, thiserror::Error)]
pub enum SctpError {
    /// The operating system refused.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The association has ended.
    #[error("the association is closed")]
    Closed,
}

/// One SCTP implementation, opened.
#[derive(Clone)]
pub struct SctpStack {}
/// A listening endpoint.
pub struct Listener {}
/// An association; clones share it.
#[derive(Clone)]
pub struct Association {}

/// A message with its stream and payload protocol identifier (host byte order).
#[derive(Debug, Clone)]
pub struct Message {
    /// Stream on which it came.
    pub stream: u16,
    /// Payload protocol identifier.
    pub ppid: u32,
    /// The octets.
    pub data: Bytes,
}

#[allow(unused_variables, missing_docs)]
impl SctpStack {
    pub fn open(choice: StackChoice) -> Result<SctpStack, SctpError> { todo!() }
    /// `"kernel"` or `"usrsctp"`.
    pub fn kind(&self) -> &'static str { todo!() }
    pub async fn listen(&self, local: &[IpAddr], port: u16, options: &Options) -> Result<Listener, SctpError> { todo!() }
    pub async fn connect(&self, local: Option<SocketAddr>, remote: SocketAddr, options: &Options) -> Result<Association, SctpError> { todo!() }
}
#[allow(missing_docs)]
impl Listener {
    pub async fn accept(&self) -> Result<Association, SctpError> { todo!() }
    pub fn local_addr(&self) -> SocketAddr { todo!() }
}
#[allow(unused_variables, missing_docs)]
impl Association {
    pub fn peer_addr(&self) -> SocketAddr { todo!() }
    pub fn local_addr(&self) -> SocketAddr { todo!() }
    /// Outbound streams agreed on.
    pub fn streams(&self) -> u16 { todo!() }
    /// Many tasks may send at once. Waits while the send buffer is full.
    pub async fn send(&self, stream: u16, ppid: u32, data: Bytes) -> Result<(), SctpError> { todo!() }
    /// The next message; `Ok(None)` after an orderly shutdown, an error after an abort or a lost peer.
    pub async fn recv(&self) -> Result<Option<Message>, SctpError> { todo!() }
    /// Orderly shutdown.
    pub async fn shutdown(&self) { todo!() }
    pub fn abort(&self) { todo!() }
}
