//! Contexts that are written a flush interval after they were accepted, in one statement for all
//! subscribers.
use crate::StoreError;
use crate::statements::{ContextChanges, Contexts};
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::watch;

/// Changes that wait at most; further ones wait for the database.
pub(crate) const MAX_PENDING: usize = 10_000;

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
}

pub(crate) struct WriteBehind {
    state: Mutex<State>,
    finished: watch::Sender<Finished>,
}

impl WriteBehind {
    pub fn new() -> Self {
        let state = State { batch: 1, ..State::default() };
        WriteBehind { state: Mutex::new(state), finished: watch::Sender::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Queues a change. Returns its batch, and whether a task that writes must be started.
    pub fn push(&self, supi: &str, kind: &str, key: &str, value: Option<String>) -> (u64, bool) {
        let mut state = self.state();
        state.pending.insert((supi.into(), kind.into(), key.into()), value);
        let start = !std::mem::replace(&mut state.is_running, true);
        (state.batch, start)
    }

    /// Changes that are not written.
    pub fn pending(&self) -> usize {
        let state = self.state();
        state.pending.len() + state.in_flight.len()
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
            for ((_, kind, key), value) in of_supi {
                let name = (kind.clone(), key.clone());
                match value {
                    Some(value) => drop(contexts.insert(name, value.clone())),
                    None => drop(contexts.remove(&name)),
                }
            }
        }
    }

    /// Takes the changes to write. `None`, and the end of the task, if there are none.
    pub fn begin(&self) -> Option<ContextChanges> {
        let mut state = self.state();
        if state.pending.is_empty() {
            state.is_running = false;
            return None;
        }
        state.in_flight = std::mem::take(&mut state.pending);
        state.batch += 1;
        Some(state.in_flight.clone())
    }

    /// The changes were written, or are to be written again with later ones.
    pub fn end(&self, outcome: Result<(), Arc<StoreError>>) {
        let mut state = self.state();
        let mut written = std::mem::take(&mut state.in_flight);
        let failure = outcome.err();
        if failure.is_some() {
            // Later values win.
            written.append(&mut state.pending);
            state.pending = written;
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
        assert_eq!(writes.push("imsi-1", "amf", "", Some("a".into())), (1, true));
        assert_eq!(writes.push("imsi-1", "smf", "5", None), (1, false));
        let batch = writes.begin().unwrap();
        assert_eq!(batch.len(), 2);
        assert_eq!(writes.push("imsi-1", "amf", "", Some("b".into())), (2, false));
        let mut contexts = Contexts::from([(("smf".into(), "5".into()), "x".into())]);
        writes.overlay("imsi-1", &mut contexts);
        assert_eq!(contexts, Contexts::from([(("amf".into(), String::new()), "b".into())]));
        writes.end(Err(Arc::new(StoreError::Ended)));
        let again = writes.begin().unwrap();
        assert_eq!(again.len(), 2);
        let name = ("imsi-1".to_string(), "amf".to_string(), String::new());
        assert_eq!(again[&name].as_deref(), Some("b"), "the later value");
        writes.end(Ok(()));
        assert!(writes.begin().is_none());
        assert_eq!((writes.pending(), writes.unwritten()), (0, None));
        assert!(writes.push("imsi-1", "amf", "", None).1, "a task is started again");
    }
}
