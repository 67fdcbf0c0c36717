//! Multiplexes calls and connections over one channel.
//!
//! A link never blocks. Its driver (a task or a thread) calls [`Link::progress`] when the channel's
//! doorbell is signalled. Waiting callers register a [`Waker`].
pub mod sockets;

use crate::channel::{Channel, Closed, Frame, FrameHeader, FrameKind, Violation};
use crate::limits::ProcessLimits;
use crate::messages::Peer;
use crate::wakers;
use sockets::{Connection, Listener, Table};
use std::collections::HashMap;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::task::{Context, Poll, Waker};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Frames that [`Link::progress`] handles before it returns.
const BATCH: usize = 32;

/// Handles what a process receives over its links.
pub trait Host: Send + Sync {
    /// Handles a request of the peer. The host answers it with [`Link::respond`] or
    /// [`Link::refuse`], now or later.
    ///
    /// # Errors
    /// The request does not decode. The link is closed.
    fn request(&self, link: &Arc<Link>, stream: u32, bytes: Vec<u8>) -> Result<(), Violation>;
    /// The listener that accepts connections to an address.
    fn listener(&self, address: &SocketAddr) -> Option<Arc<Listener>>;
}

/// Why a call failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The peer has not processed the request; it may be retried.
    #[error("request not sent: {0}")]
    NotSent(Closed),
    /// The peer is at its limit of concurrent requests, or no longer serves the authority. It has
    /// not processed the request; it may be retried.
    #[error("request refused: the peer is at its limit or no longer serves the authority")]
    Refused,
    /// The peer may have processed the request.
    #[error("no response: {0}")]
    NoResponse(Closed),
}

enum PendingCall {
    Waiting(Option<Waker>),
    Done(Result<Vec<u8>, CallError>),
}

#[derive(Default)]
struct PendingCalls {
    last: u32,
    by_stream: HashMap<u32, PendingCall>,
}

/// Aborts the processing of a request that its caller has cancelled.
pub type AbortHandle = Box<dyn FnOnce() + Send>;

/// A channel with the calls and connections that it carries.
pub struct Link {
    /// The channel's number, allocated by the manager.
    pub number: u64,
    /// The process at the other end.
    pub peer: Peer,
    channel: Channel,
    calls: Mutex<PendingCalls>,
    /// Limits the outstanding calls to the peer.
    call_permits: Arc<Semaphore>,
    /// Requests of the peer that are being processed.
    serving: Mutex<HashMap<u32, Option<AbortHandle>>>,
    max_serving: usize,
    /// Queued bytes above which nothing new is started.
    backlog: usize,
    connections: Table,
    /// Wakers of the callers that wait for room in the channel.
    room: Mutex<Vec<Waker>>,
    host: Weak<dyn Host>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

impl Link {
    /// A link over a new channel.
    pub fn new(
        number: u64,
        peer: Peer,
        channel: Channel,
        limits: &ProcessLimits,
        host: Weak<dyn Host>,
    ) -> Arc<Link> {
        Arc::new(Link {
            number,
            peer,
            channel,
            calls: Mutex::default(),
            call_permits: Arc::new(Semaphore::new(limits.calls)),
            serving: Mutex::default(),
            max_serving: limits.serving,
            backlog: limits.backlog,
            connections: Table::new(limits.sockets.clone()),
            room: Mutex::default(),
            host,
        })
    }

    /// The channel.
    pub fn channel(&self) -> &Channel {
        &self.channel
    }

    /// Handles up to a batch of received frames. Returns whether there were any. After an error the
    /// caller must [end](Link::end) the link. `frames` is scratch space.
    pub fn progress(self: &Arc<Self>, frames: &mut Vec<Frame>) -> Result<bool, Closed> {
        self.channel.receive(BATCH, frames)?;
        let received = !frames.is_empty();
        for frame in frames.drain(..) {
            self.dispatch(frame).map_err(|violation| self.violated(violation))?;
        }
        if received && self.channel.backlog() > self.max_backlog() {
            // What this process starts is limited, so the excess consists of responses: the peer
            // sends requests and does not receive.
            return Err(self.violated(Violation::Limit));
        }
        if self.channel.backlog() == 0 {
            self.wake_room_waiters();
        }
        Ok(received)
    }

