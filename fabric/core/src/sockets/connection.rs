//! One connection, from one side. Nothing here waits: what cannot be done now leaves a waker.
use super::Cause;
use crate::channel::{Head, Kind, Violation};
use crate::link::Link;
use std::collections::VecDeque;
use std::io::{Error, ErrorKind, IoSlice, Result};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::task::{Context, Poll, Waker};

/// Most octets that leave in one frame.
const PIECE: usize = 64 << 10;

/// Pieces up to this many octets are joined while they wait.
const SMALL: usize = 4096;

/// A connection: a number, and whether this side gave it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub own: bool,
    pub stream: u32,
}

#[derive(Default)]
struct State {
    /// The other side has agreed.
    open: bool,
    inbound: VecDeque<Vec<u8>>,
    /// Octets of the first piece that were read.
    read: usize,
    /// Octets that the other side may still send.
    granted: u32,
    /// Octets read for which no credit was given back yet.
    consumed: u32,
    /// Octets that this side may still send.
    credit: u32,
    /// The other side will send no more.
    finished: bool,
    /// This side will send no more.
    shut: bool,
    /// This side reads no more: what comes is let go.
    deaf: bool,
    broken: Option<Cause>,
    readers: Vec<Waker>,
    writers: Vec<Waker>,
}

/// One side of a connection.
pub struct Connection {
    link: Weak<Link>,
    key: Key,
    local: SocketAddr,
    peer: SocketAddr,
    window: u32,
    state: Mutex<State>,
}

