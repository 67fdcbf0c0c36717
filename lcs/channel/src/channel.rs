//! One end of a connection, and what waits for connections.

use crate::ChannelError;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// How a channel behaves.
#[derive(Debug, Clone)]
pub struct Options {
    /// How long to wait for the peer, at the handshake and for octets.
    pub timeout: Duration,
    /// How long to look for octets again and again before waiting for them: a processor for a
    /// shorter wake-up.
    pub spin: Duration,
    /// Send at once what there is to send (TCP_NODELAY).
    pub no_delay: bool,
    /// Octets of an IP packet of the path, for QUIC.
    pub mtu: u16,
    /// Take octets that come with the first flight of who was here before (0-RTT), at the LMF's
    /// end.
    pub early_data: bool,
    /// How often a UE that waits for an answer over QUIC says a word, so that its radio keeps the
    /// grant to send: what it sends next need not ask for one. It costs energy, and is for UEs
    /// that measure in a row; zero: never.
    pub rouse: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            timeout: Duration::from_secs(10),
            spin: Duration::ZERO,
            no_delay: true,
            mtu: 1400,
            early_data: false,
            rouse: Duration::ZERO,
        }
    }
}

/// How a connection came up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resumption {
    /// With certificates.
    Full,
    /// With what a connection before gave (RFC 8446, 2.2).
    Resumed,
    /// The same, and octets went with the first flight (RFC 8446, 2.3).
    Early,
}

/// What protects a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// Protocol version, such as `TLSv1.3`.
    pub protocol: String,
    /// Cipher suite, such as `TLS_AES_128_GCM_SHA256`.
    pub cipher_suite: String,
    /// The library and its version.
    pub library: String,
}

/// One end of a connection. Octets arrive in order and whole, in pieces of any size.
pub trait Channel: Send {
    /// Send octets.
    ///
    /// # Errors
    /// The connection broke.
    fn send(&mut self, octets: &[u8]) -> Result<(), ChannelError>;

    /// Wait for octets, and add them to `out`; false where the peer closed the connection.
    ///
    /// # Errors
    /// The connection broke, or nothing came within [`Options::timeout`].
    fn receive(&mut self, out: &mut Vec<u8>) -> Result<bool, ChannelError>;

    /// Close the connection, so that the peer sees that nothing is missing.
    ///
    /// # Errors
    /// The connection broke before.
    fn close(&mut self) -> Result<(), ChannelError>;

    /// What protects it.
    fn describe(&self) -> Description;

    /// Nothing is sent or asked for during this time, or until `other` can be read: what the
    /// channel itself has to say, such as acknowledgements, goes out. It ends at once where the
    /// channel has nothing to say by itself.
    ///
    /// # Errors
    /// The connection broke.
    fn rest(
        &mut self,
        _most: Duration,
        _other: Option<BorrowedFd<'_>>,
    ) -> Result<(), ChannelError> {
        Ok(())
    }

    /// How it came up.
    fn resumption(&self) -> Resumption {
        Resumption::Full
    }

    /// Its socket, where the kernel makes its TLS records, so that who writes to the socket writes
    /// to the channel. What was received before, and is not yet asked for, is nowhere but in
    /// the socket.
    fn kernel_socket(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// Waits for connections.
pub trait Listener: Send {
    /// Where.
    fn local_addr(&self) -> SocketAddr;

    /// Wait for a connection, and bring it up.
    ///
    /// # Errors
    /// It could not be brought up; others may come.
    fn accept(&mut self) -> Result<Box<dyn Channel>, ChannelError>;
}
