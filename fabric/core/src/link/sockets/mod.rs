//! Connections over a link: byte streams with addresses, half-close and back-pressure.
//!
//! Each side grants the other credit for as many bytes as it is willing to buffer. Received data
//! therefore always leaves shared memory at once, and a slow reader delays its own connection only.
mod connection;
mod listener;
mod table;

pub use connection::Connection;
pub use listener::Listener;
pub(crate) use table::Table;

use std::net::SocketAddr;

/// Why a connection was aborted. The discriminant is the encoded value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum AbortCause {
    /// No process listens at the address.
    Refused = 1,
    /// The listener or the peer is at its limit of connections.
    Full = 2,
    /// The peer closed the connection.
    Closed = 3,
}

impl AbortCause {
    fn from_byte(byte: u8) -> AbortCause {
        match byte {
            1 => AbortCause::Refused,
            2 => AbortCause::Full,
            _ => AbortCause::Closed,
        }
    }

    fn error(self) -> std::io::Error {
        use std::io::{Error, ErrorKind};
        match self {
            AbortCause::Refused => Error::new(
                ErrorKind::ConnectionRefused,
                "no process of the fabric listens at the address",
            ),
            AbortCause::Full => Error::new(
                ErrorKind::ConnectionRefused,
                "the peer is at its limit of connections (sockets.connections, sockets.backlog)",
            ),
            AbortCause::Closed => {
                Error::new(ErrorKind::ConnectionReset, "the peer reset the connection")
            }
        }
    }
}

/// Number of ports that a listener tries if its address has port 0.
pub(crate) const PORT_ATTEMPTS: u16 = 16;

/// A random port of the dynamic range (RFC 6335, 6).
pub(crate) fn random_port() -> u16 {
    use std::hash::{BuildHasher, RandomState};
    49152 + (RandomState::new().hash_one(std::process::id()) % 16384) as u16
}

/// Encodes the payload of a connect frame: credit (4 bytes, little-endian), then the listener's
/// address and the client's address as text, separated by a space.
fn write_connect(credit: u32, to: SocketAddr, from: SocketAddr) -> Vec<u8> {
    let mut bytes = credit.to_le_bytes().to_vec();
    bytes.extend_from_slice(format!("{to} {from}").as_bytes());
    bytes
}

fn read_connect(bytes: &[u8]) -> Option<(u32, SocketAddr, SocketAddr)> {
    let (credit, text) = bytes.split_first_chunk()?;
    let (to, from) = std::str::from_utf8(text).ok()?.split_once(' ')?;
    Some((u32::from_le_bytes(*credit), to.parse().ok()?, from.parse().ok()?))
}
