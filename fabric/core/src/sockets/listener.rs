//! Where connections come in.
use super::Connection;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

#[derive(Default)]
struct State {
    waiting: VecDeque<Arc<Connection>>,
    acceptors: Vec<Waker>,
    closed: bool,
}

/// Connections to an address that wait to be accepted.
pub struct Listener {
    address: SocketAddr,
    backlog: usize,
    state: Mutex<State>,
}

impl Listener {
    /// Nobody waits yet.
    pub fn new(address: SocketAddr, backlog: usize) -> Self {
        Listener { address, backlog, state: Mutex::default() }
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// A new connection; `false` where as many wait as may, or where telling the other side does
    /// not succeed.
    pub(super) fn offer(&self, connection: &Arc<Connection>, tell: impl FnOnce() -> bool) -> bool {
        let mut state = self.lock();
        if state.closed || state.waiting.len() >= self.backlog || !tell() {
            return false;
        }
        state.waiting.push_back(connection.clone());
        state.acceptors.drain(..).for_each(Waker::wake);
        true
    }

    /// The next connection; an error once the listener is closed.
    pub fn poll_accept(&self, context: &mut Context<'_>) -> Poll<std::io::Result<Arc<Connection>>> {
        let mut state = self.lock();
        if let Some(connection) = state.waiting.pop_front() {
            return Poll::Ready(Ok(connection));
        }
        if state.closed {
            let what = "the listener was closed";
            return Poll::Ready(Err(std::io::Error::new(std::io::ErrorKind::NotConnected, what)));
        }
        if !state.acceptors.iter().any(|waker| waker.will_wake(context.waker())) {
            state.acceptors.push(context.waker().clone());
        }
        Poll::Pending
    }

    /// Lets go of the connections that nobody accepted, and takes no more.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let waiting = std::mem::take(&mut state.waiting);
        state.acceptors.drain(..).for_each(Waker::wake);
        drop(state);
        waiting.into_iter().for_each(|connection| connection.close());
    }
}
