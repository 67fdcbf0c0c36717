//! One side of a connection. Nothing here blocks: an operation that cannot proceed registers a
//! waker.
use super::AbortCause;
use crate::channel::{FrameHeader, FrameKind, Violation};
use crate::link::Link;
use crate::wakers;
use std::collections::VecDeque;
use std::io::{Error, ErrorKind, IoSlice, Result};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::task::{Context, Poll, Waker};

/// Maximum payload of a data frame in bytes.
const MAX_DATA_BYTES: usize = 64 << 10;

/// Received pieces are joined up to this many bytes.
const COALESCE_BYTES: usize = 4096;

/// Identifies a connection of a link: its number, and whether this side allocated it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub own: bool,
    pub stream: u32,
}

#[derive(Default)]
struct State {
    /// The connection is established.
    open: bool,
    received: VecDeque<Vec<u8>>,
    /// Bytes already read of the first received piece.
    read: usize,
    /// Bytes that the peer may still send.
    granted: u32,
    /// Bytes read for which no new credit was granted yet.
    consumed: u32,
    /// Bytes that this side may still send.
    credit: u32,
    /// The peer sends no more data.
    peer_finished: bool,
    /// This side sends no more data.
    write_closed: bool,
    /// This side reads no more: received data is discarded.
    discarding: bool,
    aborted: Option<AbortCause>,
    readers: Vec<Waker>,
    writers: Vec<Waker>,
}

/// One side of a connection. Dropping it closes the connection.
pub struct Connection {
    link: Weak<Link>,
    key: Key,
    local: SocketAddr,
    peer: SocketAddr,
    /// The user of the process at the other end.
    peer_user: Option<u32>,
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
            peer_user: link.peer.user,
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

    /// The peer's address.
    pub fn peer_addr(&self) -> SocketAddr {
        self.peer
    }

    /// The user of the process at the other end, if the manager reports it.
    pub fn peer_user(&self) -> Option<u32> {
        self.peer_user
    }

    fn head(&self, kind: FrameKind) -> FrameHeader {
        FrameHeader { kind, own: self.key.own, stream: self.key.stream }
    }

    /// The link, if its channel is open.
    fn link(&self) -> Result<Arc<Link>> {
        self.link.upgrade().filter(|link| link.channel().closed().is_none()).ok_or_else(peer_gone)
    }

    /// Sends a frame. Callers hold the state lock, so frames of several threads are sent in the
    /// order of the state changes.
    fn send(&self, kind: FrameKind, bytes: &[u8]) {
        // A closed channel has aborted the connection already.
        if let Ok(link) = self.link() {
            let _ = link.channel().send(self.head(kind), bytes);
        }
    }

    /// Ready when the connection is established or has failed.
    pub fn poll_open(&self, context: &mut Context<'_>) -> Poll<Result<()>> {
        let mut state = self.lock();
        if state.open {
            return Poll::Ready(Ok(()));
        }
        if let Err(error) = self.ensure_alive(&state) {
            return Poll::Ready(Err(error));
        }
        wakers::register(&mut state.readers, context);
        Poll::Pending
    }

    fn ensure_alive(&self, state: &State) -> Result<()> {
        match state.aborted {
            Some(cause) => Err(cause.error()),
            None => self.link().map(|_| ()),
        }
    }

    /// Reads available data. Yields 0 at the end of the stream.
    pub fn poll_read(&self, context: &mut Context<'_>, buffer: &mut [u8]) -> Poll<Result<usize>> {
        if buffer.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let mut state = self.lock();
        if state.discarding {
            return Poll::Ready(Ok(0));
        }
        let mut copied = 0;
        while copied < buffer.len() {
            let Some(piece) = state.received.front() else { break };
            let rest = piece.get(state.read..).unwrap_or_default();
            let taken = rest.len().min(buffer.len() - copied);
            buffer[copied..copied + taken].copy_from_slice(&rest[..taken]);
            copied += taken;
            if taken == rest.len() {
                state.received.pop_front();
                state.read = 0;
            } else {
                state.read += taken;
            }
        }
        if copied > 0 {
            self.grant_credit(&mut state, copied);
            return Poll::Ready(Ok(copied));
        }
        if state.peer_finished {
            return Poll::Ready(Ok(0));
        }
        if let Err(error) = self.ensure_alive(&state) {
            return Poll::Ready(Err(error));
        }
        wakers::register(&mut state.readers, context);
        Poll::Pending
    }

    /// Counts bytes as read. Grants new credit each time half of the window was read.
    fn grant_credit(&self, state: &mut State, bytes: usize) {
        state.consumed = state.consumed.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
        if state.consumed < self.window / 2 || state.peer_finished || state.aborted.is_some() {
            return;
        }
        let credit = std::mem::take(&mut state.consumed);
        state.granted = state.granted.saturating_add(credit);
        self.send(FrameKind::Credit, &credit.to_le_bytes());
    }

    /// Writes as much as there is credit and room for. Yields the number of bytes written.
    pub fn poll_write(&self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        let mut state = self.lock();
        if let Err(error) = self.ensure_alive(&state) {
            return Poll::Ready(Err(error));
        }
        if state.write_closed {
            return Poll::Ready(Err(Error::new(
                ErrorKind::BrokenPipe,
                "this side has closed its sending direction",
            )));
        }
        if bytes.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let length = bytes.len().min(state.credit as usize).min(MAX_DATA_BYTES);
        if length == 0 || !state.open {
            wakers::register(&mut state.writers, context);
            return Poll::Pending;
        }
        let link = match self.link() {
            Ok(link) => link,
            Err(error) => return Poll::Ready(Err(error)),
        };
        // Try twice: room that appeared before the waker was registered causes no wakeup.
        for attempt in 0..2 {
            match link.channel().send_some(self.head(FrameKind::Data), &bytes[..length]) {
                Ok(0) if attempt == 0 => {
                    link.wait_for_room(context);
                    // The connection may be aborted before there is room.
                    wakers::register(&mut state.writers, context);
                }
                Ok(0) => {}
                Ok(sent) => {
                    state.credit -= sent as u32;
                    return Poll::Ready(Ok(sent));
                }
                Err(_) => return Poll::Ready(Err(peer_gone())),
            }
        }
        Poll::Pending
    }

