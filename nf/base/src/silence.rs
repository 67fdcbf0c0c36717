//! A member of a set that lets a request's time run out: it may take its time, or stand still. It
//! is asked whether it is there at all; one that says nothing is passed over, and another member
//! gets what comes next. What timed out itself is not repeated: it may have been done.
use crate::discovery::Discovery;
use http::{HeaderMap, Method};
use martlet_sbi::{ApiRoot, Body, Request, Transport};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long one that is there may take to say anything.
const PATIENCE: Duration = Duration::from_secs(1);

/// A request that waits for its answer. Whoever sent it gives up by dropping it.
pub(crate) struct Waiting<'a> {
    inner: &'a Arc<dyn Transport>,
    discovery: &'a Arc<Discovery>,
    to: &'a ApiRoot,
    api: String,
    deadline: Option<Instant>,
    answered: bool,
}

impl<'a> Waiting<'a> {
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
        Waiting {
            inner,
            discovery,
            to,
            api: api.to_string(),
            deadline: request.deadline,
            answered: false,
        }
    }

    /// Something came back.
    pub fn answered(&mut self) {
        self.answered = true;
    }
}

impl Drop for Waiting<'_> {
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
                deadline: Some(Instant::now() + PATIENCE),
            };
            // Any answer will do, also that there is no such thing.
            let answer = tokio::time::timeout(PATIENCE, inner.send(&to, probe)).await;
            if !matches!(answer, Ok(Ok(_))) {
                tracing::warn!(producer = %to, "it answers nothing at all");
                discovery.forget(&to);
                discovery.reselect(&to, &api).await;
            }
            discovery.end_probe(&to);
        });
    }
}
