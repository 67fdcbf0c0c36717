//! The queue of connections that wait to be accepted.
use super::Connection;
use crate::wakers;
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

/// Accepts connections to an address.
pub struct Listener {
    address: SocketAddr,
    backlog: usize,
    state: Mutex<State>,
}

impl Listener {
    /// A listener that holds at most `backlog` connections that wait to be accepted.
    pub fn new(address: SocketAddr, backlog: usize) -> Self {
        Listener { address, backlog, state: Mutex::default() }
    }

    /// The address that it listens at.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Queues a new connection after `confirm` has accepted it towards the peer. Returns `false` if
    /// the listener is closed or full, or if `confirm` fails.
    pub(super) fn offer(
        &self,
        connection: &Arc<Connection>,
        confirm: impl FnOnce() -> bool,
    ) -> bool {
        let mut state = self.lock();
        if state.closed || state.waiting.len() >= self.backlog || !confirm() {
            return false;
        }
        state.waiting.push_back(connection.clone());
        wakers::wake_all(&mut state.acceptors);
        true
    }

    /// The next connection.
    ///
    /// # Errors
    /// `NotConnected` once the listener is closed.
    pub fn poll_accept(&self, context: &mut Context<'_>) -> Poll<std::io::Result<Arc<Connection>>> {
        let mut state = self.lock();
        if let Some(connection) = state.waiting.pop_front() {
            return Poll::Ready(Ok(connection));
        }
        if state.closed {
            let what = "the listener is closed";
            return Poll::Ready(Err(std::io::Error::new(std::io::ErrorKind::NotConnected, what)));
        }
        wakers::register(&mut state.acceptors, context);
        Poll::Pending
    }

    /// Closes the listener and the connections that were not accepted.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let waiting = std::mem::take(&mut state.waiting);
        wakers::wake_all(&mut state.acceptors);
        drop(state);
        waiting.into_iter().for_each(|connection| connection.close());
    }
}
