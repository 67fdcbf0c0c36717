//! Liveness probe of a member of an NF set whose answer timed out: it may be slow or dead. A member
//! that does not answer the probe is avoided, and another one gets the next requests. The request
//! that timed out is not repeated, since it may have been executed.
use crate::discovery::Discovery;
use http::{HeaderMap, Method};
use martlet_sbi::{ApiRoot, Body, Request, Transport};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time limit of the probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);

/// A request without an answer so far. Dropping it before [`PendingRequest::answered`] starts a
/// probe.
pub(crate) struct PendingRequest<'a> {
    inner: &'a Arc<dyn Transport>,
    discovery: &'a Arc<Discovery>,
    to: &'a ApiRoot,
    api: String,
    deadline: Option<Instant>,
    answered: bool,
}

impl<'a> PendingRequest<'a> {
    /// For a request to a producer.
    pub fn new(
        inner: &'a Arc<dyn Transport>,
        discovery: &'a Arc<Discovery>,
        to: &'a ApiRoot,
        request: &Request,
    ) -> Self {
        let api = request
            .target
            .strip_prefix(&to.prefix)
            .and_then(|path| path.split('/').nth(1))
            .unwrap_or_default();
        PendingRequest {
            inner,
            discovery,
            to,
            api: api.to_string(),
            deadline: request.deadline,
            answered: false,
        }
    }

    /// An answer arrived.
    pub fn answered(&mut self) {
        self.answered = true;
    }
}

impl Drop for PendingRequest<'_> {
    fn drop(&mut self) {
        let over = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.answered || !over || !self.discovery.begin_probe(self.to) {
            return;
        }
        let (inner, discovery, to) = (self.inner.clone(), self.discovery.clone(), self.to.clone());
        let api = std::mem::take(&mut self.api);
        runtime.spawn(async move {
            let probe = Request {
                operation: None,
                method: Method::GET,
                target: format!("{}/", to.prefix),
                headers: HeaderMap::new(),
                body: Body::empty(),
                deadline: Some(Instant::now() + PROBE_TIMEOUT),
            };
            // Any answer shows that it lives, also an error.
            let answer = tokio::time::timeout(PROBE_TIMEOUT, inner.send(&to, probe)).await;
            if !matches!(answer, Ok(Ok(_))) {
                tracing::warn!(producer = %to, "producer does not answer the liveness probe");
                discovery.mark_failed(&to);
                discovery.reselect(&to, &api).await;
            }
            discovery.end_probe(&to);
        });
    }
}