impl Connection {
    pub(super) fn new(
        link: &Arc<Link>,
        key: Key,
        local: SocketAddr,
        peer: SocketAddr,
        window: u32,
        open: bool,
        credit: u32,
    ) -> Arc<Connection> {
        let state = State { open, granted: window, credit, ..State::default() };
        Arc::new(Connection {
            link: Arc::downgrade(link),
            key,
            local,
            peer,
            window,
            state: Mutex::new(state),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// This side's address.
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// The other side's address.
    pub fn peer_addr(&self) -> SocketAddr {
        self.peer
    }

    fn head(&self, kind: Kind) -> Head {
        Head { kind, own: self.key.own, stream: self.key.stream }
    }

    /// The link, if its channel is open.
    fn link(&self) -> Result<Arc<Link>> {
        self.link.upgrade().filter(|link| link.channel().closed().is_none()).ok_or_else(gone)
    }

    /// Says something to the other side: while the state is locked, so that what several threads
    /// say is said in the order in which they did it.
    fn tell(&self, kind: Kind, octets: &[u8]) {
        // A channel that is closed has ended the connection already.
        if let Ok(link) = self.link() {
            let _ = link.channel().send(self.head(kind), octets);
        }
    }

    /// Ready when the other side has agreed to the connection, or not.
    pub fn poll_open(&self, context: &mut Context<'_>) -> Poll<Result<()>> {
        let mut state = self.lock();
        if state.open {
            return Poll::Ready(Ok(()));
        }
        if let Err(error) = self.alive(&state) {
            return Poll::Ready(Err(error));
        }
        leave(&mut state.readers, context);
        Poll::Pending
    }

    fn alive(&self, state: &State) -> Result<()> {
        match state.broken {
            Some(cause) => Err(cause.error()),
            None => self.link().map(|_| ()),
        }
    }

    /// Reads what is there; 0 octets at the end of the stream.
    pub fn poll_read(&self, context: &mut Context<'_>, buffer: &mut [u8]) -> Poll<Result<usize>> {
        if buffer.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let mut state = self.lock();
        if state.deaf {
            return Poll::Ready(Ok(0));
        }
        let mut got = 0;
        while got < buffer.len() {
            let Some(piece) = state.inbound.front() else { break };
            let rest = piece.get(state.read..).unwrap_or_default();
            let taken = rest.len().min(buffer.len() - got);
            buffer[got..got + taken].copy_from_slice(&rest[..taken]);
            got += taken;
            if taken == rest.len() {
                state.inbound.pop_front();
                state.read = 0;
            } else {
                state.read += taken;
            }
        }
        if got > 0 {
            self.consumed(&mut state, got);
            return Poll::Ready(Ok(got));
        }
        if state.finished {
            return Poll::Ready(Ok(0));
        }
        if let Err(error) = self.alive(&state) {
            return Poll::Ready(Err(error));
        }
        leave(&mut state.readers, context);
        Poll::Pending
    }

    /// Grants new credit when half of the window was read: not for every piece.
    fn consumed(&self, state: &mut State, octets: usize) {
        state.consumed = state.consumed.saturating_add(u32::try_from(octets).unwrap_or(u32::MAX));
        if state.consumed < self.window / 2 || state.finished || state.broken.is_some() {
            return;
        }
        let credit = std::mem::take(&mut state.consumed);
        state.granted = state.granted.saturating_add(credit);
        self.tell(Kind::Credit, &credit.to_le_bytes());
    }

    /// Writes what there is credit and room for.
    pub fn poll_write(&self, context: &mut Context<'_>, octets: &[u8]) -> Poll<Result<usize>> {
        let mut state = self.lock();
        if let Err(error) = self.alive(&state) {
            return Poll::Ready(Err(error));
        }
        if state.shut {
            return Poll::Ready(Err(Error::new(
                ErrorKind::BrokenPipe,
                "this side has said that it sends no more",
            )));
        }
        if octets.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let most = octets.len().min(state.credit as usize).min(PIECE);
        if most == 0 || !state.open {
            leave(&mut state.writers, context);
            return Poll::Pending;
        }
        let link = match self.link() {
            Ok(link) => link,
            Err(error) => return Poll::Ready(Err(error)),
        };
        // Twice: room that was found before the waker was left would not be told of.
        for attempt in 0..2 {
            match link.channel().send_some(self.head(Kind::Data), &octets[..most]) {
                Ok(0) if attempt == 0 => {
                    link.wait_for_room(context);
                    // The connection may end before there is room.
                    leave(&mut state.writers, context);
                }
                Ok(0) => {}
                Ok(sent) => {
                    state.credit -= sent as u32;
                    return Poll::Ready(Ok(sent));
                }
                Err(_) => return Poll::Ready(Err(gone())),
            }
        }
        Poll::Pending
    }

    /// Writes what there is credit and room for, from several places.
    pub fn poll_write_vectored(
        &self,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        let mut filled = parts.iter().filter(|part| !part.is_empty());
        match (filled.next(), filled.next()) {
            (None, _) => Poll::Ready(Ok(0)),
            (Some(only), None) => self.poll_write(context, only),
            _ => {
                // One frame for all of them: a frame costs more than a copy.
                let mut together = Vec::with_capacity(
                    parts.iter().map(|part| part.len()).sum::<usize>().min(PIECE),
                );
                for part in parts {
                    let room = PIECE - together.len();
                    together.extend_from_slice(&part[..part.len().min(room)]);
                }
                self.poll_write(context, &together)
            }
        }
    }

    /// Says that this side sends no more. The other direction stays open.
    pub fn shut_down(&self) -> Result<()> {
        let mut state = self.lock();
        if state.shut || state.finished && state.broken.is_some() {
            return Ok(());
        }
        self.alive(&state)?;
        state.shut = true;
        leave_none(&mut state.writers);
        self.tell(Kind::Finish, &[]);
        let over = state.finished;
        drop(state);
        if over {
            self.forget();
        }
        Ok(())
    }

    /// Reads no more: what has come and what still comes is let go, and does not hold up the other
    /// side. Reads give the end of the stream. The other direction stays open.
    pub fn stop_reading(&self) {
        let mut state = self.lock();
        state.deaf = true;
        let left = state.inbound.iter().map(Vec::len).sum::<usize>().saturating_sub(state.read);
        state.inbound.clear();
        state.read = 0;
        leave_none(&mut state.readers);
        self.consumed(&mut state, left);
    }

    /// Lets go of the connection: what was sent arrives, what comes from now on is unwanted. Where
    /// something is there that nobody has read, the other side gets an error in place of the
    /// end of the stream, as with TCP.
    pub fn close(&self) {
        let mut state = self.lock();
        let (finished, shut, broken) = (state.finished, state.shut, state.broken.is_some());
        let unread = !state.inbound.is_empty();
        state.shut = true;
        state.broken.get_or_insert(Cause::Closed);
        state.inbound.clear();
        state.read = 0;
        leave_none(&mut state.readers);
        leave_none(&mut state.writers);
        if broken {
            return;
        }
        if !shut && !unread {
            self.tell(Kind::Finish, &[]);
        }
        if !finished || unread {
            self.tell(Kind::Reset, &[Cause::Closed as u8]);
        }
        drop(state);
        self.forget();
    }

    /// Wakes whoever waits to read or to write, so that it looks at its deadline again.
    pub fn nudge(&self) {
        let mut state = self.lock();
        leave_none(&mut state.readers);
        leave_none(&mut state.writers);
    }

    fn forget(&self) {
        if let Some(link) = self.link.upgrade() {
            link.connections().remove(self.key);
        }
    }

    // What comes from the other side.

    pub(super) fn accepted(&self, credit: u32) -> std::result::Result<(), Violation> {
        let mut state = self.lock();
        if state.open || !self.key.own {
            return Err(Violation::Order);
        }
        state.open = true;
        state.credit = credit;
        leave_none(&mut state.readers);
        leave_none(&mut state.writers);
        Ok(())
    }

    pub(super) fn arrived(&self, octets: Vec<u8>) -> std::result::Result<(), Violation> {
        let mut state = self.lock();
        if state.finished || !state.open {
            return Err(Violation::Order);
        }
        let length = u32::try_from(octets.len()).map_err(|_| Violation::Limit)?;
        state.granted = state.granted.checked_sub(length).ok_or(Violation::Limit)?;
        if octets.is_empty() || state.broken.is_some() {
            return Ok(());
        }
        if state.deaf {
            self.consumed(&mut state, octets.len());
            return Ok(());
        }
        match state.inbound.back_mut() {
            // Many small pieces must not cost many times their octets.
            Some(last) if last.len() + octets.len() <= SMALL => last.extend_from_slice(&octets),
            _ => state.inbound.push_back(octets),
        }
        leave_none(&mut state.readers);
        Ok(())
    }

    pub(super) fn credited(&self, credit: u32) -> std::result::Result<(), Violation> {
        let mut state = self.lock();
        state.credit = state.credit.checked_add(credit).ok_or(Violation::Limit)?;
        leave_none(&mut state.writers);
        Ok(())
    }

    pub(super) fn finished(&self) -> std::result::Result<(), Violation> {
        let mut state = self.lock();
        if state.finished || !state.open {
            return Err(Violation::Order);
        }
        state.finished = true;
        leave_none(&mut state.readers);
        let over = state.shut;
        drop(state);
        if over {
            self.forget();
        }
        Ok(())
    }

    /// The connection is no more; what came before can still be read.
    pub(super) fn broke(&self, cause: Cause) {
        let mut state = self.lock();
        state.broken.get_or_insert(cause);
        leave_none(&mut state.readers);
        leave_none(&mut state.writers);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.close();
    }
}

fn gone() -> Error {
    Error::new(ErrorKind::ConnectionReset, "the other process is gone")
}

fn leave(wakers: &mut Vec<Waker>, context: &Context<'_>) {
    if !wakers.iter().any(|waker| waker.will_wake(context.waker())) {
        wakers.push(context.waker().clone());
    }
}

fn leave_none(wakers: &mut Vec<Waker>) {
    wakers.drain(..).for_each(Waker::wake);
}
