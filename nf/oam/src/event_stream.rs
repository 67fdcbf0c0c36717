//! Server-Sent Events that resume after `Last-Event-ID`.
use crate::accounts::Scope;
use crate::caller::Caller;
use crate::events::{is_personal, is_wanted};
use crate::problem::Failure;
use crate::reader::{RECHECK, may_read};
use crate::state::Oam;
use axum::response::sse;
use futures_util::stream::{self, Stream};
use serde_json::json;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::watch;
use tokio::time::Instant;

/// Readers at the same time.
const MAX_READERS: usize = 64;

/// A reader, counted.
struct Reader(Arc<AtomicUsize>);

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Position {
    oam: Arc<Oam>,
    caller: Caller,
    kinds: Vec<String>,
    number: u64,
    waiting: VecDeque<sse::Event>,
    last: watch::Receiver<u64>,
    recheck: Instant,
    _reader: Reader,
}

/// The stream of a reader. It begins after the event with the identity `after`, or with the next
/// event. If events between are lost, the first one is `reset`.
pub fn stream(
    oam: Arc<Oam>,
    caller: Caller,
    kinds: Vec<String>,
    after: Option<&str>,
) -> Result<impl Stream<Item = Result<sse::Event, Infallible>> + use<>, Failure> {
    let events = &oam.events;
    if events.readers.fetch_add(1, Ordering::Relaxed) >= MAX_READERS {
        events.readers.fetch_sub(1, Ordering::Relaxed);
        return Err(Failure::too_many("64 readers of events are connected", 30));
    }
    let reader = Reader(events.readers.clone());
    let last = events.last.subscribe();
    let current = *last.borrow();
    let resumed = after.map(|id| events.number(id).filter(|number| *number <= current));
    let (number, is_reset) = match resumed {
        None => (current, false),
        Some(Some(number)) => (number, events.after(number).1),
        Some(None) => (current, true),
    };
    let mut waiting = VecDeque::new();
    if is_reset {
        let why = json!({"reason": "events between are lost: read the resources again"});
        waiting.push_back(sse::Event::default().event("reset").data(why.to_string()));
    }
    let recheck = Instant::now() + RECHECK;
    let start = Position { oam, caller, kinds, number, waiting, last, recheck, _reader: reader };
    Ok(stream::unfold(start, |mut position| async move {
        loop {
            if let Some(event) = position.waiting.pop_front() {
                return Some((Ok(event), position));
            }
            position.last.borrow_and_update();
            let (events, _) = position.oam.events.after(position.number);
            for event in events {
                position.number = event.number;
                let may =
                    !is_personal(event.kind) || position.caller.scopes.contains(&Scope::Network);
                if may && is_wanted(&event, &position.kinds) {
                    let id = position.oam.events.id(event.number);
                    let sent = sse::Event::default().id(id).event(event.kind);
                    position.waiting.push_back(sent.data(&*event.data));
                }
            }
            if !position.waiting.is_empty() {
                continue;
            }
            tokio::select! {
                changed = position.last.changed() => changed.ok()?,
                () = tokio::time::sleep_until(position.recheck) => {}
            }
            if position.recheck <= Instant::now() {
                position.recheck = Instant::now() + RECHECK;
                if !may_read(&position.oam, &position.caller).await {
                    return None;
                }
            }
        }
    }))
}
