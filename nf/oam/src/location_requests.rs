//! Periodic location requests: a UE is located again and again, and its track is kept. Tracks are
//! personal data: they stay in memory, and end with the process.
use crate::access_error::AccessError;
use crate::accounts;
use crate::problem::Failure;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::task::AbortHandle;
use utoipa::ToSchema;

/// Requests that run at the same time.
pub const MAX_RUNNING: usize = 32;
/// Maximum number of requests; the oldest ended ones are removed.
const MAX_REQUESTS: usize = 100;
/// Latest positions of a request.
const MAX_POSITIONS: usize = 1000;

/// State of a periodic request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LocationRequestState {
    /// The UE is located at each interval.
    Running,
    /// Its time is over.
    Ended,
    /// A user has stopped it.
    Stopped,
}

/// A position of a UE at a moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Position {
    /// Milliseconds since 1970.
    pub ms: u64,
    /// Degrees north.
    #[schema(example = 54.0924)]
    pub latitude: f64,
    /// Degrees east.
    #[schema(example = 12.0991)]
    pub longitude: f64,
    /// Semi-major axis of the ellipse that has the UE, in metres.
    pub semi_major: f64,
    /// Semi-minor axis in metres.
    pub semi_minor: f64,
    /// Degrees from north to the major axis.
    pub orientation: f64,
    /// How messages to the UE were carried: `userPlane`, or absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
}

/// A periodic location request.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct LocationRequest {
    /// Identity.
    #[schema(example = "3")]
    pub id: String,
    /// Whom it locates.
    #[schema(example = "imsi-001010000000001")]
    pub supi: String,
    /// Seconds between two positions.
    pub interval_s: u64,
    /// State.
    pub state: LocationRequestState,
    /// Who started it.
    pub by: String,
    /// Seconds since 1970.
    pub created: u64,
    /// When it ends, in seconds since 1970.
    pub until: u64,
    /// Attempts without a position.
    pub failures: u64,
    /// Why the latest attempt failed; absent after a success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<String>,
    /// The latest positions, the oldest first. A list has the last one alone.
    pub positions: Vec<Position>,
}

struct Entry {
    request: LocationRequest,
    task: Option<AbortHandle>,
}

#[derive(Default)]
struct State {
    entries: VecDeque<Entry>,
    last: u64,
}

/// All periodic requests.
#[derive(Default)]
pub struct LocationRequests(Mutex<State>);

/// Why a UE was not located.
#[derive(Debug, thiserror::Error)]
pub enum LocateError {
    /// The response has no position.
    #[error("no position")]
    NoPosition,
    /// The core returned an error.
    #[error(transparent)]
    Core(#[from] AccessError),
}

/// The position that a location response has (TS 29.572, LocationData).
pub fn position(location: &Value) -> Option<Position> {
    let shape = &location["locationEstimate"];
    let ellipse = &shape["uncertaintyEllipse"];
    let circle = shape["uncertainty"].as_f64().unwrap_or(0.0);
    let axis = |name: &str| ellipse[name].as_f64().unwrap_or(circle);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Some(Position {
        ms: now.as_millis() as u64,
        latitude: shape["point"]["lat"].as_f64()?,
        longitude: shape["point"]["lon"].as_f64()?,
        semi_major: axis("semiMajor"),
        semi_minor: axis("semiMinor"),
        orientation: ellipse["orientationMajor"].as_f64().unwrap_or(0.0),
        transport: location.get("userPlane").filter(|t| !t.is_null()).map(|_| "userPlane".into()),
    })
}

impl LocationRequests {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All requests, the latest first, each with its last position.
    pub fn list(&self) -> Vec<LocationRequest> {
        let with_last = |entry: &Entry| LocationRequest {
            positions: entry.request.positions.last().cloned().into_iter().collect(),
            ..entry.request.clone()
        };
        self.state().entries.iter().rev().map(with_last).collect()
    }

    /// A request with its positions.
    pub fn get(&self, id: &str) -> Result<LocationRequest, Failure> {
        let state = self.state();
        let entry = state.entries.iter().find(|entry| entry.request.id == id);
        entry.map(|entry| entry.request.clone()).ok_or_else(|| unknown(id))
    }

    /// Stops a request. Its positions stay.
    pub fn stop(&self, id: &str) -> Result<LocationRequest, Failure> {
        let mut state = self.state();
        let entry = state.entries.iter_mut().find(|entry| entry.request.id == id);
        let entry = entry.ok_or_else(|| unknown(id))?;
        if entry.request.state == LocationRequestState::Running {
            entry.request.state = LocationRequestState::Stopped;
        }
        if let Some(task) = entry.task.take() {
            task.abort();
        }
        Ok(entry.request.clone())
    }

