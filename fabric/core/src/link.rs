//! What a channel carries, told apart: calls of ours and their answers, calls of the peer,
//! connections.
//!
//! The link waits for nothing itself. Whoever drives it (a task, a thread) calls [`Link::progress`]
//! when the channel's bell rings; whoever waits for something leaves a [`Waker`].
use crate::channel::{Channel, Closed, Frame, Head, Kind, Violation};
use crate::messages::Peer;
use crate::process::ProcessLimits;
use crate::sockets::{Connection, Listener, Table};
use std::collections::HashMap;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::task::{Context, Poll, Waker};

/// Frames that are taken from a channel before others get their turn.
const BATCH: usize = 32;

/// What a process does with what comes over its links.
pub trait Host: Send + Sync {
    /// A request has come; [`Link::respond`] or [`Link::refuse`] is due.
    fn request(&self, link: &Arc<Link>, stream: u32, octets: Vec<u8>) -> Result<(), Violation>;
    /// Who listens at an address.
    fn listener(&self, address: &SocketAddr) -> Option<Arc<Listener>>;
}

/// How a call failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CallFailed {
    /// The peer has not looked at the request.
    #[error("the request was not sent: {0}")]
    NotSent(Closed),
    /// The peer was asked for more at a time than it takes, or does not serve the authority any
    /// more.
    #[error("the other process did not take the request")]
    Refused,
    /// The peer may have acted on the request.
    #[error("no answer: {0}")]
    NoAnswer(Closed),
}

enum Slot {
    Waiting(Option<Waker>),
    Done(Result<Vec<u8>, CallFailed>),
}

#[derive(Default)]
struct Calls {
    last: u32,
    slots: HashMap<u32, Slot>,
}

/// What ends the work on a request that its consumer has given up.
pub type Abort = Box<dyn FnOnce() + Send>;

/// A channel and what it carries.
pub struct Link {
    /// Number that the manager gave it.
    pub number: u64,
    /// Who has the other end.
    pub peer: Peer,
    channel: Channel,
    calls: Mutex<Calls>,
    /// Calls of ours that may wait for their answer at a time.
    pub(crate) turns: Arc<tokio::sync::Semaphore>,
    /// Requests of the peer that are being served.
    serving: Mutex<HashMap<u32, Option<Abort>>>,
    /// Requests that the peer may have at a time.
    most: usize,
    /// Octets that may wait for room in the channel before there is no more to say.
    backlog: usize,
    connections: Table,
    /// Who waits for room in the channel.
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
            turns: Arc::new(tokio::sync::Semaphore::new(limits.calls)),
            serving: Mutex::default(),
            most: limits.serving,
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

    /// Takes what has come to those whom it concerns; whether there was anything. After an error
    /// the link is to be [ended](Link::end).
    pub fn progress(self: &Arc<Self>, frames: &mut Vec<Frame>) -> Result<bool, Closed> {
        self.channel.receive(BATCH, frames)?;
        let some = !frames.is_empty();
        for frame in frames.drain(..) {
            self.take(frame).map_err(|violation| self.breach(violation))?;
        }
        if some && self.channel.backlog() > self.most_waiting() {
            // What waits is what this process began, which is limited, and answers to what the peer
            // sends: it goes on sending and takes no answers.
            return Err(self.breach(Violation::Limit));
        }
        if self.channel.backlog() == 0 {
            self.nudge();
        }
        Ok(some)
    }

    fn breach(&self, violation: Violation) -> Closed {
        self.channel.close(Closed::Violation(violation));
        self.channel.closed().unwrap_or(Closed::Violation(violation))
    }

    /// Octets that wait for a peer that keeps to the rules at most: as many as there may be before
    /// nothing is begun, the words that take back what was begun, a frame of each who saw that
    /// there was room at the same time, and a few words about each request and connection of
    /// the peer.
    fn most_waiting(&self) -> usize {
        const EACH: usize = 1024;
        let words = (self.most + self.connections.limits().connections).saturating_mul(EACH);
        self.backlog
            .saturating_add(self.channel.longest_frame())
            .saturating_mul(4)
            .saturating_add(words)
    }

