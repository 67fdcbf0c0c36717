//! The tasks of a listener's connections. At their limit, a client without credentials cannot keep
//! others out: its own connection ends for a new one.
use std::cmp::Reverse;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::task::{AbortHandle, JoinSet};

/// What a client cannot vary of its address: an IPv4 address, or the /64 prefix of an IPv6 one.
pub fn origin(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
    }
}

/// Whether the client of a connection is admitted: it has shown credentials.
#[derive(Debug, Clone, Default)]
pub struct Admission(Arc<AtomicBool>);

impl Admission {
    /// The client is admitted from now on.
    pub fn admit(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_admitted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// An open connection.
struct Open {
    /// See [`origin`].
    peer: Option<IpAddr>,
    admission: Admission,
    task: AbortHandle,
}

/// The open connections of a listener, oldest first. They end when this is dropped.
pub struct Connections {
    max: usize,
    tasks: JoinSet<()>,
    open: Vec<Open>,
}

impl Connections {
    /// No connections yet, and at most `max`.
    pub fn new(max: usize) -> Self {
        Connections { max, tasks: JoinSet::new(), open: Vec::new() }
    }

    /// Completes when a connection has ended; `None` if there is none.
    pub async fn join_next(&mut self) -> Option<()> {
        self.tasks.join_next().await.map(drop)
    }

    /// Whether there is room for another connection. At the limit one of a client that is not
    /// admitted ends for it: the oldest of the address with the most of them. IPv6 addresses of a
    /// /64 prefix count as one.
    pub fn make_room(&mut self) -> bool {
        self.open.retain(|open| !open.task.is_finished());
        if self.open.len() < self.max {
            return true;
        }
        let others =
            || self.open.iter().enumerate().filter(|(_, open)| !open.admission.is_admitted());
        let of_peer = |peer: Option<IpAddr>| others().filter(|(_, open)| open.peer == peer).count();
        let ended = others().min_by_key(|(_, open)| Reverse(of_peer(open.peer)));
        let Some(at) = ended.map(|(at, _)| at) else { return false };
        self.open.remove(at).task.abort();
        true
    }

    /// Serves a connection.
    pub fn spawn(
        &mut self,
        peer: Option<IpAddr>,
        admission: Admission,
        serve: impl Future<Output = ()> + Send + 'static,
    ) {
        let task = self.tasks.spawn(serve);
        let peer = peer.map(origin);
        self.open.push(Open { peer, admission, task });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: usize = 8;

    /// Adds a connection that never ends, from `10.0.0.{last}`.
    fn add(connections: &mut Connections, last: u8, is_admitted: bool) -> bool {
        let admission = Admission::default();
        if is_admitted {
            admission.admit();
        }
        let has_room = connections.make_room();
        if has_room {
            let peer = IpAddr::from([10, 0, 0, last]);
            connections.spawn(Some(peer), admission, std::future::pending());
        }
        has_room
    }

    fn of(connections: &Connections, last: u8) -> usize {
        let peer = Some(IpAddr::from([10, 0, 0, last]));
        connections.open.iter().filter(|open| open.peer == peer).count()
    }

    #[tokio::test]
    async fn an_address_that_holds_connections_makes_room_for_others() {
        let mut connections = Connections::new(MAX);
        assert!(add(&mut connections, 1, true) && add(&mut connections, 2, false));
        for _ in 0..2 * MAX {
            assert!(add(&mut connections, 9, false));
        }
        assert!(add(&mut connections, 3, false));
        assert_eq!([1, 2, 3].map(|last| of(&connections, last)), [1; 3]);
        assert_eq!(connections.open.len(), MAX);
        // The tasks of the others have ended.
        while connections.tasks.len() > MAX {
            assert!(connections.join_next().await.is_some());
        }
    }

    /// Each connection from another address of the prefix.
    #[tokio::test]
    async fn attack_addresses_of_one_prefix_hold_all_connections() {
        let mut connections = Connections::new(MAX);
        assert!(add(&mut connections, 1, false) && add(&mut connections, 1, false));
        for last in 0..2 * MAX as u128 {
            let address = Ipv6Addr::from_bits(0x2001_0db8 << 96 | last);
            assert!(connections.make_room());
            let pending = std::future::pending();
            connections.spawn(Some(address.into()), Admission::default(), pending);
        }
        assert_eq!(of(&connections, 1), 2, "two of another client");
        assert_eq!(origin("2001:db8::1:2:3:4".parse().unwrap()).to_string(), "2001:db8::");
        assert_eq!(origin("::ffff:192.0.2.7".parse().unwrap()).to_string(), "192.0.2.7");
    }

    #[tokio::test]
    async fn admitted_clients_keep_their_connections() {
        let mut connections = Connections::new(MAX);
        for _ in 0..MAX {
            assert!(add(&mut connections, 1, true));
        }
        assert!(!add(&mut connections, 1, true) && !add(&mut connections, 2, false));
    }
}
