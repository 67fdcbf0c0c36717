//! The NRFs of a network. A function registers with each of them, so that each knows all functions.
//! Other requests are sent to one of them, and to the next one when it does not answer.
use crate::discovery::is_absence;
use martlet_outage::Dependency;
use martlet_sbi::{ApiRoot, BoxFuture, Peer, Problem, Request, Response, Transport};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// Time limit of a request that another NRF can answer instead.
const ATTEMPT_TIMEOUT: Duration = Duration::from_millis(700);

/// One NRF, and the registration there.
pub(crate) struct Nrf {
    /// A client of this NRF alone.
    pub peer: Peer,
    /// The NRF, as readiness and log show it.
    pub state: Dependency,
    /// Whether it has the function's profile.
    pub registered: AtomicBool,
}

/// A transport that sends requests for an NRF to the one that answers.
pub(crate) struct NrfSelection {
    inner: Arc<dyn Transport>,
    roots: Vec<ApiRoot>,
    /// The NRF that answered last.
    current: AtomicUsize,
    /// Another NRF is used.
    changed: Notify,
}

impl NrfSelection {
    pub fn new(inner: Arc<dyn Transport>, roots: Vec<ApiRoot>) -> Self {
        NrfSelection { inner, roots, current: AtomicUsize::new(0), changed: Notify::new() }
    }

    /// Returns when another NRF is used, which has no subscriptions of this function.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    async fn send_to_any(&self, to: &ApiRoot, request: Request) -> Result<Response, Problem> {
        let first = self.current.load(Ordering::Relaxed);
        let mut outcome = None;
        for attempt in 0..self.roots.len() {
            let index = (first + attempt) % self.roots.len();
            let (root, is_last) = (&self.roots[index], attempt + 1 == self.roots.len());
            let Some(mut request) = request.copy() else { break };
            let path = request.target.strip_prefix(&to.prefix).unwrap_or(&request.target);
            request.target = format!("{}{path}", root.prefix);
            let sent = self.inner.send(root, request);
            let answer = match is_last {
                true => sent.await,
                false => tokio::time::timeout(ATTEMPT_TIMEOUT, sent).await.unwrap_or_else(|_| {
                    let late = Problem::new(504, "TIMED_OUT_REQUEST");
                    Err(late.detail(format!("the NRF {root} does not answer")))
                }),
            };
            if !answer.as_ref().is_err_and(is_absence) {
                let before = self.current.swap(index, Ordering::Relaxed);
                if before != index {
                    tracing::warn!(nrf = %root, "another NRF is used");
                    self.changed.notify_one();
                }
                return answer;
            }
            outcome = Some(answer);
        }
        match outcome {
            Some(answer) => answer,
            // The body of the request can be sent once only.
            None => self.inner.send(&self.roots[first], request).await,
        }
    }
}

impl Transport for NrfSelection {
    fn send<'a>(
        &'a self,
        to: &'a ApiRoot,
        request: Request,
    ) -> BoxFuture<'a, Result<Response, Problem>> {
        match self.roots.len() > 1 && self.roots.contains(to) {
            true => Box::pin(self.send_to_any(to, request)),
            false => self.inner.send(to, request),
        }
    }
}
