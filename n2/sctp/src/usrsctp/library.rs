//! The lock around `usrsctp`, and the clock of its timers.
//!
//! The library has global state, so all stacks of a process share it across runtimes and threads.
//! A caller with a packet, a message or passed time locks it and works on its own thread: no
//! helper thread means no wakeup of another core. Waiting tasks are woken after the lock is
//! released.
use super::library_socket::{self, LibrarySocket};
use crate::ffi::usrsctp::{Callbacks, Handle, Library};
use crate::socket::Read;
use std::io;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Resolution of the library's clock while it is in use.
const GRAIN: Duration = Duration::from_millis(10);
/// Time without a packet or message after which only heartbeats are timed.
const INACTIVE_AFTER: Duration = Duration::from_secs(1);

struct Locked {
    library: Library,
    /// Time up to which timers have run; `None` until the library is started.
    timers_run_until: Option<Instant>,
    /// Last packet or message.
    active: Option<Instant>,
    /// Buffer for one read.
    read_buffer: Vec<u8>,
}

/// Length of the read buffer, bytes.
const READ_BUFFER: usize = 1 << 16;

static LOCKED: Mutex<Locked> = Mutex::new(Locked {
    library: Library::behind_a_lock(),
    timers_run_until: None,
    active: None,
    read_buffer: Vec::new(),
});

/// Exclusive access to the library. Dropping it wakes the tasks whose sockets have events.
pub(super) struct LibraryGuard {
    locked: Option<MutexGuard<'static, Locked>>,
}

/// Starts the library on the first call.
pub(super) fn start(callbacks: Callbacks) {
    let mut locked = LOCKED.lock().unwrap_or_else(PoisonError::into_inner);
    locked.library.start(callbacks);
    locked.timers_run_until.get_or_insert_with(Instant::now);
    locked.read_buffer.resize(READ_BUFFER, 0);
}

/// Locks the library. Runs due timers first, because timers started now count from its clock.
pub(super) fn lock() -> LibraryGuard {
    let mut guard = lock_without_timers();
    let now = Instant::now();
    guard.advance(now, GRAIN);
    if let Some(locked) = &mut guard.locked {
        locked.active = Some(now);
    }
    guard
}

/// Locks the library without running timers: to close sockets and to look.
pub(super) fn lock_without_timers() -> LibraryGuard {
    LibraryGuard { locked: Some(LOCKED.lock().unwrap_or_else(PoisonError::into_inner)) }
}

/// Runs due timers. Returns when to call it again; `None` while there is nothing to time.
pub(super) fn run_timers(has_associations: impl FnOnce() -> bool) -> Option<Duration> {
    let mut guard = lock_without_timers();
    let now = Instant::now();
    guard.advance(now, GRAIN / 2);
    let active = guard.locked.as_ref().and_then(|locked| locked.active);
    if active.is_some_and(|active| now.saturating_duration_since(active) < INACTIVE_AFTER) {
        Some(GRAIN)
    } else if has_associations() {
        // Only heartbeats are due: a tenth of a second is precise enough.
        Some(GRAIN * 10)
    } else {
        None
    }
}

impl LibraryGuard {
    /// Reads an event, or appends a part of a message to `message`.
    pub(super) fn read(
        &mut self,
        socket: &LibrarySocket,
        message: &mut Vec<u8>,
    ) -> io::Result<Read> {
        let Some(locked) = &mut self.locked else { return Err(io::ErrorKind::WouldBlock.into()) };
        let Locked { library, read_buffer, .. } = &mut **locked;
        let (read, data) = socket.read(library, read_buffer)?;
        message.extend_from_slice(data);
        Ok(read)
    }

    fn advance(&mut self, now: Instant, grain: Duration) {
        let Some(locked) = &mut self.locked else { return };
        let Some(timers_run_until) = locked.timers_run_until else { return };
        let passed = now.saturating_duration_since(timers_run_until);
        if passed < grain {
            return;
        }
        let passed = Duration::from_millis(passed.as_millis().min(u32::MAX.into()) as u64);
        locked.timers_run_until = Some(timers_run_until + passed);
        locked.library.advance(passed.as_millis() as u32);
    }
}

#[allow(clippy::expect_used)]
impl Deref for LibraryGuard {
    type Target = Library;
    fn deref(&self) -> &Library {
        &self.locked.as_ref().expect("locked until dropped").library
    }
}

#[allow(clippy::expect_used)]
impl DerefMut for LibraryGuard {
    fn deref_mut(&mut self) -> &mut Library {
        &mut self.locked.as_mut().expect("locked until dropped").library
    }
}

impl Drop for LibraryGuard {
    fn drop(&mut self) {
        let ready = library_socket::take_ready();
        let events: Vec<(Arc<LibrarySocket>, bool, bool)> = ready
            .into_iter()
            .map(|socket| {
                let (read, write) = socket.events(self);
                (socket, read, write)
            })
            .collect();
        // Dropping a socket locks the library, so the lock is released first.
        self.locked = None;
        for (socket, read, write) in events {
            socket.wake(read, write);
        }
    }
}

/// Wraps a handle in a socket whose events are reported. Closes the handle on failure.
pub(super) fn register(handle: Handle, library: &mut Library) -> io::Result<Arc<LibrarySocket>> {
    let number = library_socket::next_number();
    if let Err(error) = handle.watch(library, number) {
        handle.close(library);
        return Err(error);
    }
    Ok(LibrarySocket::register(handle, number))
}

impl Drop for LibrarySocket {
    fn drop(&mut self) {
        library_socket::unregister(self.number);
        if let Some(handle) = self.handle.take() {
            handle.close(&mut lock_without_timers());
        }
    }
}
