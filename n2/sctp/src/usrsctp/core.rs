//! A socket of the library with the tasks that wait for it.
use super::gate;
use super::tables;
use crate::ffi::usrsctp::{Gate, Handle};
use std::io;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Notify;

/// A socket, closed when dropped. Never drop the last one inside the gate: closing enters it.
pub(super) struct Core {
    handle: Option<Handle>,
    number: usize,
    /// Told when there is something to read, or the end.
    pub(super) readable: Notify,
    /// Told when there is room to send and somebody [waits for it](Core::wait_to_write).
    pub(super) writable: Notify,
    waits_to_write: AtomicBool,
}

impl Core {
    /// Wraps a socket and has its events reported.
    pub(super) fn new(handle: Handle, gate: &mut Gate) -> io::Result<Arc<Core>> {
        let number = tables::lock().next_socket();
        if let Err(error) = handle.watch(gate, number) {
            handle.close(gate);
            return Err(error);
        }
        let core = Arc::new(Core {
            handle: Some(handle),
            number,
            readable: Notify::new(),
            writable: Notify::new(),
            waits_to_write: AtomicBool::new(false),
        });
        tables::lock().add_socket(number, Arc::downgrade(&core));
        Ok(core)
    }

    pub(super) fn events(&self, gate: &mut Gate) -> (bool, bool) {
        self.handle.as_ref().map_or((false, false), |handle| handle.events(gate))
    }

    /// Tells the tasks that wait.
    pub(super) fn signal(&self, read: bool, write: bool) {
        if read {
            self.readable.notify_one();
        }
        if write && self.waits_to_write.swap(false, Ordering::Relaxed) {
            self.writable.notify_one();
        }
    }

    /// Has [`Core::writable`] told of the next room. To be called inside the gate, so that none is
    /// missed.
    pub(super) fn wait_to_write(&self) {
        self.waits_to_write.store(true, Ordering::Relaxed);
    }
}

#[allow(clippy::expect_used)]
impl Deref for Core {
    type Target = Handle;
    fn deref(&self) -> &Handle {
        self.handle.as_ref().expect("held until drop")
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        tables::lock().remove_socket(self.number);
        if let Some(handle) = self.handle.take() {
            handle.close(&mut gate::look_in());
        }
    }
}
