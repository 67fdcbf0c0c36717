//! Groups of subscribers with the numbers of their members. Counting reads all subscribers, so that
//! the last result serves for a while.
use serde::Serialize;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use utoipa::ToSchema;

/// How long the numbers are valid, if nothing is changed over the API.
const VALIDITY: Duration = Duration::from_secs(10);

/// A group of subscribers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct GroupView {
    /// Name.
    #[schema(example = "sensors")]
    pub name: String,
    /// Number of its subscribers.
    pub subscribers: u64,
}

/// The groups of the latest list.
#[derive(Default)]
pub struct GroupCache(Mutex<Option<(Instant, Vec<GroupView>)>>);

impl GroupCache {
    fn state(&self) -> MutexGuard<'_, Option<(Instant, Vec<GroupView>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The groups, while they are valid.
    pub fn get(&self) -> Option<Vec<GroupView>> {
        let state = self.state();
        state.as_ref().filter(|(at, _)| at.elapsed() < VALIDITY).map(|(_, groups)| groups.clone())
    }

    /// The groups were counted.
    pub fn set(&self, groups: &[GroupView]) {
        *self.state() = Some((Instant::now(), groups.to_vec()));
    }

    /// Subscribers were changed.
    pub fn clear(&self) {
        *self.state() = None;
    }
}
