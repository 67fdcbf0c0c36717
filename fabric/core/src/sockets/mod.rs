//! Connections over the fabric: the octet streams that sockets give, with their addresses,
//! half-close and back-pressure.
//!
//! A connection is a pair of octet streams within a link. Each side grants the other credit for as
//! many octets as it will keep, so that what comes is always taken out of shared memory at once,
//! and a reader that stops reading holds up its own connection alone.
mod connection;
mod listener;
mod table;

pub use connection::Connection;
pub use listener::Listener;
pub(crate) use table::Table;

use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// What a process takes on.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SocketLimits {
    /// Connections with one other process at a time.
    pub connections: usize,
    /// Octets of one connection that are kept for a reader who does not read.
    pub window: u32,
    /// Connections of one listener that wait to be accepted.
    pub backlog: usize,
}

impl Default for SocketLimits {
    fn default() -> Self {
        SocketLimits { connections: 1024, window: 64 << 10, backlog: 128 }
    }
}

/// Why a connection ended before its time. The number is what travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Cause {
    /// Nobody listens at the address.
    Refused = 1,
    /// The listener, or the other process, has as many connections as it takes.
    Full = 2,
    /// The other side let go of it.
    Closed = 3,
}

impl Cause {
    fn from_octet(octet: u8) -> Cause {
        match octet {
            1 => Cause::Refused,
            2 => Cause::Full,
            _ => Cause::Closed,
        }
    }

    fn error(self) -> std::io::Error {
        use std::io::{Error, ErrorKind};
        match self {
            Cause::Refused => {
                Error::new(ErrorKind::ConnectionRefused, "nobody of the fabric listens there")
            }
            Cause::Full => {
                Error::new(ErrorKind::ConnectionRefused, "as many connections as are taken there")
            }
            Cause::Closed => {
                Error::new(ErrorKind::ConnectionReset, "the other side let go of the connection")
            }
        }
    }
}

/// What a request for a connection says: credit (4 octets, little-endian), then both addresses as
/// text with a space between them, the listener's first.
fn write_connect(credit: u32, to: SocketAddr, from: SocketAddr) -> Vec<u8> {
    let mut octets = credit.to_le_bytes().to_vec();
    octets.extend_from_slice(format!("{to} {from}").as_bytes());
    octets
}

fn read_connect(octets: &[u8]) -> Option<(u32, SocketAddr, SocketAddr)> {
    let (credit, text) = octets.split_first_chunk()?;
    let (to, from) = std::str::from_utf8(text).ok()?.split_once(' ')?;
    Some((u32::from_le_bytes(*credit), to.parse().ok()?, from.parse().ok()?))
}
