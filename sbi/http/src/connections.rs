//! The connections of a server: how many there are for each peer and in all, which of them are
//! idle, and how many bytes of responses they have not read.
use crate::limits::ServerLimits;
use crate::metrics::{REFUSED, UNSENT};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::Notify;

/// Responses of at most this length are not counted: they are bounded by the number of streams.
const SMALL: usize = 1 << 10;

/// Unread bytes from which a connection is watched for progress.
const WATCHED: usize = 64 << 10;

/// Counts an event of the perimeter, and writes a line about it, at most one a second for a peer.
pub fn report(reason: &'static str, peer: Option<IpAddr>) {
    REFUSED.with_label_values(&[reason]).inc();
    if let Some(suppressed) = martlet_log_limit::line(reason, peer) {
        let peer = peer.map(|ip| ip.to_string()).unwrap_or_default();
        tracing::warn!(reason, peer, suppressed, "SBI connection or request refused");
    }
}

/// What the eviction of connections depends on.
#[derive(Debug, Clone, Copy)]
struct Activity {
    /// Requests being served.
    requests: usize,
    /// Whether there has been a request.
    used: bool,
    /// The last change.
    since: Instant,
}

/// One connection.
pub struct Connection {
    /// The peer's address.
    pub peer: Option<IpAddr>,
    activity: Mutex<Activity>,
    /// Bytes of responses that the peer has not read.
    unsent: AtomicUsize,
    /// Bytes that requests in progress are expected to add.
    reserved: AtomicUsize,
    /// The longest response so far.
    longest: AtomicUsize,
    /// Bytes that the peer has read.
    sent: AtomicU64,
    /// The connection has to end.
    end: Notify,
    /// Unsent bytes have become fewer.
    room: Notify,
    /// Unsent bytes have become many.
    filled: Notify,
    all: Arc<Connections>,
}

/// All connections of a server.
pub struct Connections {
    limits: Arc<ServerLimits>,
    open: Mutex<(u64, BTreeMap<u64, Arc<Connection>>)>,
    unsent: AtomicUsize,
    receiving: Mutex<(u64, BTreeMap<u64, Arc<Notify>>)>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Connections {
    pub fn new(limits: Arc<ServerLimits>) -> Arc<Self> {
        Arc::new(Connections {
            limits,
            open: Mutex::default(),
            unsent: AtomicUsize::new(0),
            receiving: Mutex::default(),
        })
    }

    /// Admits a connection. At a limit an idle one ends for it: the oldest without any request,
    /// else the one without a request for the longest time. `None` if none is idle.
    pub fn admit(self: &Arc<Self>, peer: Option<IpAddr>) -> Option<Open> {
        let mut open = lock(&self.open);
        let of_peer = |other: &Connection| peer.is_some() && other.peer == peer;
        let number = open.1.values().filter(|other| of_peer(other)).count();
        let is_crowded = number >= self.limits.connections_per_peer;
        if is_crowded || open.1.len() >= self.limits.connections {
            let candidates = open.1.iter().filter(|(_, other)| !is_crowded || of_peer(other));
            let idle = candidates.filter_map(|(id, other)| {
                let activity = *lock(&other.activity);
                (activity.requests == 0).then_some((activity.used, activity.since, *id))
            });
            let Some((_, _, id)) = idle.min() else {
                report("too many connections", peer);
                return None;
            };
            if let Some(idle) = open.1.remove(&id) {
                report("idle connection ended for another", idle.peer);
                idle.end.notify_one();
            }
        }
        open.0 += 1;
        let id = open.0;
        let activity = Activity { requests: 0, used: false, since: Instant::now() };
        let connection = Arc::new(Connection {
            peer,
            activity: Mutex::new(activity),
            unsent: AtomicUsize::new(0),
            reserved: AtomicUsize::new(0),
            longest: AtomicUsize::new(0),
            sent: AtomicU64::new(0),
            end: Notify::new(),
            room: Notify::new(),
            filled: Notify::new(),
            all: self.clone(),
        });
        open.1.insert(id, connection.clone());
        Some(Open { id, connection })
    }

    /// Registers a body that is being received. At the limit the oldest one is given up.
    pub fn receive(self: &Arc<Self>) -> Receiving {
        let mut receiving = lock(&self.receiving);
        if receiving.1.len() >= self.limits.bodies
            && let Some((_, oldest)) = receiving.1.pop_first()
        {
            oldest.notify_one();
        }
        receiving.0 += 1;
        let (id, given_up) = (receiving.0, Arc::new(Notify::new()));
        receiving.1.insert(id, given_up.clone());
        Receiving { id, given_up, all: self.clone() }
    }

    /// Ends the connection with the most unread bytes.
    fn close_largest_backlog(&self) {
        let open = lock(&self.open);
        let fullest = open.1.values().max_by_key(|it| it.unsent.load(Ordering::Relaxed));
        if let Some(fullest) = fullest {
            report("responses not read", fullest.peer);
            fullest.end.notify_one();
        }
    }
}

/// An admitted connection, until it is dropped.
pub struct Open {
    id: u64,
    connection: Arc<Connection>,
}

impl std::ops::Deref for Open {
    type Target = Arc<Connection>;
    fn deref(&self) -> &Arc<Connection> {
        &self.connection
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        lock(&self.connection.all.open).1.remove(&self.id);
    }
}

/// A body that is being received, until it is dropped.
pub struct Receiving {
    id: u64,
    given_up: Arc<Notify>,
    all: Arc<Connections>,
}

impl Receiving {
    /// Completes when newer bodies need its place.
    pub async fn given_up(&self) {
        self.given_up.notified().await
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        lock(&self.all.receiving).1.remove(&self.id);
    }
}

/// A request that is being served, until it is dropped.
pub struct Serving {
    connection: Arc<Connection>,
    reserved: usize,
}

impl Drop for Serving {
    fn drop(&mut self) {
        let connection = &self.connection;
        let mut activity = lock(&connection.activity);
        activity.requests -= 1;
        activity.since = Instant::now();
        drop(activity);
        if self.reserved > 0 {
            connection.reserved.fetch_sub(self.reserved, Ordering::Relaxed);
            connection.room.notify_waiters();
        }
    }
}

impl Connection {
    /// All connections of the server.
    pub fn all(&self) -> &Arc<Connections> {
        &self.all
    }

