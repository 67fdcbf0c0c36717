//! A thread that processes held packets and packets for the controller.
use crate::switch::XdpSwitch;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;

/// Milliseconds between polls while packets are held.
const POLL_MS: i32 = 5;

/// The thread. Dropping it ends the thread; held packets then go to the native side.
#[derive(Debug)]
pub struct Housekeeper {
    /// The thread ends when this is closed.
    end: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Housekeeper {
    /// Starts the thread; `ring` is called when packets for the controller arrive.
    ///
    /// # Errors
    /// The thread cannot be created.
    pub fn start(
        switch: Arc<XdpSwitch>,
        ring: impl Fn() + Send + 'static,
    ) -> io::Result<Housekeeper> {
        let (end, ended) = UnixStream::pair()?;
        let thread = std::thread::Builder::new().name("housekeeper".into()).spawn(move || {
            let mut held_packets = false;
            loop {
                let [held, controller] = switch.descriptors();
                let polled = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
                let mut all = [polled(held), polled(controller), polled(ended.as_raw_fd())];
                // SAFETY: the array has the given number of descriptors.
                unsafe { libc::poll(all.as_mut_ptr(), 3, if held_packets { POLL_MS } else { -1 }) };
                if all[2].revents != 0 {
                    return switch.release_to_native();
                }
                held_packets = switch.check_held();
                if switch.poll_controller() {
                    ring();
                }
            }
        })?;
        Ok(Housekeeper { end: Some(end), thread: Some(thread) })
    }
}

impl Drop for Housekeeper {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