    fn violated(&self, violation: Violation) -> Closed {
        self.channel.close(Closed::Violation(violation));
        self.channel.closed().unwrap_or(Closed::Violation(violation))
    }

    /// The most bytes that can be queued for a conforming peer: the backlog limit, cancellations of
    /// what was started, one frame of each caller that saw room at the same time, and short frames
    /// for each request and connection of the peer.
    fn max_backlog(&self) -> usize {
        const SHORT_FRAMES: usize = 1024;
        let short_frames =
            (self.max_serving + self.connections.limits().connections).saturating_mul(SHORT_FRAMES);
        self.backlog
            .saturating_add(self.channel.max_frame_bytes())
            .saturating_mul(4)
            .saturating_add(short_frames)
    }

    /// Closes the channel and fails everything that waits for it.
    pub fn end(&self) {
        let closed = self.channel.closed().unwrap_or(Closed::Local);
        self.channel.close(closed);
        let streams: Vec<u32> = lock(&self.calls).by_stream.keys().copied().collect();
        streams
            .into_iter()
            .for_each(|stream| self.complete(stream, Err(CallError::NoResponse(closed))));
        self.connections.end();
        let serving = std::mem::take(&mut *lock(&self.serving));
        serving.into_values().flatten().for_each(|abort| abort());
        self.wake_room_waiters();
    }

    fn dispatch(self: &Arc<Self>, frame: Frame) -> Result<(), Violation> {
        let FrameHeader { kind, own, stream } = frame.head;
        match (kind, own) {
            (FrameKind::Request, true) => self.on_request(stream, frame.bytes)?,
            (FrameKind::Response, false) => self.complete(stream, Ok(frame.bytes)),
            (FrameKind::Refused, false) => self.complete(stream, Err(CallError::Refused)),
            (FrameKind::Cancel, true) => {
                // The response may have been sent already.
                let abort = lock(&self.serving).remove(&stream).flatten();
                if let Some(abort) = abort {
                    abort();
                }
            }
            (
                FrameKind::Connect
                | FrameKind::Accept
                | FrameKind::Data
                | FrameKind::Credit
                | FrameKind::Finish
                | FrameKind::Reset,
                _,
            ) => {
                self.connections.dispatch(self, self.host.upgrade(), frame)?;
            }
            _ => return Err(Violation::Order),
        }
        Ok(())
    }

    /// Opens a connection to an address of the peer.
    pub fn connect(self: &Arc<Self>, to: SocketAddr) -> std::io::Result<Arc<Connection>> {
        self.connections.connect(self, to)
    }

    /// Sends a request. The returned future yields the response; dropping it cancels the request.
    pub fn call(self: &Arc<Self>, bytes: &[u8]) -> Result<Call, CallError> {
        let stream = {
            let mut calls = lock(&self.calls);
            loop {
                calls.last = calls.last.wrapping_add(1);
                let stream = calls.last;
                if let std::collections::hash_map::Entry::Vacant(free) =
                    calls.by_stream.entry(stream)
                {
                    free.insert(PendingCall::Waiting(None));
                    break stream;
                }
            }
        };
        let call = Call { link: self.clone(), stream, done: false };
        match self.channel.send(FrameHeader { kind: FrameKind::Request, own: true, stream }, bytes)
        {
            Ok(()) => Ok(call),
            Err(closed) => Err(CallError::NotSent(closed)),
        }
    }

    /// Waits until another call to the peer is allowed; hold the permit until the call is done.
    pub async fn call_permit(&self) -> Option<OwnedSemaphorePermit> {
        self.call_permits.clone().acquire_owned().await.ok()
    }

    /// Whether calls to the peer are outstanding.
    pub fn expects_responses(&self) -> bool {
        !lock(&self.calls).by_stream.is_empty()
    }

    fn complete(&self, stream: u32, outcome: Result<Vec<u8>, CallError>) {
        let mut calls = lock(&self.calls);
        // No entry: the caller cancelled while the response was in transit.
        let Some(call) = calls.by_stream.get_mut(&stream) else { return };
        if let PendingCall::Waiting(waker) = std::mem::replace(call, PendingCall::Done(outcome)) {
            drop(calls);
            waker.into_iter().for_each(Waker::wake);
        }
    }