    /// A request has arrived.
    pub fn begin(self: &Arc<Self>) -> Serving {
        let mut activity = lock(&self.activity);
        activity.requests += 1;
        activity.used = true;
        drop(activity);
        Serving { connection: self.clone(), reserved: 0 }
    }

    /// Waits until the peer has read enough of earlier responses. A request whose response may be
    /// as long as the longest so far has to fit into the limit.
    pub async fn room(&self, serving: &mut Serving) {
        loop {
            let read = self.room.notified();
            let longest = self.longest.load(Ordering::Relaxed);
            if longest == 0 {
                return;
            }
            let held = self.unsent.load(Ordering::Relaxed) + self.reserved.load(Ordering::Relaxed);
            if held == 0 || held + longest <= self.all.limits.unsent {
                self.reserved.fetch_add(longest, Ordering::Relaxed);
                serving.reserved = longest;
                return;
            }
            read.await;
        }
    }

    /// Counts the bytes of a response until the peer has read them.
    pub fn count(self: &Arc<Self>, bytes: Bytes) -> Bytes {
        let length = bytes.len();
        if length <= SMALL {
            return bytes;
        }
        self.longest.fetch_max(length, Ordering::Relaxed);
        let unsent = self.unsent.fetch_add(length, Ordering::Relaxed) + length;
        let total = self.all.unsent.fetch_add(length, Ordering::Relaxed) + length;
        UNSENT.add(length as i64);
        if unsent >= WATCHED {
            self.filled.notify_one();
        }
        if total > self.all.limits.unsent_total {
            self.all.close_largest_backlog();
        }
        Bytes::from_owner(Unread { bytes, connection: self.clone() })
    }

    /// Completes when another connection needs its place, or its peer reads too little.
    pub async fn ended(&self) {
        self.end.notified().await
    }

    /// Completes if the peer has sent no request for the time limit.
    pub async fn idle_timeout(&self) {
        tokio::time::sleep(self.all.limits.first_request).await;
        if lock(&self.activity).used {
            std::future::pending().await
        }
    }

    /// Completes if the peer reads nothing of many unread bytes for the time limit.
    pub async fn stalled(&self) {
        loop {
            self.filled.notified().await;
            while self.unsent.load(Ordering::Relaxed) >= WATCHED {
                let sent = self.sent.load(Ordering::Relaxed);
                tokio::time::sleep(self.all.limits.stall).await;
                if self.unsent.load(Ordering::Relaxed) >= WATCHED
                    && self.sent.load(Ordering::Relaxed) == sent
                {
                    return;
                }
            }
        }
    }
}

/// Bytes of a response. They are dropped when they are sent, or the stream ends.
struct Unread {
    bytes: Bytes,
    connection: Arc<Connection>,
}

impl AsRef<[u8]> for Unread {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        let length = self.bytes.len();
        let connection = &self.connection;
        connection.unsent.fetch_sub(length, Ordering::Relaxed);
        connection.all.unsent.fetch_sub(length, Ordering::Relaxed);
        connection.sent.fetch_add(length as u64, Ordering::Relaxed);
        UNSENT.sub(length as i64);
        connection.room.notify_waiters();
    }
}