    /// Tells everybody who waits that the channel is closed.
    pub fn end(&self) {
        let closed = self.channel.closed().unwrap_or(Closed::Here);
        self.channel.close(closed);
        let slots: Vec<u32> = lock(&self.calls).slots.keys().copied().collect();
        slots
            .into_iter()
            .for_each(|stream| self.answered(stream, Err(CallFailed::NoAnswer(closed))));
        self.connections.end();
        // Nobody is left to hear the answers.
        let serving = std::mem::take(&mut *lock(&self.serving));
        serving.into_values().flatten().for_each(|abort| abort());
        self.nudge();
    }

    fn take(self: &Arc<Self>, frame: Frame) -> Result<(), Violation> {
        let Head { kind, own, stream } = frame.head;
        match (kind, own) {
            (Kind::Request, true) => self.asked(stream, frame.octets)?,
            (Kind::Response, false) => self.answered(stream, Ok(frame.octets)),
            (Kind::Refused, false) => self.answered(stream, Err(CallFailed::Refused)),
            (Kind::Cancel, true) => {
                // The answer may be on its way already.
                let abort = lock(&self.serving).remove(&stream).flatten();
                if let Some(abort) = abort {
                    abort();
                }
            }
            (
                Kind::Connect
                | Kind::Accept
                | Kind::Data
                | Kind::Credit
                | Kind::Finish
                | Kind::Reset,
                _,
            ) => {
                self.connections.take(self, self.host.upgrade(), frame)?;
            }
            _ => return Err(Violation::Order),
        }
        Ok(())
    }

    // Connections.

    /// Asks the peer for a connection to an address.
    pub fn connect(self: &Arc<Self>, to: SocketAddr) -> std::io::Result<Arc<Connection>> {
        self.connections.connect(self, to)
    }

    pub(crate) fn connections(&self) -> &Table {
        &self.connections
    }

    // Calls of ours.

    /// Sends a request; the future gives its answer. Dropping the future tells the peer that nobody
    /// waits any more.
    pub fn call(self: &Arc<Self>, octets: &[u8]) -> Result<Call, CallFailed> {
        let stream = {
            let mut calls = lock(&self.calls);
            loop {
                calls.last = calls.last.wrapping_add(1);
                let stream = calls.last;
                if let std::collections::hash_map::Entry::Vacant(free) = calls.slots.entry(stream) {
                    free.insert(Slot::Waiting(None));
                    break stream;
                }
            }
        };
        let call = Call { link: self.clone(), stream, over: false };
        match self.channel.send(Head { kind: Kind::Request, own: true, stream }, octets) {
            Ok(()) => Ok(call),
            Err(closed) => Err(CallFailed::NotSent(closed)),
        }
    }

    /// Whether calls of ours wait for their answers.
    pub fn expects_answers(&self) -> bool {
        !lock(&self.calls).slots.is_empty()
    }

    fn answered(&self, stream: u32, outcome: Result<Vec<u8>, CallFailed>) {
        let mut calls = lock(&self.calls);
        // Nobody waits for it any more: the consumer gave up while the answer was on its way.
        let Some(slot) = calls.slots.get_mut(&stream) else { return };
        if let Slot::Waiting(waker) = std::mem::replace(slot, Slot::Done(outcome)) {
            drop(calls);
            waker.into_iter().for_each(Waker::wake);
        }
    }

    // Calls of the peer.

    fn asked(self: &Arc<Self>, stream: u32, octets: Vec<u8>) -> Result<(), Violation> {
        let full = {
            let mut serving = lock(&self.serving);
            if serving.contains_key(&stream) {
                return Err(Violation::Order);
            }
            let full = serving.len() >= self.most;
            if !full {
                serving.insert(stream, None);
            }
            full
        };
        match self.host.upgrade() {
            Some(host) if !full => host.request(self, stream, octets),
            _ => {
                self.refuse(stream);
                Ok(())
            }
        }
    }