    fn on_request(self: &Arc<Self>, stream: u32, bytes: Vec<u8>) -> Result<(), Violation> {
        let full = {
            let mut serving = lock(&self.serving);
            if serving.contains_key(&stream) {
                return Err(Violation::Order);
            }
            let full = serving.len() >= self.max_serving;
            if !full {
                serving.insert(stream, None);
            }
            full
        };
        match self.host.upgrade() {
            Some(host) if !full => host.request(self, stream, bytes),
            _ => {
                self.refuse(stream);
                Ok(())
            }
        }
    }

    /// Registers how to abort the processing of a request. Calls `abort` at once if the request is
    /// cancelled already.
    pub fn abort_with(&self, stream: u32, abort: AbortHandle) {
        let mut serving = lock(&self.serving);
        match serving.get_mut(&stream) {
            Some(slot) => *slot = Some(abort),
            None => {
                drop(serving);
                abort();
            }
        }
    }

    /// Answers a request of the peer. Does nothing if the request is cancelled.
    pub fn respond(&self, stream: u32, bytes: &[u8]) {
        self.reply(FrameKind::Response, stream, bytes);
    }

    /// Refuses a request of the peer without processing it; the peer may retry it.
    pub fn refuse(&self, stream: u32) {
        crate::metrics::REFUSED.with_label_values(&["request"]).inc();
        lock(&self.serving).entry(stream).or_default();
        self.reply(FrameKind::Refused, stream, &[]);
    }

    fn reply(&self, kind: FrameKind, stream: u32, bytes: &[u8]) {
        if lock(&self.serving).remove(&stream).is_some() {
            // An error means that the channel is closed, and with it the request.
            let _ = self.channel.send(FrameHeader { kind, own: false, stream }, bytes);
        }
    }

    /// Whether so much is queued for the peer that nothing new should be started.
    pub(crate) fn is_backlogged(&self) -> bool {
        self.channel.backlog() > self.backlog
    }

    /// Ready when at most `limit` bytes are queued for the peer, or the channel is closed.
    pub fn poll_room(&self, limit: usize, context: &mut Context<'_>) -> Poll<()> {
        let ready = || self.channel.closed().is_some() || self.channel.backlog() <= limit;
        if ready() {
            return Poll::Ready(());
        }
        self.wait_for_room(context);
        // Check again: room may have appeared before the waker was registered.
        if ready() { Poll::Ready(()) } else { Poll::Pending }
    }

    fn wake_room_waiters(&self) {
        let mut waiting = std::mem::take(&mut *lock(&self.room));
        wakers::wake_all(&mut waiting);
    }

    /// Registers a waker for the next time that there may be room in the channel.
    fn wait_for_room(&self, context: &Context<'_>) {
        wakers::register(&mut lock(&self.room), context);
    }
}

/// An outstanding call. Dropping it cancels the request.
pub struct Call {
    link: Arc<Link>,
    stream: u32,
    done: bool,
}

impl Future for Call {
    type Output = Result<Vec<u8>, CallError>;
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut calls = lock(&self.link.calls);
        let outcome = match calls.by_stream.get_mut(&self.stream) {
            Some(PendingCall::Waiting(_)) if self.link.channel.closed().is_some() => {
                // `end` may have run before this call was entered.
                Err(CallError::NoResponse(self.link.channel.closed().unwrap_or(Closed::Local)))
            }
            Some(PendingCall::Waiting(waker)) => {
                match waker {
                    Some(waker) => waker.clone_from(context.waker()),
                    None => *waker = Some(context.waker().clone()),
                }
                return Poll::Pending;
            }
            Some(PendingCall::Done(outcome)) => std::mem::replace(outcome, Err(CallError::Refused)),
            None => Err(CallError::NoResponse(Closed::Local)),
        };
        calls.by_stream.remove(&self.stream);
        drop(calls);
        self.done = true;
        Poll::Ready(outcome)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        let pending = lock(&self.link.calls).by_stream.remove(&self.stream);
        if matches!(pending, Some(PendingCall::Waiting(_))) {
            let head = FrameHeader { kind: FrameKind::Cancel, own: true, stream: self.stream };
            let _ = self.link.channel.send(head, &[]);
        }
    }
}
