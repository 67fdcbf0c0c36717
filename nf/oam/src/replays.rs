//! Responses to requests with idempotency keys.
use crate::problem::Failure;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode};
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Responses that are kept. The oldest of the caller with most of them goes first.
const MAX_REPLAYS: usize = 512;
/// Responses that are kept of one caller.
const MAX_OF_CALLER: usize = 128;
/// How long a response is kept.
const RETENTION: Duration = Duration::from_secs(24 * 3600);

struct Replay {
    caller: String,
    key: String,
    request: Vec<u8>,
    /// `None` while the first request runs, or if it is not kept.
    response: Option<(StatusCode, HeaderMap, Bytes)>,
    at: Instant,
}

/// Responses by caller and key.
#[derive(Default)]
pub struct Replays(Mutex<VecDeque<Replay>>);

impl Replays {
    fn all(&self) -> MutexGuard<'_, VecDeque<Replay>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a request, or returns the response of the same one before.
    pub fn begin(
        &self,
        caller: &str,
        key: &str,
        request: &[u8],
    ) -> Result<Option<Response>, Failure> {
        let mut all = self.all();
        while all.front().is_some_and(|replay| replay.at.elapsed() > RETENTION) {
            all.pop_front();
        }
        let is_same = |replay: &&Replay| replay.caller == caller && replay.key == key;
        let Some(known) = all.iter().find(is_same) else {
            make_room(&mut all, caller);
            let replay = Replay {
                caller: caller.into(),
                key: key.into(),
                request: request.into(),
                response: None,
                at: Instant::now(),
            };
            all.push_back(replay);
            return Ok(None);
        };
        if known.request != request {
            return Err(Failure::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "idempotency-key-reused",
                "The idempotency key belongs to another request",
                "the key was sent with another path or body",
            )
            .remedy("send a new key with each new request"));
        }
        match &known.response {
            Some((status, headers, body)) => {
                let mut response = (*status, body.clone()).into_response();
                *response.headers_mut() = headers.clone();
                response
                    .headers_mut()
                    .insert("idempotent-replay", HeaderValue::from_static("true"));
                Ok(Some(response))
            }
            None => Err(Failure::conflict("the request with this key was done, or runs still")
                .remedy("read the resource to see its result")),
        }
    }

    /// Ends a request: its response, if it is kept and was no failure.
    pub fn end(&self, caller: &str, key: &str, response: Option<(StatusCode, HeaderMap, Bytes)>) {
        let mut all = self.all();
        let is_same = |replay: &Replay| replay.caller == caller && replay.key == key;
        match (response, all.iter().position(is_same)) {
            (Some(response), Some(at)) => {
                if let Some(replay) = all.get_mut(at) {
                    replay.response = Some(response);
                }
            }
            (None, Some(at)) => drop(all.remove(at)),
            (_, None) => {}
        }
    }
}

/// Removes a response if there are too many: the own oldest one of a caller that has its share,
/// else the oldest one of the caller with most of them.
fn make_room(all: &mut VecDeque<Replay>, caller: &str) {
    let own = all.iter().filter(|replay| replay.caller == caller).count();
    if own < MAX_OF_CALLER && all.len() < MAX_REPLAYS {
        return;
    }
    let mut by_caller: HashMap<&str, usize> = HashMap::new();
    all.iter().for_each(|replay| *by_caller.entry(&replay.caller).or_default() += 1);
    let largest = by_caller.into_iter().max_by_key(|(_, count)| *count);
    let whose = if own >= MAX_OF_CALLER { Some(caller) } else { largest.map(|(name, _)| name) };
    let oldest = all.iter().position(|replay| Some(replay.caller.as_str()) == whose);
    oldest.map(|at| all.remove(at));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(replays: &Replays, caller: &str, n: usize) {
        let response = (StatusCode::CREATED, HeaderMap::new(), Bytes::new());
        replays.end(caller, &n.to_string(), Some(response));
    }

    #[test]
    fn attack_keys_of_one_caller_remove_responses_of_others() {
        let replays = Replays::default();
        let begin = |caller: &str, n: usize| replays.begin(caller, &n.to_string(), b"request");
        assert!(matches!(begin("alice", 0), Ok(None)));
        end(&replays, "alice", 0);
        for n in 0..2 * MAX_REPLAYS {
            assert!(matches!(begin("mallory", n), Ok(None)), "request {n}");
            end(&replays, "mallory", n);
        }
        assert_eq!(replays.all().len(), 1 + MAX_OF_CALLER);
        assert!(matches!(begin("alice", 0), Ok(Some(_))));
        // Of many callers, those with most responses make room.
        for caller in 0..MAX_REPLAYS / 2 {
            for n in 0..2 {
                assert!(begin(&format!("caller {caller}"), n).is_ok());
            }
        }
        assert_eq!(replays.all().len(), MAX_REPLAYS);
        assert!(matches!(begin("alice", 0), Ok(Some(_))));
    }

    #[test]
    fn a_known_key_removes_no_response() {
        let replays = Replays::default();
        let begin = |n: usize| replays.begin("alice", &n.to_string(), b"request");
        let is_replayed = |n: usize| matches!(begin(n), Ok(Some(_)));
        for n in 0..MAX_OF_CALLER {
            assert!(matches!(begin(n), Ok(None)), "request {n}");
            end(&replays, "alice", n);
        }
        // The oldest one and the next, again and again.
        assert!([0, 1, 0, 1].into_iter().all(is_replayed));
        // A new key takes the slot of the oldest one.
        assert!(matches!(begin(MAX_OF_CALLER), Ok(None)));
        assert!(is_replayed(1));
        assert!(matches!(begin(0), Ok(None)));
    }
}