    /// Says how the work on a request can be ended; at once, if its consumer has given up by now.
    pub fn abort_with(&self, stream: u32, abort: Abort) {
        let mut serving = lock(&self.serving);
        match serving.get_mut(&stream) {
            Some(place) => *place = Some(abort),
            None => {
                drop(serving);
                abort();
            }
        }
    }

    /// Answers a request. An answer that nobody waits for any more is not sent.
    pub fn respond(&self, stream: u32, octets: &[u8]) {
        self.reply(Kind::Response, stream, octets);
    }

    /// Says that a request was not looked at.
    pub fn refuse(&self, stream: u32) {
        crate::metrics::REFUSED.with_label_values(&["request"]).inc();
        lock(&self.serving).entry(stream).or_default();
        self.reply(Kind::Refused, stream, &[]);
    }

    fn reply(&self, kind: Kind, stream: u32, octets: &[u8]) {
        if lock(&self.serving).remove(&stream).is_some() {
            // On a closed channel there is nobody to tell.
            let _ = self.channel.send(Head { kind, own: false, stream }, octets);
        }
    }

    // Room.

    /// Whether the peer has left so much waiting that nothing new should be begun with it.
    pub(crate) fn is_overdue(&self) -> bool {
        self.channel.backlog() > self.backlog
    }

    /// Ready when no more than `most` octets wait for room in the channel.
    pub fn poll_room(&self, most: usize, context: &mut Context<'_>) -> Poll<()> {
        if self.channel.closed().is_some() || self.channel.backlog() <= most {
            return Poll::Ready(());
        }
        self.wait_for_room(context);
        // Room may have been found, or the channel closed, before the waker was left.
        match self.channel.closed().is_some() || self.channel.backlog() <= most {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

impl Link {
    /// Wakes whoever waits for room.
    pub(crate) fn nudge(&self) {
        let waiting = std::mem::take(&mut *lock(&self.room));
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Leaves a waker for the next time that there may be room in the channel.
    pub(crate) fn wait_for_room(&self, context: &Context<'_>) {
        let mut room = lock(&self.room);
        if !room.iter().any(|waker| waker.will_wake(context.waker())) {
            room.push(context.waker().clone());
        }
    }
}

/// A call that is on its way.
pub struct Call {
    link: Arc<Link>,
    stream: u32,
    over: bool,
}

impl Future for Call {
    type Output = Result<Vec<u8>, CallFailed>;
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut calls = lock(&self.link.calls);
        let outcome = match calls.slots.get_mut(&self.stream) {
            Some(Slot::Waiting(_)) if self.link.channel.closed().is_some() => {
                // Closed before this call was entered, or just now: `end` may have passed already.
                Err(CallFailed::NoAnswer(self.link.channel.closed().unwrap_or(Closed::Here)))
            }
            Some(Slot::Waiting(waker)) => {
                match waker {
                    Some(waker) => waker.clone_from(context.waker()),
                    None => *waker = Some(context.waker().clone()),
                }
                return Poll::Pending;
            }
            Some(Slot::Done(outcome)) => std::mem::replace(outcome, Err(CallFailed::Refused)),
            None => Err(CallFailed::NoAnswer(Closed::Here)),
        };
        calls.slots.remove(&self.stream);
        drop(calls);
        self.over = true;
        Poll::Ready(outcome)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let unanswered =
            matches!(lock(&self.link.calls).slots.remove(&self.stream), Some(Slot::Waiting(_)));
        if unanswered {
            let _ = self
                .link
                .channel
                .send(Head { kind: Kind::Cancel, own: true, stream: self.stream }, &[]);
        }
    }
}
