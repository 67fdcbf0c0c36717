//! Responses to requests with idempotency keys.
use crate::problem::Failure;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Responses that are kept. The oldest go first.
const MAX_REPLAYS: usize = 512;
/// How long a response is kept.
const RETENTION: Duration = Duration::from_secs(24 * 3600);
struct Replay {
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
    pub fn begin(&self, key: &str, request: &[u8]) -> Result<Option<Response>, Failure> {
        let mut all = self.all();
        while all.front().is_some_and(|replay| replay.at.elapsed() > RETENTION) {
            all.pop_front();
        }
        let Some(known) = all.iter().find(|replay| replay.key == key) else {
            if all.len() >= MAX_REPLAYS {
                all.pop_front();
            }
            let replay = Replay {
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
    pub fn end(&self, key: &str, response: Option<(StatusCode, HeaderMap, Bytes)>) {
        let mut all = self.all();
        match (response, all.iter().position(|replay| replay.key == key)) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_key_removes_no_response() {
        let replays = Replays::default();
        let begin = |n: usize| replays.begin(&n.to_string(), b"request");
        let is_replayed = |n: usize| matches!(begin(n), Ok(Some(_)));
        for n in 0..MAX_REPLAYS {
            assert!(matches!(begin(n), Ok(None)), "request {n}");
            let response = (StatusCode::CREATED, HeaderMap::new(), Bytes::new());
            replays.end(&n.to_string(), Some(response));
        }
        // The oldest one and the next, again and again.
        assert!([0, 1, 0, 1].into_iter().all(is_replayed));
        // A new key takes the slot of the oldest one.
        assert!(matches!(begin(MAX_REPLAYS), Ok(None)));
        assert!(is_replayed(1));
        assert!(matches!(begin(0), Ok(None)));
    }
}
