//! A `usrsctp` socket with the tasks that wait for it.
use crate::ffi::usrsctp::{Handle, Library};
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};
use tokio::sync::Notify;

/// A socket. [`library`](super::library) creates and closes it, because both need the library's
/// lock. Do not drop the last reference while the lock is held.
pub(super) struct LibrarySocket {
    /// `None` after it was closed.
    pub(super) handle: Option<Handle>,
    /// The number by which the library reports events of the socket.
    pub(super) number: usize,
    /// Notified when there is something to read, or the end.
    pub(super) readable: Notify,
    /// Notified when there is room to send and a task [waits for
    /// it](LibrarySocket::wait_to_write).
    pub(super) writable: Notify,
    waits_to_write: AtomicBool,
}

impl LibrarySocket {
    /// A socket that is registered for events.
    pub(super) fn register(handle: Handle, number: usize) -> Arc<LibrarySocket> {
        let socket = Arc::new(LibrarySocket {
            handle: Some(handle),
            number,
            readable: Notify::new(),
            writable: Notify::new(),
            waits_to_write: AtomicBool::new(false),
        });
        registry().sockets.insert(number, Arc::downgrade(&socket));
        socket
    }

    /// Whether the socket is readable, and whether it is writable.
    pub(super) fn events(&self, library: &mut Library) -> (bool, bool) {
        self.handle.as_ref().map_or((false, false), |handle| handle.events(library))
    }

    /// Wakes the waiting tasks.
    pub(super) fn wake(&self, read: bool, write: bool) {
        if read {
            self.readable.notify_one();
        }
        if write && self.waits_to_write.swap(false, Ordering::Relaxed) {
            self.writable.notify_one();
        }
    }

    /// Requests a notification of [`LibrarySocket::writable`]. The caller holds the library's lock,
    /// so no event is missed.
    pub(super) fn wait_to_write(&self) {
        self.waits_to_write.store(true, Ordering::Relaxed);
    }
}

#[allow(clippy::expect_used)]
impl Deref for LibrarySocket {
    type Target = Handle;
    fn deref(&self) -> &Handle {
        self.handle.as_ref().expect("open until dropped")
    }
}

/// All sockets by number, and those with unhandled events.
#[derive(Default)]
struct Registry {
    sockets: HashMap<usize, Weak<LibrarySocket>>,
    ready: Vec<usize>,
    last_number: usize,
}

static REGISTRY: LazyLock<Mutex<Registry>> = LazyLock::new(Default::default);

/// The registry, locked. Do not call the library meanwhile: its callbacks lock it.
fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An unused socket number.
pub(super) fn next_number() -> usize {
    let mut registry = registry();
    registry.last_number += 1;
    registry.last_number
}

/// Removes a closed socket.
pub(super) fn unregister(number: usize) {
    registry().sockets.remove(&number);
}

/// Callback of the library: a socket has an event. The library's lock is held.
pub(super) fn ready(number: usize) {
    let mut registry = registry();
    if !registry.ready.contains(&number) {
        registry.ready.push(number);
    }
}

/// The sockets with events since the last call.
pub(super) fn take_ready() -> Vec<Arc<LibrarySocket>> {
    let Registry { sockets, ready, .. } = &mut *registry();
    ready.drain(..).filter_map(|number| sockets.get(&number).and_then(Weak::upgrade)).collect()
}