    /// Like [`Connection::poll_write`], from several slices.
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
                // Join the slices into one frame: a frame costs more than a copy.
                let mut together = Vec::with_capacity(
                    parts.iter().map(|part| part.len()).sum::<usize>().min(MAX_DATA_BYTES),
                );
                for part in parts {
                    let room = MAX_DATA_BYTES - together.len();
                    together.extend_from_slice(&part[..part.len().min(room)]);
                }
                self.poll_write(context, &together)
            }
        }
    }

    /// Closes the sending direction. The receiving direction stays open.
    pub fn shutdown_write(&self) -> Result<()> {
        let mut state = self.lock();
        if state.write_closed || state.peer_finished && state.aborted.is_some() {
            return Ok(());
        }
        self.ensure_alive(&state)?;
        state.write_closed = true;
        wakers::wake_all(&mut state.writers);
        self.send(FrameKind::Finish, &[]);
        let over = state.peer_finished;
        drop(state);
        if over {
            self.remove_from_table();
        }
        Ok(())
    }

    /// Closes the receiving direction: received and future data is discarded without blocking the
    /// peer, and reads yield the end of the stream. The sending direction stays open.
    pub fn stop_reading(&self) {
        let mut state = self.lock();
        state.discarding = true;
        let left = state.received.iter().map(Vec::len).sum::<usize>().saturating_sub(state.read);
        state.received.clear();
        state.read = 0;
        wakers::wake_all(&mut state.readers);
        self.grant_credit(&mut state, left);
    }

    /// Closes the connection. Data that was sent still arrives; received data is discarded. If
    /// there is unread data, the peer gets a reset instead of the end of the stream, as with TCP.
    pub fn close(&self) {
        let mut state = self.lock();
        let (peer_finished, write_closed, aborted) =
            (state.peer_finished, state.write_closed, state.aborted.is_some());
        let unread = !state.received.is_empty();
        state.write_closed = true;
        state.aborted.get_or_insert(AbortCause::Closed);
        state.received.clear();
        state.read = 0;
        wakers::wake_all(&mut state.readers);
        wakers::wake_all(&mut state.writers);
        if aborted {
            return;
        }
        if !write_closed && !unread {
            self.send(FrameKind::Finish, &[]);
        }
        if !peer_finished || unread {
            self.send(FrameKind::Reset, &[AbortCause::Closed as u8]);
        }
        drop(state);
        self.remove_from_table();
    }

    /// Wakes all readers and writers, so that they check their deadlines again.
    pub fn wake_waiters(&self) {
        let mut state = self.lock();
        wakers::wake_all(&mut state.readers);
        wakers::wake_all(&mut state.writers);
    }

    fn remove_from_table(&self) {
        if let Some(link) = self.link.upgrade() {
            link.connections.remove(self.key);
        }
    }

    pub(super) fn on_accept(&self, credit: u32) -> std::result::Result<(), Violation> {
        let mut state = self.lock();
        if state.open || !self.key.own {
            return Err(Violation::Order);
        }
        state.open = true;
        state.credit = credit;
        wakers::wake_all(&mut state.readers);
        wakers::wake_all(&mut state.writers);
        Ok(())
    }

    pub(super) fn on_data(&self, bytes: Vec<u8>) -> std::result::Result<(), Violation> {
        let mut state = self.lock();
        if state.peer_finished || !state.open {
            return Err(Violation::Order);
        }
        let length = u32::try_from(bytes.len()).map_err(|_| Violation::Limit)?;
        state.granted = state.granted.checked_sub(length).ok_or(Violation::Limit)?;
        if bytes.is_empty() || state.aborted.is_some() {
            return Ok(());
        }
        if state.discarding {
            self.grant_credit(&mut state, bytes.len());
            return Ok(());
        }
        match state.received.back_mut() {
            // Joining bounds the overhead of many small pieces.
            Some(last) if last.len() + bytes.len() <= COALESCE_BYTES => {
                last.extend_from_slice(&bytes)
            }
            _ => state.received.push_back(bytes),
        }
        wakers::wake_all(&mut state.readers);
        Ok(())
    }

    pub(super) fn on_credit(&self, credit: u32) -> std::result::Result<(), Violation> {
        let mut state = self.lock();
        state.credit = state.credit.checked_add(credit).ok_or(Violation::Limit)?;
        wakers::wake_all(&mut state.writers);
        Ok(())
    }

    pub(super) fn on_finish(&self) -> std::result::Result<(), Violation> {
        let mut state = self.lock();
        if state.peer_finished || !state.open {
            return Err(Violation::Order);
        }
        state.peer_finished = true;
        wakers::wake_all(&mut state.readers);
        let over = state.write_closed;
        drop(state);
        if over {
            self.remove_from_table();
        }
        Ok(())
    }

    /// Aborts the connection. Data received before can still be read.
    pub(super) fn on_abort(&self, cause: AbortCause) {
        let mut state = self.lock();
        state.aborted.get_or_insert(cause);
        wakers::wake_all(&mut state.readers);
        wakers::wake_all(&mut state.writers);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.close();
    }
}

fn peer_gone() -> Error {
    Error::new(ErrorKind::ConnectionReset, "the peer process is gone")
}