    /// Stops a request and removes its positions.
    pub fn remove(&self, id: &str) -> Result<LocationRequest, Failure> {
        let stopped = self.stop(id)?;
        self.state().entries.retain(|entry| entry.request.id != id);
        Ok(stopped)
    }

    /// Adds a running request.
    ///
    /// # Errors
    /// Too many run already.
    pub fn add(
        &self,
        supi: &str,
        interval_s: u64,
        seconds: u64,
        by: &str,
    ) -> Result<LocationRequest, Failure> {
        let mut state = self.state();
        let running = |entry: &&Entry| entry.request.state == LocationRequestState::Running;
        if state.entries.iter().filter(running).count() >= MAX_RUNNING {
            return Err(Failure::too_many("32 periodic requests run already", 60));
        }
        if state.entries.len() >= MAX_REQUESTS {
            let ended = state.entries.iter().position(|entry| !running(&entry));
            ended.map(|at| state.entries.remove(at));
        }
        state.last += 1;
        let created = accounts::now();
        let request = LocationRequest {
            id: state.last.to_string(),
            supi: supi.into(),
            interval_s,
            state: LocationRequestState::Running,
            by: by.into(),
            created,
            until: created + seconds,
            failures: 0,
            last_failure: None,
            positions: Vec::new(),
        };
        state.entries.push_back(Entry { request: request.clone(), task: None });
        Ok(request)
    }

    /// The task of a request.
    pub fn attach(&self, id: &str, task: AbortHandle) {
        let mut state = self.state();
        if let Some(entry) = state.entries.iter_mut().find(|entry| entry.request.id == id) {
            entry.task = Some(task);
        }
    }

    /// The time of a request is over.
    pub fn end(&self, id: &str) {
        self.change(id, |request| request.state = LocationRequestState::Ended);
    }

    fn change(&self, id: &str, change: impl FnOnce(&mut LocationRequest)) {
        let mut state = self.state();
        if let Some(entry) = state.entries.iter_mut().find(|entry| entry.request.id == id) {
            change(&mut entry.request);
        }
    }

    /// Adds the outcome of an attempt.
    pub fn add_outcome(&self, id: &str, outcome: &Result<Position, LocateError>) {
        self.change(id, |request| match outcome {
            Ok(position) => {
                if request.positions.len() >= MAX_POSITIONS {
                    request.positions.remove(0);
                }
                request.positions.push(position.clone());
                request.last_failure = None;
            }
            Err(why) => {
                request.failures += 1;
                request.last_failure = Some(why.to_string());
            }
        });
    }
}

fn unknown(id: &str) -> Failure {
    Failure::not_found(format!("there is no location request {id}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_circle_is_an_ellipse_with_equal_axes() {
        let point = json!({"lat": 54.1, "lon": 12.1});
        let circle = json!({"locationEstimate": {"point": point, "uncertainty": 30.0}});
        let found = position(&circle).unwrap();
        assert_eq!((found.semi_major, found.semi_minor), (30.0, 30.0));
        let ellipse = json!({"semiMajor": 9.0, "semiMinor": 4.0, "orientationMajor": 20});
        let located = json!({"locationEstimate": {"point": point, "uncertaintyEllipse": ellipse}});
        let found = position(&located).unwrap();
        assert_eq!((found.semi_major, found.semi_minor, found.orientation), (9.0, 4.0, 20.0));
        assert_eq!(position(&json!({})), None);
    }

    #[test]
    fn requests_are_bounded_and_a_removed_one_has_no_track() {
        let all = LocationRequests::default();
        for _ in 0..MAX_RUNNING {
            all.add("imsi-001010000000001", 1, 60, "eva").unwrap();
        }
        assert!(all.add("imsi-001010000000001", 1, 60, "eva").is_err());
        let found = Position {
            ms: 1,
            latitude: 1.0,
            longitude: 2.0,
            semi_major: 3.0,
            semi_minor: 3.0,
            orientation: 0.0,
            transport: None,
        };
        (0..MAX_POSITIONS + 5).for_each(|_| all.add_outcome("1", &Ok(found.clone())));
        all.add_outcome("1", &Err(LocateError::NoPosition));
        let request = all.get("1").unwrap();
        assert_eq!((request.positions.len(), request.failures), (MAX_POSITIONS, 1));
        assert_eq!(all.list().last().unwrap().positions.len(), 1);
        assert_eq!(all.stop("1").unwrap().state, LocationRequestState::Stopped);
        assert_eq!(all.get("1").unwrap().positions.len(), MAX_POSITIONS);
        all.remove("1").unwrap();
        assert!(all.get("1").is_err());
    }
}
