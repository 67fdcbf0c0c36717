//! The fabric for programs without an async runtime: blocking calls with deadlines. One background
//! thread polls the kernel for all connections. The C library builds on this module.
mod dial;
mod event_loop;
mod stream;

pub use dial::Dial;
pub use stream::{BlockingListener, BlockingStream};

use crate::fd;
use crate::limits::ProcessLimits;
use crate::link::sockets::{Listener, PORT_ATTEMPTS, random_port};
use crate::link::{Host, Link};
use crate::membership::{Membership, MembershipState, SERVE_TIMEOUT};
use crate::messages::Service;
use event_loop::EventLoop;
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
    /// One waker per thread, not per call. Wakers that timed-out calls left behind are recognised
    /// as the same and do not accumulate.
    static WAKER: Waker = unpark_this_thread();
}

/// Polls until ready or until the deadline.
fn wait<T>(deadline: Option<Instant>, poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> Result<T> {
    wait_until(|| deadline, poll)
}

/// Polls until ready or until the deadline, which may change meanwhile.
fn wait_until<T>(
    deadline: impl Fn() -> Option<Instant>,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
) -> Result<T> {
    // `try_with` fails while the thread is being destroyed.
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
                _ => return Err(Error::new(ErrorKind::TimedOut, "timed out")),
            },
        }
    }
}

struct BlockingHost {
    membership: Arc<Membership>,
}

impl Host for BlockingHost {
    /// Requests are refused: the blocking interface has no request handler.
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
        self.membership.listener(address)
    }
}

/// A process's membership in the fabric, with blocking calls. Clones share the membership; it ends
/// with the last clone, stream and listener.
#[derive(Clone)]
pub struct BlockingFabric {
    host: Arc<BlockingHost>,
    _shutdown: Arc<Shutdown>,
}

/// Stops the background thread when the last user is dropped.
struct Shutdown {
    stop: Arc<AtomicBool>,
    doorbell: Arc<OwnedFd>,
    membership: Arc<Membership>,
}

impl Drop for Shutdown {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        fd::signal(&self.doorbell);
        self.membership.close();
    }
}

impl BlockingFabric {
    /// Starts to take part, with a background thread. It is not an error if the manager is not
    /// running.
    pub fn start(name: &str, socket: PathBuf, limits: ProcessLimits) -> Result<BlockingFabric> {
        let membership = Arc::new(Membership::new(name, 0, limits));
        let host_state = Arc::new(BlockingHost { membership: membership.clone() });
        let host = Arc::downgrade(&host_state) as Weak<dyn Host>;
        let (stop, doorbell) = (Arc::new(AtomicBool::new(false)), Arc::new(fd::doorbell()?));
        let event_loop =
            EventLoop::new(membership.clone(), socket, host, stop.clone(), doorbell.clone())?;
        std::thread::Builder::new().name("martlet-fabric".into()).spawn(move || {
            // Signals are delivered to the program's own threads only.
            let _ = nix::sys::signal::SigSet::all().thread_block();
            event_loop.run();
        })?;
        Ok(BlockingFabric {
            host: host_state,
            _shutdown: Arc::new(Shutdown { stop, doorbell, membership }),
        })
    }

    /// Waits until the process has joined or was refused.
    ///
    /// # Errors
    /// `TimedOut` at the deadline.
    pub fn joined(&self, deadline: Option<Instant>) -> Result<MembershipState> {
        wait(deadline, |context| self.host.membership.poll_joined(context))
    }

    fn membership(&self) -> &Arc<Membership> {
        &self.host.membership
    }

    /// The current state towards the manager.
    pub fn state(&self) -> MembershipState {
        self.membership().state()
    }

    /// Opens a connection to an address.
    ///
    /// # Errors
    /// `ConnectionRefused` if no process of the fabric listens there; `TimedOut` at the deadline;
    /// `QuotaExceeded` at the limit of connections.
    pub fn connect(&self, to: SocketAddr, deadline: Option<Instant>) -> Result<BlockingStream> {
        let mut dial = self.dial(to);
        wait(deadline, |context| dial.poll(context))?
    }

    /// Starts to open a connection, without blocking.
    pub fn dial(&self, to: SocketAddr) -> Dial {
        Dial::new(self.clone(), to)
    }

    /// Opens a listener at an address. Port 0 selects a free port.
    ///
    /// # Errors
    /// `AddrInUse` if another listener of the security domain has the address; `TimedOut` if the
    /// manager does not answer.
    pub fn listen(&self, address: SocketAddr) -> Result<BlockingListener> {
        let mut attempts = if address.port() == 0 { PORT_ATTEMPTS } else { 1 };
        loop {
            attempts -= 1;
            let port = if address.port() == 0 { random_port() } else { address.port() };
            let outcome = self.listen_at(SocketAddr::new(address.ip(), port));
            match &outcome {
                Err(error) if error.kind() == ErrorKind::AddrInUse && attempts > 0 => {}
                _ => return outcome,
            }
        }
    }

    fn listen_at(&self, address: SocketAddr) -> Result<BlockingListener> {
        let membership = self.membership();
        let listener = BlockingListener::new(membership.listen(address)?, self.clone());
        let (authority, deadline) = (address.to_string(), Some(Instant::now() + SERVE_TIMEOUT));
        let served = wait(deadline, |context| {
            membership.poll_served(Service::Connections, &authority, context)
        })?;
        served
            .map_err(|reason| Error::new(ErrorKind::AddrInUse, format!("{address}: {reason}")))?;
        Ok(listener)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_one_thread_share_one_waker() {
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
