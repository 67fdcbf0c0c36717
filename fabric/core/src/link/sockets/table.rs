//! The connections of a link.
use super::connection::Key;
use super::{AbortCause, Connection, read_connect, write_connect};
use crate::channel::{Frame, FrameHeader, FrameKind, Violation};
use crate::limits::SocketLimits;
use crate::link::{Host, Link};
use crate::metrics::CONNECTIONS;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard};

/// The connections of a link.
pub(crate) struct Table {
    limits: SocketLimits,
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    last_stream: u32,
    connections: HashMap<Key, Arc<Connection>>,
}

impl Table {
    pub fn new(limits: SocketLimits) -> Self {
        Table { limits, entries: Mutex::default() }
    }

    pub fn limits(&self) -> &SocketLimits {
        &self.limits
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Opens a connection to an address of the peer.
    ///
    /// # Errors
    /// `ResourceBusy` if too much is queued for the peer; `QuotaExceeded` at the limit of
    /// connections.
    pub fn connect(&self, link: &Arc<Link>, to: SocketAddr) -> std::io::Result<Arc<Connection>> {
        use std::io::{Error, ErrorKind};
        if link.is_backlogged() {
            let what = "the peer is not receiving and too much is queued for it \
                        (process.backlog): retry later";
            return Err(Error::new(ErrorKind::ResourceBusy, what));
        }
        let mut entries = self.lock();
        if entries.connections.len() >= self.limits.connections {
            let what = "at the limit of connections to one process (process.sockets.connections)";
            return Err(Error::new(ErrorKind::QuotaExceeded, what));
        }
        let key = loop {
            entries.last_stream = entries.last_stream.wrapping_add(1);
            let key = Key { own: true, stream: entries.last_stream };
            if !entries.connections.contains_key(&key) {
                break key;
            }
        };
        let from = ephemeral(to, key.stream);
        let connection = Connection::new(link, key, from, to, self.limits.window, false, 0);
        entries.connections.insert(key, connection.clone());
        CONNECTIONS.inc();
        drop(entries);
        let head = FrameHeader { kind: FrameKind::Connect, own: true, stream: key.stream };
        // If the channel is closed, `poll_open` reports it.
        let _ = link.channel().send(head, &write_connect(self.limits.window, to, from));
        Ok(connection)
    }

    pub fn remove(&self, key: Key) {
        let removed = self.lock().connections.remove(&key);
        if removed.is_some() {
            CONNECTIONS.dec();
        }
        // Drop without holding the lock: dropping the last reference closes the connection.
        drop(removed);
    }

    /// Handles a frame of a connection.
    pub fn dispatch(
        &self,
        link: &Arc<Link>,
        host: Option<Arc<dyn Host>>,
        frame: Frame,
    ) -> Result<(), Violation> {
        let FrameHeader { kind, own, stream } = frame.head;
        // A number that the sender allocated was not allocated by this side.
        let key = Key { own: !own, stream };
        if kind == FrameKind::Connect {
            return self.on_connect(link, host, key, &frame.bytes);
        }
        let Some(connection) = self.lock().connections.get(&key).cloned() else {
            // Frames may be in transit while a connection ends, among them the answer to a
            // connection that this side has given up. They are ignored.
            return if kind == FrameKind::Accept && !key.own {
                Err(Violation::Order)
            } else {
                Ok(())
            };
        };
        match kind {
            FrameKind::Accept => connection.on_accept(number(&frame.bytes)?),
            FrameKind::Data => connection.on_data(frame.bytes),
            FrameKind::Credit => connection.on_credit(number(&frame.bytes)?),
            FrameKind::Finish => connection.on_finish(),
            FrameKind::Reset => {
                connection
                    .on_abort(AbortCause::from_byte(frame.bytes.first().copied().unwrap_or(0)));
                self.remove(key);
                Ok(())
            }
            _ => Err(Violation::Order),
        }
    }

    fn on_connect(
        &self,
        link: &Arc<Link>,
        host: Option<Arc<dyn Host>>,
        key: Key,
        bytes: &[u8],
    ) -> Result<(), Violation> {
        let (credit, to, from) = read_connect(bytes).ok_or(Violation::Frame)?;
        if key.own {
            return Err(Violation::Order);
        }
        let connection = Connection::new(link, key, to, from, self.limits.window, true, credit);
        let listener = host.and_then(|host| host.listener(&to));
        let has_room = {
            let mut entries = self.lock();
            if entries.connections.contains_key(&key) {
                return Err(Violation::Order);
            }
            let room = entries.connections.len() < self.limits.connections;
            if room && listener.is_some() {
                entries.connections.insert(key, connection.clone());
                CONNECTIONS.inc();
            }
            room
        };
        let outcome = match listener {
            None => Err(AbortCause::Refused),
            Some(_) if !has_room => Err(AbortCause::Full),
            Some(listener) => {
                // Accept before the connection can be used, and only if it fits the backlog.
                let head = FrameHeader { kind: FrameKind::Accept, own: false, stream: key.stream };
                let accept =
                    || link.channel().send(head, &self.limits.window.to_le_bytes()).is_ok();
                if listener.offer(&connection, accept) { Ok(()) } else { Err(AbortCause::Full) }
            }
        };
        if let Err(cause) = outcome {
            crate::metrics::REFUSED.with_label_values(&["connection"]).inc();
            connection.on_abort(cause);
            self.remove(key);
            let head = FrameHeader { kind: FrameKind::Reset, own: false, stream: key.stream };
            let _ = link.channel().send(head, &[cause as u8]);
        }
        Ok(())
    }

    /// Aborts all connections, because the channel is closed.
    pub fn end(&self) {
        let connections = std::mem::take(&mut self.lock().connections);
        CONNECTIONS.sub(connections.len() as i64);
        connections.into_values().for_each(|connection| connection.on_abort(AbortCause::Closed));
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        self.end();
    }
}

fn number(bytes: &[u8]) -> Result<u32, Violation> {
    bytes.try_into().map(u32::from_le_bytes).map_err(|_| Violation::Frame)
}

/// The client's address: of the listener's family, with a port of the kernel's ephemeral range.
fn ephemeral(to: SocketAddr, stream: u32) -> SocketAddr {
    let ip = match to.ip() {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
    };
    SocketAddr::new(ip, 32768 + (stream % 28232) as u16)
}
