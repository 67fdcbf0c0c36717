//! The binding `local`: producers of this process are called directly, with typed bodies.
use crate::Router;
use std::collections::HashMap;
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// How long a request waits for a producer that restarts.
const RESTART_TIMEOUT: Duration = Duration::from_secs(1);

/// The producers of this process, by the authority of their API root.
#[derive(Clone, Default)]
pub struct LocalBinding {
    /// `None` while a producer restarts.
    producers: Arc<RwLock<HashMap<String, Option<Arc<Router>>>>>,
    changed: Arc<Notify>,
}

/// The state of a producer.
pub(crate) enum Producer {
    /// The producer serves requests.
    Serving(Arc<Router>),
    /// The producer restarts: requests wait.
    Restarting,
    /// The producer does not run in this process.
    Absent,
}

impl LocalBinding {
    /// A binding without producers.
    pub fn new() -> Self {
        LocalBinding::default()
    }

    /// Adds a producer.
    pub fn add(&self, authority: &str, router: Arc<Router>) {
        self.set(authority, Some(router));
    }

    /// A producer restarts: requests wait until it is added again or removed, for a second at
    /// most.
    pub fn suspend(&self, authority: &str) {
        self.set(authority, None);
    }

    fn set(&self, authority: &str, router: Option<Arc<Router>>) {
        self.producers
            .write()
            .unwrap_or_else(|e| e.into_inner())
            .insert(authority.to_string(), router);
        self.changed.notify_waiters();
    }

    /// Removes a producer.
    pub fn remove(&self, authority: &str) {
        self.producers.write().unwrap_or_else(|e| e.into_inner()).remove(authority);
        self.changed.notify_waiters();
    }

    pub(crate) fn find(&self, authority: &str) -> Producer {
        match self.producers.read().unwrap_or_else(|e| e.into_inner()).get(authority) {
            Some(Some(router)) => Producer::Serving(router.clone()),
            Some(None) => Producer::Restarting,
            None => Producer::Absent,
        }
    }

    /// Waits until a producer that restarts serves again. `None` if it does not in time.
    pub(crate) async fn wait_for(
        &self,
        authority: &str,
        deadline: Option<Instant>,
    ) -> Option<Arc<Router>> {
        let limit = Instant::now() + RESTART_TIMEOUT;
        let limit = deadline.map_or(limit, |deadline| deadline.min(limit));
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            match self.find(authority) {
                Producer::Serving(router) => return Some(router),
                Producer::Restarting => {}
                Producer::Absent => return None,
            }
            tokio::time::timeout_at(limit.into(), changed).await.ok()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ApiRoot, Bindings, Body, Request, Transport};
    use http::{HeaderMap, Method};

    fn request() -> Request {
        Request {
            operation: None,
            method: Method::GET,
            target: "/".into(),
            headers: HeaderMap::new(),
            body: Body::empty(),
            deadline: None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_waits_for_a_producer_that_restarts() {
        let (local, root) = (LocalBinding::new(), ApiRoot::http("127.0.0.9:7777"));
        let bindings = Bindings::new().with_local(local.clone());
        local.suspend(&root.authority);
        let sent = bindings.send(&root, request());
        let started = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            local.add(&root.authority, Arc::new(Router::new()));
        };
        let (answer, ()) = tokio::join!(sent, started);
        assert_eq!(answer.unwrap().status, 404, "the router without routes has answered");
        // One that does not restart in time, or ends, is unreachable.
        local.suspend(&root.authority);
        assert!(bindings.send(&root, request()).await.is_err());
        let removed = async { local.remove(&root.authority) };
        let (answer, ()) = tokio::join!(bindings.send(&root, request()), removed);
        assert!(answer.is_err());
    }
}
