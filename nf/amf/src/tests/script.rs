//! Requests to network functions, which a test records, holds, or lets fail.
use martlet_sbi::{Handler, Problem, Route};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::watch;

/// How long a request may take to arrive.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The requests to the functions that serve [`Script::routes`], by the names of their operations.
#[derive(Default)]
pub struct Script {
    arrived: watch::Sender<Vec<&'static str>>,
    answered: watch::Sender<Vec<(&'static str, u16)>>,
    /// Operations whose requests wait.
    held: watch::Sender<Vec<&'static str>>,
    /// Operations whose requests fail, with status and cause.
    failing: Mutex<Vec<(&'static str, u16, &'static str)>>,
}

impl Script {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// From now on, requests of the operation wait.
    pub fn hold(&self, operation: &'static str) {
        self.held.send_modify(|held| held.push(operation));
    }

    /// Continues all requests that wait.
    pub fn release(&self) {
        self.held.send_modify(Vec::clear);
    }

    /// From now on, requests of the operation fail.
    pub fn fail(&self, operation: &'static str, status: u16, cause: &'static str) {
        self.failing.lock().unwrap().push((operation, status, cause));
    }

    /// From now on, no request fails.
    pub fn succeed(&self) {
        self.failing.lock().unwrap().clear();
    }

    /// The requests of these operations, in the order in which they arrived.
    pub fn arrived(&self, operations: &[&str]) -> Vec<&'static str> {
        let arrived = self.arrived.borrow();
        arrived.iter().copied().filter(|name| operations.contains(name)).collect()
    }

    /// The statuses of the answers to an operation.
    pub fn answers(&self, operation: &str) -> Vec<u16> {
        let answered = self.answered.borrow();
        answered.iter().filter(|(name, _)| *name == operation).map(|(_, status)| *status).collect()
    }

    /// Waits until a request of an operation has arrived.
    pub async fn wait_for(&self, operation: &str) {
        let mut arrived = self.arrived.subscribe();
        let found = arrived.wait_for(|arrived| arrived.contains(&operation));
        let found = tokio::time::timeout(TIMEOUT, found).await;
        assert!(found.is_ok(), "{operation} has not arrived: {:?}", self.arrived.borrow());
    }

    /// Waits until an operation has had as many answers, and compares their statuses.
    pub async fn wait_for_answers(&self, operation: &str, wanted: &[u16]) {
        let mut answered = self.answered.subscribe();
        let found = answered.wait_for(|answered| {
            answered.iter().filter(|(name, _)| *name == operation).count() >= wanted.len()
        });
        assert!(tokio::time::timeout(TIMEOUT, found).await.is_ok(), "{operation} has no answer");
        assert_eq!(self.answers(operation), wanted, "{operation}");
    }

    /// Routes with the same answers, whose requests follow the script.
    pub fn routes(self: &Arc<Self>, routes: Vec<Route>) -> Vec<Route> {
        routes.into_iter().map(|route| self.route(route)).collect()
    }

    fn route(self: &Arc<Self>, route: Route) -> Route {
        let Route { operation, handler: inner } = route;
        let (script, name) = (self.clone(), operation.name);
        let handler: Handler = Arc::new(move |parameters, query, request| {
            let (script, inner) = (script.clone(), inner.clone());
            Box::pin(async move {
                script.pass(name).await?;
                let answer = inner(parameters, query, request).await;
                let status = match &answer {
                    Ok(response) => response.status,
                    Err(problem) => problem.status(),
                };
                script.answered.send_modify(|answered| answered.push((name, status)));
                answer
            })
        });
        Route { operation, handler }
    }

    async fn pass(&self, name: &'static str) -> Result<(), Problem> {
        self.arrived.send_modify(|arrived| arrived.push(name));
        let mut held = self.held.subscribe();
        let _ = held.wait_for(|held| !held.contains(&name)).await;
        let failing = self.failing.lock().unwrap();
        match failing.iter().find(|(operation, ..)| *operation == name) {
            Some((_, status, cause)) => Err(Problem::new(*status, cause)),
            None => Ok(()),
        }
    }
}
