//! Contexts that are written a flush interval after they were accepted, in one statement for all
//! subscribers.
use crate::StoreError;
use crate::statements::{Change, ContextChanges, Contexts};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};
use tokio::time::sleep;

/// Maximum number of changes that wait; further ones wait for the database.
pub(crate) const MAX_PENDING: usize = 10_000;

/// Maximum time for which a change waits for the next one.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// When a server gets a change. A file gets each at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// After the flush interval.
    Soon,
    /// With the next change that is written soon, in one statement, or after a second.
    WithNext,
}

/// Outcome of a batch, or of an attempt to write it.
#[derive(Debug, Clone, Default)]
struct Finished {
    /// The last batch that was attempted.
    batch: u64,
    failure: Option<Arc<StoreError>>,
}

#[derive(Default)]
struct State {
    pending: ContextChanges,
    /// What is being written.
    in_flight: ContextChanges,
    /// Number of the batch that collects changes.
    batch: u64,
    /// A task writes.
    is_running: bool,
    /// One of `pending` is to be written soon.
    is_due: bool,
    /// The last attempt failed: others may have written the contexts of `pending` meanwhile.
    is_late: bool,
}

pub(crate) struct WriteBehind {
    state: Mutex<State>,
    finished: watch::Sender<Finished>,
    due: Notify,
}

impl WriteBehind {
    pub fn new() -> Self {
        let state = State { batch: 1, ..State::default() };
        let due = Notify::new();
        WriteBehind { state: Mutex::new(state), finished: watch::Sender::default(), due }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Queues a change. Returns its batch, and whether a task that writes must be started.
    pub fn push(
        &self,
        supi: &str,
        kind: &str,
        key: &str,
        value: Option<String>,
        urgency: Urgency,
    ) -> (u64, bool) {
        let mut state = self.state();
        let change = Change { value, accepted: Instant::now() };
        state.pending.insert((supi.into(), kind.into(), key.into()), change);
        if urgency == Urgency::Soon && !std::mem::replace(&mut state.is_due, true) {
            self.due.notify_one();
        }
        let start = !std::mem::replace(&mut state.is_running, true);
        (state.batch, start)
    }

    /// Changes that are not written.
    pub fn pending(&self) -> usize {
        let state = self.state();
        state.pending.len() + state.in_flight.len()
    }

    /// Waits until one of the changes is to be written soon, or all have waited long enough.
    pub async fn until_due(&self) {
        let due = async {
            while !self.state().is_due {
                self.due.notified().await;
            }
        };
        tokio::select! {
            () = due => {}
            () = sleep(LONGEST_WAIT) => {}
        }
    }

    /// Has all changes written soon.
    pub fn hurry(&self) {
        self.state().is_due = true;
        self.due.notify_one();
    }

    /// The batch that collects changes, if any change is not written.
    pub fn unwritten(&self) -> Option<u64> {
        let state = self.state();
        match (state.pending.is_empty(), state.in_flight.is_empty()) {
            (true, true) => None,
            (true, false) => Some(state.batch - 1),
            (false, _) => Some(state.batch),
        }
    }

    /// Applies what is not written to contexts that were read.
    pub fn overlay(&self, supi: &str, contexts: &mut Contexts) {
        let state = self.state();
        let first = (supi.to_string(), String::new(), String::new());
        for changes in [&state.in_flight, &state.pending] {
            let of_supi = changes.range(first.clone()..).take_while(|((of, _, _), _)| of == supi);
            for ((_, kind, key), change) in of_supi {
                let name = (kind.clone(), key.clone());
                match &change.value {
                    Some(value) => drop(contexts.insert(name, value.clone())),
                    None => drop(contexts.remove(&name)),
                }
            }
        }
    }

    /// Takes the changes to write, and whether an earlier attempt failed. `None`, and the end of
    /// the task, if there are none.
    pub fn begin(&self) -> Option<(ContextChanges, bool)> {
        let mut state = self.state();
        if state.pending.is_empty() {
            state.is_running = false;
            return None;
        }
        state.in_flight = std::mem::take(&mut state.pending);
        state.is_due = false;
        state.batch += 1;
        Some((state.in_flight.clone(), state.is_late))
    }

    /// The changes were written, or are to be written again with later ones.
    pub fn end(&self, outcome: Result<(), Arc<StoreError>>) {
        let mut state = self.state();
        let mut written = std::mem::take(&mut state.in_flight);
        let failure = outcome.err();
        state.is_late = failure.is_some();
        if failure.is_some() {
            // Later values win.
            written.append(&mut state.pending);
            state.pending = written;
            state.is_due = true;
        }
        let batch = state.batch - 1;
        drop(state);
        self.finished.send_replace(Finished { batch, failure });
    }

    /// Waits until a batch was attempted.
    ///
    /// # Errors
    /// The attempt failed.
    pub async fn attempted(&self, batch: u64) -> Result<(), StoreError> {
        let mut finished = self.finished.subscribe();
        let outcome = finished.wait_for(|finished| finished.batch >= batch).await;
        match outcome.map_err(|_| StoreError::Ended)?.failure.clone() {
            None => Ok(()),
            Some(error) => Err(StoreError::Shared(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unwritten_changes_are_seen_by_reads_and_written_again_after_a_failure() {
        let writes = WriteBehind::new();
        assert_eq!(writes.push("imsi-1", "amf", "", Some("a".into()), Urgency::Soon), (1, true));
        assert_eq!(writes.push("imsi-1", "smf", "5", None, Urgency::Soon), (1, false));
        let (batch, is_late) = writes.begin().unwrap();
        assert!(batch.len() == 2 && !is_late);
        assert_eq!(writes.push("imsi-1", "amf", "", Some("b".into()), Urgency::Soon), (2, false));
        let mut contexts = Contexts::from([(("smf".into(), "5".into()), "x".into())]);
        writes.overlay("imsi-1", &mut contexts);
        assert_eq!(contexts, Contexts::from([(("amf".into(), String::new()), "b".into())]));
        writes.end(Err(Arc::new(StoreError::Ended)));
        let (again, is_late) = writes.begin().unwrap();
        assert!(again.len() == 2 && is_late);
        let name = ("imsi-1".to_string(), "amf".to_string(), String::new());
        assert_eq!(again[&name].value.as_deref(), Some("b"), "the later value");
        writes.end(Ok(()));
        assert!(writes.begin().is_none());
        assert_eq!((writes.pending(), writes.unwritten()), (0, None));
        assert!(writes.push("imsi-1", "amf", "", None, Urgency::Soon).1, "a task is started again");
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_that_may_wait_is_written_with_the_next_one_or_after_a_second() {
        let writes = WriteBehind::new();
        let begun = tokio::time::Instant::now();
        writes.push("imsi-1", "status", "", Some("a".into()), Urgency::WithNext);
        writes.until_due().await;
        assert_eq!(begun.elapsed(), LONGEST_WAIT);
        assert_eq!(writes.begin().map(|(batch, _)| batch.len()), Some(1));
        writes.end(Ok(()));
        writes.push("imsi-1", "status", "", Some("b".into()), Urgency::WithNext);
        let begun = tokio::time::Instant::now();
        tokio::join!(writes.until_due(), async {
            sleep(LONGEST_WAIT / 4).await;
            writes.push("imsi-1", "amf", "", Some("c".into()), Urgency::Soon);
        });
        assert_eq!(begun.elapsed(), LONGEST_WAIT / 4);
        assert_eq!(writes.begin().map(|(batch, _)| batch.len()), Some(2));
    }
}
