//! A thread that processes held packets and packets for the controller.
use crate::switch::XdpSwitch;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;

/// Milliseconds between polls while packets are held.
const LOOK: i32 = 5;

/// The thread. Dropping it ends the thread; held packets then go to the native side.
#[derive(Debug)]
pub struct Keeper {
    /// The thread ends when this is closed.
    end: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Starts it; `ring` is called when packets for the controller arrive.
    ///
    /// # Errors
    /// The thread cannot be created.
    pub fn start(switch: Arc<XdpSwitch>, ring: impl Fn() + Send + 'static) -> io::Result<Keeper> {
        let (end, ended) = UnixStream::pair()?;
        let thread = std::thread::Builder::new().name("keeper".into()).spawn(move || {
            let mut waits = false;
            loop {
                let [held, controller] = switch.descriptors();
                let polled = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
                let mut all = [polled(held), polled(controller), polled(ended.as_raw_fd())];
                // SAFETY: the array has the given number of descriptors.
                unsafe { libc::poll(all.as_mut_ptr(), 3, if waits { LOOK } else { -1 }) };
                if all[2].revents != 0 {
                    return switch.give_back();
                }
                waits = switch.look_after();
                if switch.look_for_controller() {
                    ring();
                }
            }
        })?;
        Ok(Keeper { end: Some(end), thread: Some(thread) })
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
