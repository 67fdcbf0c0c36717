//! The traits of a channel and of its listener, and their options.

use crate::ChannelError;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// Options of a channel.
#[derive(Debug, Clone)]
pub struct Options {
    /// Time limit of the handshake and of each receive.
    pub timeout: Duration,
    /// Time to poll for data before sleeping: costs CPU time and saves the wakeup.
    pub spin: Duration,
    /// Disable Nagle's algorithm (TCP_NODELAY).
    pub no_delay: bool,
    /// MTU of the path, for QUIC and UDP.
    pub mtu: u16,
    /// Accept 0-RTT data of returning UEs, at the LMF's end.
    pub early_data: bool,
    /// Interval of the keep-alive probes that a UE sends over QUIC while it waits for an answer.
    /// They retain the radio's uplink grant, so that the next message needs no scheduling request.
    /// They cost energy, and suit UEs with successive measurements. Zero: none.
    pub keep_alive: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            timeout: Duration::from_secs(10),
            spin: Duration::ZERO,
            no_delay: true,
            mtu: 1400,
            early_data: false,
            keep_alive: Duration::ZERO,
        }
    }
}

/// How a connection was established.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resumption {
    /// Full handshake with certificates.
    Full,
    /// Resumed with a ticket (RFC 8446, 2.2).
    Resumed,
    /// Resumed, with 0-RTT data (RFC 8446, 2.3).
    Early,
}

/// The protection of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// Protocol version, such as `TLSv1.3`.
    pub protocol: String,
    /// Cipher suite, such as `TLS_AES_128_GCM_SHA256`.
    pub cipher_suite: String,
    /// The library and its version.
    pub library: String,
}

/// One end of a connection: a reliable, ordered byte stream.
pub trait Channel: Send {
    /// Sends bytes.
    ///
    /// # Errors
    /// The connection broke.
    fn send(&mut self, bytes: &[u8]) -> Result<(), ChannelError>;

    /// Waits for bytes and appends them to `out`. False if the peer closed the connection.
    ///
    /// # Errors
    /// The connection broke, or nothing arrived within [`Options::timeout`].
    fn receive(&mut self, out: &mut Vec<u8>) -> Result<bool, ChannelError>;

    /// Closes the connection gracefully: the peer sees that it received everything.
    ///
    /// # Errors
    /// The connection broke.
    fn close(&mut self) -> Result<(), ChannelError>;

    /// The protection.
    fn describe(&self) -> Description;

    /// Services the protocol's own timers and packets, such as acknowledgements, for at most this
    /// time or until `other` is readable. Returns at once for a protocol without timers.
    ///
    /// # Errors
    /// The connection broke.
    fn idle(
        &mut self,
        _limit: Duration,
        _other: Option<BorrowedFd<'_>>,
    ) -> Result<(), ChannelError> {
        Ok(())
    }

    /// How it was established.
    fn resumption(&self) -> Resumption {
        Resumption::Full
    }

    /// The socket, if the kernel makes the TLS records: bytes written to the socket are sent on the
    /// channel. Unread received bytes are all in the socket.
    fn kernel_socket(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// Listens for connections.
pub trait Listener: Send {
    /// The local address.
    fn local_addr(&self) -> SocketAddr;

    /// Waits for a connection and performs its handshake.
    ///
    /// # Errors
    /// The handshake failed. The listener remains usable.
    fn accept(&mut self) -> Result<Box<dyn Channel>, ChannelError>;
}
