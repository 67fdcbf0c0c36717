//! The connections of a link.
use super::connection::Key;
use super::{Cause, Connection, SocketLimits, read_connect, write_connect};
use crate::channel::{Frame, Head, Kind, Violation};
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
    last: u32,
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

    /// Asks the other side for a connection.
    pub fn connect(&self, link: &Arc<Link>, to: SocketAddr) -> std::io::Result<Arc<Connection>> {
        use std::io::{Error, ErrorKind};
        if link.is_overdue() {
            let what = "the other process takes nothing at the moment, and much waits for it \
                        already (limits.backlog)";
            return Err(Error::new(ErrorKind::ResourceBusy, what));
        }
        let mut entries = self.lock();
        if entries.connections.len() >= self.limits.connections {
            let what = "as many connections to one process as this one takes (sockets.connections)";
            return Err(Error::new(ErrorKind::QuotaExceeded, what));
        }
        let key = loop {
            entries.last = entries.last.wrapping_add(1);
            let key = Key { own: true, stream: entries.last };
            if !entries.connections.contains_key(&key) {
                break key;
            }
        };
        let from = ephemeral(to, key.stream);
        let connection = Connection::new(link, key, from, to, self.limits.window, false, 0);
        entries.connections.insert(key, connection.clone());
        CONNECTIONS.inc();
        drop(entries);
        let head = Head { kind: Kind::Connect, own: true, stream: key.stream };
        // Where the channel is closed, the connection says so itself.
        let _ = link.channel().send(head, &write_connect(self.limits.window, to, from));
        Ok(connection)
    }

    pub fn remove(&self, key: Key) {
        let removed = self.lock().connections.remove(&key);
        if removed.is_some() {
            CONNECTIONS.dec();
        }
        // Dropped without the lock: the last owner of a connection closes it.
        drop(removed);
    }

    /// A frame about a connection.
    pub fn take(
        &self,
        link: &Arc<Link>,
        host: Option<Arc<dyn Host>>,
        frame: Frame,
    ) -> Result<(), Violation> {
        let Head { kind, own, stream } = frame.head;
        // What is the sender's number is not ours.
        let key = Key { own: !own, stream };
        if kind == Kind::Connect {
            return self.asked(link, host, key, &frame.octets);
        }
        let Some(connection) = self.lock().connections.get(&key).cloned() else {
            // Both sides may end a connection at the same time, and what was on its way then comes
            // to nobody. So does the answer to who has given up waiting for it.
            return if kind == Kind::Accept && !key.own { Err(Violation::Order) } else { Ok(()) };
        };
        match kind {
            Kind::Accept => connection.accepted(number(&frame.octets)?),
            Kind::Data => connection.arrived(frame.octets),
            Kind::Credit => connection.credited(number(&frame.octets)?),
            Kind::Finish => connection.finished(),
            Kind::Reset => {
                connection.broke(Cause::from_octet(frame.octets.first().copied().unwrap_or(0)));
                self.remove(key);
                Ok(())
            }
            _ => Err(Violation::Order),
        }
    }

    fn asked(
        &self,
        link: &Arc<Link>,
        host: Option<Arc<dyn Host>>,
        key: Key,
        octets: &[u8],
    ) -> Result<(), Violation> {
        let (credit, to, from) = read_connect(octets).ok_or(Violation::Frame)?;
        if key.own {
            return Err(Violation::Order);
        }
        let connection = Connection::new(link, key, to, from, self.limits.window, true, credit);
        let listener = host.and_then(|host| host.listener(&to));
        let entered = {
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
            None => Err(Cause::Refused),
            Some(_) if !entered => Err(Cause::Full),
            Some(listener) => {
                // Said before anybody can write on it, and only where there is a place for it.
                let head = Head { kind: Kind::Accept, own: false, stream: key.stream };
                let accept =
                    || link.channel().send(head, &self.limits.window.to_le_bytes()).is_ok();
                if listener.offer(&connection, accept) { Ok(()) } else { Err(Cause::Full) }
            }
        };
        if let Err(cause) = outcome {
            crate::metrics::REFUSED.with_label_values(&["connection"]).inc();
            connection.broke(cause);
            self.remove(key);
            let head = Head { kind: Kind::Reset, own: false, stream: key.stream };
            let _ = link.channel().send(head, &[cause as u8]);
        }
        Ok(())
    }

    /// The channel is closed.
    pub fn end(&self) {
        let connections = std::mem::take(&mut self.lock().connections);
        CONNECTIONS.sub(connections.len() as i64);
        connections.into_values().for_each(|connection| connection.broke(Cause::Closed));
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        self.end();
    }
}

fn number(octets: &[u8]) -> Result<u32, Violation> {
    octets.try_into().map(u32::from_le_bytes).map_err(|_| Violation::Frame)
}

/// The address of the side that connects: of the listener's family, with a port of those that the
/// kernel gives out, too.
fn ephemeral(to: SocketAddr, stream: u32) -> SocketAddr {
    let ip = match to.ip() {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
    };
    SocketAddr::new(ip, 32768 + (stream % 28232) as u16)
}
