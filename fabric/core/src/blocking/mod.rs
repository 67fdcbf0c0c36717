//! The fabric for programs without a runtime: calls that block, with deadlines. One thread waits
//! for the kernel on behalf of all connections; the C interface stands on this.
mod dial;
mod driver;
mod stream;

pub use dial::Dial;
pub use stream::{BlockingListener, BlockingStream};

use crate::fd;
use crate::link::{Host, Link};
use crate::messages::Service;
use crate::process::{LISTEN_PATIENCE, Process, ProcessLimits, Standing};
use crate::sockets::Listener;
use driver::Driver;
use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Instant;

struct Unpark(Thread);
impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn unpark_this_thread() -> Waker {
    Waker::from(Arc::new(Unpark(std::thread::current())))
}

thread_local! {
    /// One for each thread, and not for each call: those that were left by calls whose deadline has passed are known to be
    /// the same, and do not pile up.
    static WAKER: Waker = unpark_this_thread();
}

/// Waits until something is ready, or a deadline has passed.
fn wait<T>(deadline: Option<Instant>, poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> Result<T> {
    wait_until(|| deadline, poll)
}

/// Waits until something is ready, or a deadline has passed that may change meanwhile.
fn wait_until<T>(
    deadline: impl Fn() -> Option<Instant>,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
) -> Result<T> {
    // After the thread's own are destroyed, at its end, there is still a waker to be had.
    let waker = WAKER.try_with(Waker::clone).unwrap_or_else(|_| unpark_this_thread());
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(value) = poll(&mut context) {
            return Ok(value);
        }
        match deadline() {
            None => std::thread::park(),
            Some(deadline) => match deadline.checked_duration_since(Instant::now()) {
                Some(left) if !left.is_zero() => std::thread::park_timeout(left),
                _ => return Err(Error::new(ErrorKind::TimedOut, "the deadline has passed")),
            },
        }
    }
}

struct Part {
    process: Arc<Process>,
}

impl Host for Part {
    /// Frames are for those who have a router.
    fn request(
        &self,
        link: &Arc<Link>,
        stream: u32,
        _: Vec<u8>,
    ) -> std::result::Result<(), crate::channel::Violation> {
        link.refuse(stream);
        Ok(())
    }
    fn listener(&self, address: &SocketAddr) -> Option<Arc<Listener>> {
        self.process.listener(address)
    }
}

/// A process's part in the fabric, for calls that block. It ends with its last clone.
#[derive(Clone)]
pub struct BlockingFabric {
    part: Arc<Part>,
    _end: Arc<End>,
}

/// Ends the thread when nobody uses the fabric any more.
struct End {
    over: Arc<AtomicBool>,
    bell: Arc<OwnedFd>,
    process: Arc<Process>,
}

impl Drop for End {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        fd::ring(&self.bell);
        self.process.close();
    }
}

impl BlockingFabric {
    /// Takes part from now on, with a thread of its own. It is no error if there is no manager yet.
    pub fn start(name: &str, socket: PathBuf, limits: ProcessLimits) -> Result<BlockingFabric> {
        let process = Arc::new(Process::new(name, 0, limits));
        let part = Arc::new(Part { process: process.clone() });
        let host = Arc::downgrade(&part) as Weak<dyn Host>;
        let (over, bell) = (Arc::new(AtomicBool::new(false)), Arc::new(fd::bell()?));
        let driver = Driver::new(process.clone(), socket, host, over.clone(), bell.clone())?;
        std::thread::Builder::new().name("martlet-fabric".into()).spawn(move || {
            // Signals are for the program's own threads.
            let _ = nix::sys::signal::SigSet::all().thread_block();
            driver.run();
        })?;
        Ok(BlockingFabric { part, _end: Arc::new(End { over, bell, process }) })
    }

    /// Waits until the process has joined, or was refused.
    pub fn joined(&self, deadline: Option<Instant>) -> Result<Standing> {
        wait(deadline, |context| self.part.process.poll_joined(context))
    }

    fn process(&self) -> &Arc<Process> {
        &self.part.process
    }

    /// How things stand with the manager.
    pub fn standing(&self) -> Standing {
        self.process().standing()
    }

    /// Connects to who listens at an address of the fabric.
    pub fn connect(&self, to: SocketAddr, deadline: Option<Instant>) -> Result<BlockingStream> {
        let mut dial = self.dial(to);
        wait(deadline, |context| dial.poll(context))?
    }

    /// Begins to connect, for who does not want to block.
    pub fn dial(&self, to: SocketAddr) -> Dial {
        Dial::new(self.clone(), to)
    }

    /// Listens at an address of the fabric; port 0 becomes a free one.
    pub fn listen(&self, address: SocketAddr) -> Result<BlockingListener> {
        let mut tries = if address.port() == 0 { 16 } else { 1 };
        loop {
            tries -= 1;
            let port =
                if address.port() == 0 { crate::runtime::some_port() } else { address.port() };
            let outcome = self.listen_at(SocketAddr::new(address.ip(), port));
            match &outcome {
                Err(error) if error.kind() == ErrorKind::AddrInUse && tries > 0 => {}
                _ => return outcome,
            }
        }
    }

    fn listen_at(&self, address: SocketAddr) -> Result<BlockingListener> {
        let process = self.process();
        let listener = BlockingListener::new(process.listen(address)?, self.clone());
        let (authority, deadline) = (address.to_string(), Some(Instant::now() + LISTEN_PATIENCE));
        let served = wait(deadline, |context| {
            process.poll_served(Service::Connections, &authority, context)
        })?;
        served.map_err(|reason| {
            Error::new(ErrorKind::AddrInUse, format!("{address} of the fabric: {reason}"))
        })?;
        Ok(listener)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_one_thread_leave_one_waker() {
        let mut left: Vec<Waker> = Vec::new();
        for _ in 0..3 {
            let late = wait(Some(Instant::now()), |context| -> Poll<()> {
                left.push(context.waker().clone());
                Poll::Pending
            });
            assert_eq!(late.unwrap_err().kind(), ErrorKind::TimedOut);
        }
        assert!(left.windows(2).all(|pair| pair[0].will_wake(&pair[1])));
    }
}
