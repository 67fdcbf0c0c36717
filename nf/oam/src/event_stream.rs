//! Server-Sent Events that resume after `Last-Event-ID`.
use crate::accounts::Scope;
use crate::caller::Caller;
use crate::events::{Event, Events, is_personal, is_wanted};
use crate::problem::Failure;
use crate::reader::{RECHECK, may_read};
use crate::reader_limits::Reader;
use crate::state::Oam;
use axum::response::sse;
use futures_util::stream::{self, Stream};
use serde_json::json;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::time::Instant;

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

/// Says that events are lost.
fn reset() -> sse::Event {
    let why = json!({"reason": "events between are lost: read the resources again"});
    sse::Event::default().event("reset").data(why.to_string())
}

/// Adds the events after a number to those that wait to be sent, with `reset` before them if others
/// are lost. Returns whether there were any.
fn read_on(
    events: &Events,
    number: &mut u64,
    waiting: &mut VecDeque<sse::Event>,
    is_sent: impl Fn(&Event) -> bool,
) -> bool {
    let (read, is_lost) = events.after(*number);
    if is_lost {
        waiting.push_back(reset());
    }
    let is_any = !read.is_empty();
    for event in read {
        *number = event.number;
        if is_sent(&event) {
            let sent = sse::Event::default().id(events.id(event.number)).event(event.kind);
            waiting.push_back(sent.data(&*event.data));
        }
    }
    is_any
}

/// The stream of a reader. It begins after the event with the identity `after`, or with the next
/// event. Where events are lost, the next one is `reset`: they came too long ago, or the reader is
/// slow.
pub fn stream(
    oam: Arc<Oam>,
    caller: Caller,
    kinds: Vec<String>,
    after: Option<&str>,
) -> Result<impl Stream<Item = Result<sse::Event, Infallible>> + use<>, Failure> {
    let events = &oam.events;
    let reader = events.readers.admit(&caller.name)?;
    let last = events.last.subscribe();
    let current = *last.borrow();
    let resumed = after.map(|id| events.number(id).filter(|number| *number <= current));
    let (number, is_of_others) = match resumed {
        None => (current, false),
        Some(Some(number)) => (number, false),
        Some(None) => (current, true),
    };
    let waiting = is_of_others.then(reset).into_iter().collect();
    let recheck = Instant::now() + RECHECK;
    let start = Position { oam, caller, kinds, number, waiting, last, recheck, _reader: reader };
    Ok(stream::unfold(start, |mut position| async move {
        loop {
            if let Some(event) = position.waiting.pop_front() {
                return Some((Ok(event), position));
            }
            position.last.borrow_and_update();
            let Position { oam, caller, kinds, number, waiting, .. } = &mut position;
            let may_trace = caller.scopes.contains(&Scope::Network);
            let is_sent = |event: &Event| {
                (may_trace || !is_personal(event.kind)) && is_wanted(event, kinds.as_slice())
            };
            if read_on(&oam.events, number, waiting, is_sent) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_reader_gets_a_reset_where_events_are_lost() {
        let events = Events::new(16);
        let (mut number, mut waiting) = (0, VecDeque::new());
        (0..5).for_each(|n| events.push("ue", &json!({"n": n})));
        assert!(read_on(&events, &mut number, &mut waiting, |_| true));
        assert_eq!((number, waiting.len()), (5, 5));
        // Four of these are gone when it reads again.
        (0..20).for_each(|n| events.push("ue", &json!({"n": n})));
        waiting.clear();
        assert!(read_on(&events, &mut number, &mut waiting, |_| true));
        assert_eq!((number, waiting.len()), (25, 1 + 16));
        assert!(!read_on(&events, &mut number, &mut waiting, |_| true));
        // More events may follow those that are not sent.
        events.push("gnb", &json!({}));
        waiting.clear();
        assert!(read_on(&events, &mut number, &mut waiting, |event| event.kind == "ue"));
        assert_eq!((number, waiting.len()), (26, 0));
    }
}
