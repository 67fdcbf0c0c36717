//! The bounded ring of events.
use crate::accounts;
use crate::reader_limits::Readers;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Events that a reader gets at once.
const BATCH: usize = 256;
/// Readers at the same time.
const MAX_READERS: usize = 64;
/// Those of a user: a window of the console has one.
const MAX_READERS_OF_USER: usize = 16;
/// An event.
#[derive(Debug, Clone)]
pub struct Event {
    /// Number; later ones are higher.
    pub number: u64,
    /// `ue`, `ue_state`, `gnb`, `function`, `alarm`, `overview`, `packet` or `position`.
    pub kind: &'static str,
    /// The data as JSON.
    pub data: Arc<str>,
}

/// The ring of events.
pub struct Events {
    ring: Mutex<VecDeque<Event>>,
    capacity: usize,
    /// The number of the last event.
    pub(crate) last: watch::Sender<u64>,
    /// Differs between processes, so that a reader of another one begins again.
    epoch: u64,
    pub(crate) readers: Arc<Readers>,
}

impl Events {
    /// A ring for so many events.
    pub fn new(capacity: usize) -> Self {
        Events {
            ring: Mutex::default(),
            capacity,
            last: watch::channel(0).0,
            epoch: accounts::now(),
            readers: Readers::new("events", MAX_READERS, MAX_READERS_OF_USER),
        }
    }

    fn ring(&self) -> MutexGuard<'_, VecDeque<Event>> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of readers.
    pub fn readers(&self) -> usize {
        self.readers.count()
    }

    /// Adds an event.
    pub fn push(&self, kind: &'static str, data: &Value) {
        let mut ring = self.ring();
        let number = *self.last.borrow() + 1;
        if ring.len() >= self.capacity {
            ring.pop_front();
        }
        ring.push_back(Event { number, kind, data: data.to_string().into() });
        drop(ring);
        self.last.send_replace(number);
    }

    /// The latest events of these kinds; all if there is none.
    pub fn latest(&self, kinds: &[String], limit: usize) -> Vec<Event> {
        let is_wanted = |event: &&Event| is_wanted(event, kinds);
        let mut latest: Vec<Event> =
            self.ring().iter().rev().filter(is_wanted).take(limit).cloned().collect();
        latest.reverse();
        latest
    }

    /// Events after a number, and whether older ones are lost.
    pub(crate) fn after(&self, number: u64) -> (Vec<Event>, bool) {
        let ring = self.ring();
        let is_lost = ring.front().is_some_and(|first| first.number > number + 1);
        let start = ring.partition_point(|event| event.number <= number);
        (ring.range(start..).take(BATCH).cloned().collect(), is_lost)
    }

    /// The identity of an event.
    pub fn id(&self, number: u64) -> String {
        format!("{:x}-{number}", self.epoch)
    }

    /// The number of an identity; `None` for one of another process.
    pub(crate) fn number(&self, id: &str) -> Option<u64> {
        let (epoch, number) = id.split_once('-')?;
        (u64::from_str_radix(epoch, 16).ok()? == self.epoch).then(|| number.parse().ok())?
    }
}

/// Whether events of a kind are for those who may trace and locate UEs.
pub(crate) fn is_personal(kind: &str) -> bool {
    matches!(kind, "packet" | "position")
}

pub(crate) fn is_wanted(event: &Event, kinds: &[String]) -> bool {
    kinds.is_empty() || kinds.iter().any(|kind| kind == event.kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_ring_is_bounded_and_reports_lost_events() {
        let events = Events::new(16);
        (0..20).for_each(|n| events.push("ue", &json!({"n": n})));
        let (rest, is_lost) = events.after(18);
        assert_eq!((rest.len(), is_lost), (2, false));
        assert!(events.after(2).1);
        assert_eq!(events.number(&events.id(7)), Some(7));
        assert_eq!(events.number("0-7"), None, "of another process");
        assert_eq!(events.latest(&["gnb".into()], 5).len(), 0);
        assert_eq!(events.latest(&[], 5).last().unwrap().number, 20);
    }
}
