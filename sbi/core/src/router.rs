//! The server side: routes a request to its handler.
use crate::BoxFuture;
use crate::{Encoded, OperationInfo, Problem, Query, Request, Response, trace};
use http::{HeaderMap, Method};
use martlet_tasks::{HandlerEnd, Tasks};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The parameters of a path, in the order of the declaration, decoded.
#[derive(Debug, Default)]
pub struct PathParams(pub Vec<String>);

impl PathParams {
    /// The n-th parameter; empty if there are fewer.
    pub fn get(&self, n: usize) -> &str {
        self.0.get(n).map_or("", String::as_str)
    }
}

/// The handler of an operation.
pub type Handler = Arc<
    dyn Fn(PathParams, Query, Request) -> BoxFuture<'static, Result<Response, Problem>>
        + Send
        + Sync,
>;

/// An operation and its handler.
#[derive(Clone)]
pub struct Route {
    /// The operation.
    pub operation: &'static OperationInfo,
    /// The handler.
    pub handler: Handler,
}

/// A request and its response, for a [`Tap`].
#[derive(Debug)]
pub struct Exchange<'a> {
    /// The operation, if one matched.
    pub operation: Option<&'static OperationInfo>,
    /// HTTP method.
    pub method: &'a Method,
    /// Path and query.
    pub target: &'a str,
    /// NF type of the consumer (`User-Agent`); set only if a tap [wants bodies](Tap::wants_bodies).
    pub consumer: Option<&'a str>,
    /// The UE that the request concerns; likewise.
    pub correlation: Option<&'a str>,
    /// Headers of the request; likewise.
    pub headers: &'a HeaderMap,
    /// Body of the request; likewise.
    pub request: Option<Encoded>,
    /// HTTP status of the response.
    pub status: u16,
    /// Headers of the response.
    pub response_headers: &'a HeaderMap,
    /// Body of the response; likewise.
    pub response: Option<Encoded>,
    /// Processing time.
    pub duration: Duration,
}

/// Observes the exchanges of a server: for metrics, validation and captures.
pub trait Tap: Send + Sync {
    /// Whether the tap needs encoded bodies, which costs time in the local binding.
    fn wants_bodies(&self) -> bool {
        false
    }
    /// Called once for each exchange.
    fn exchanged(&self, exchange: &Exchange<'_>);
}

#[derive(Default)]
struct Node {
    fixed: Vec<(&'static str, Node)>,
    parameter: Option<Box<Node>>,
    routes: Vec<Route>,
}

/// Routes requests by path and method.
#[derive(Default)]
pub struct Router {
    root: Node,
    taps: Vec<Arc<dyn Tap>>,
    operations: Vec<&'static OperationInfo>,
    /// The tasks of the function that serves.
    tasks: Option<Tasks>,
}

impl Router {
    /// A router without routes: it answers 404.
    pub fn new() -> Self {
        Router::default()
    }

    /// Adds the routes of a service.
    pub fn serve(mut self, routes: Vec<Route>) -> Self {
        for route in routes {
            let operation = route.operation;
            let mut node = &mut self.root;
            for segment in [operation.api, operation.version]
                .into_iter()
                .chain(operation.path.split('/').skip(1))
            {
                node = node.child(segment);
            }
            node.routes.push(route);
            self.operations.push(operation);
        }
        self
    }

    /// Adds an observer.
    pub fn tap(mut self, tap: Arc<dyn Tap>) -> Self {
        self.taps.push(tap);
        self
    }

    /// The operations of all routes.
    pub fn operations(&self) -> &[&'static OperationInfo] {
        &self.operations
    }

    /// Handles requests as the function with these tasks. A panic of a handler, or the end of the
    /// function, then ends with an error response.
    pub fn within(mut self, tasks: Tasks) -> Self {
        self.tasks = Some(tasks);
        self
    }

    /// Handles a request.
    pub async fn handle(&self, request: Request) -> Response {
        let Some(tasks) = &self.tasks else { return self.handle_here(request).await };
        match tasks.handle(self.handle_here(request)).await {
            Ok(response) => response,
            Err(HandlerEnd::Panicked) => {
                Response::problem(Problem::system_failure("the request handler panicked"))
            }
            // It may have executed the request.
            Err(HandlerEnd::Ended) => Response::problem(Problem::system_failure(format!(
                "the {} restarts",
                tasks.name().to_uppercase()
            ))),
        }
    }

    async fn handle_here(&self, request: Request) -> Response {
        let (operation, found) = match self.find(request.path(), &request.method) {
            Ok((route, parameters)) => (Some(route.operation), Ok((route, parameters))),
            Err(problem) => (None, Err(problem)),
        };
        match operation {
            Some(operation) if trace::is_on() => {
                trace::serve(operation, request, async |request| {
                    self.respond(operation.into(), found, request).await
                })
                .await
            }
            _ => self.respond(operation, found, request).await,
        }
    }

    async fn respond(
        &self,
        operation: Option<&'static OperationInfo>,
        found: Result<(&Route, PathParams), Problem>,
        mut request: Request,
    ) -> Response {
        if self.taps.is_empty() {
            return run(found, request).await;
        }
        let started = Instant::now();
        let bodies = self.taps.iter().any(|tap| tap.wants_bodies());
        request.body = request.body.with_wire_form(operation.and_then(|operation| operation.body));
        let (method, target) = (request.method.clone(), request.target.clone());
        let sent = if bodies { request.body.to_encoded().ok().flatten() } else { None };
        let copied = |value: Option<&str>| value.filter(|_| bodies).map(str::to_string);
        let consumer = copied(request.user_agent());
        let correlation = copied(request.correlation());
        let headers = if bodies { request.headers.clone() } else { HeaderMap::new() };
        let response = run(found, request).await;
        let answered = if bodies { response.body.to_encoded().ok().flatten() } else { None };
        let exchange = Exchange {
            operation,
            method: &method,
            target: &target,
            consumer: consumer.as_deref(),
            correlation: correlation.as_deref(),
            headers: &headers,
            request: sent,
            status: response.status,
            response_headers: &response.headers,
            response: answered,
            duration: started.elapsed(),
        };
        self.taps.iter().for_each(|tap| tap.exchanged(&exchange));
        response
    }

    fn find(&self, path: &str, method: &Method) -> Result<(&Route, PathParams), Problem> {
        let mut parameters = Vec::new();
        let mut node = &self.root;
        for segment in path.split('/').skip(1) {
            let (next, parameter) = node.step(segment).ok_or_else(|| {
                Problem::new(404, "RESOURCE_URI_STRUCTURE_NOT_FOUND")
                    .detail(format!("no resource at {path}"))
            })?;
            if parameter {
                parameters.push(crate::query::percent_decode(segment, false));
            }
            node = next;
        }
        match node.routes.iter().find(|route| route.operation.method == *method) {
            Some(route) => Ok((route, PathParams(parameters))),
            None if node.routes.is_empty() => {
                Err(Problem::new(404, "RESOURCE_URI_STRUCTURE_NOT_FOUND")
                    .detail(format!("no resource at {path}")))
            }
            None => Err(Problem::new(405, "METHOD_NOT_ALLOWED")
                .detail(format!("{method} is not defined for {path}"))),
        }
    }
}

async fn run(found: Result<(&Route, PathParams), Problem>, request: Request) -> Response {
    let (route, parameters) = match found {
        Ok(found) => found,
        Err(problem) => return Response::problem(problem),
    };
    let query = Query::parse(request.query());
    let deadline = request.deadline;
    let answer = (route.handler)(parameters, query, request);
    let answer = match deadline {
        // The consumer has cancelled the request: cancel the handler.
        Some(deadline) => match tokio::time::timeout_at(deadline.into(), answer).await {
            Ok(answer) => answer,
            Err(_) => Err(Problem::timed_out(format!(
                "{} exceeded the deadline of its consumer",
                route.operation.name
            ))),
        },
        None => answer.await,
    };
    answer.unwrap_or_else(Response::problem)
}

impl Node {
    fn child(&mut self, segment: &'static str) -> &mut Node {
        if segment.starts_with('{') {
            return self.parameter.get_or_insert_default();
        }
        let at = self.fixed.iter().position(|(name, _)| *name == segment).unwrap_or_else(|| {
            self.fixed.push((segment, Node::default()));
            self.fixed.len() - 1
        });
        &mut self.fixed[at].1
    }

    /// The child node, and whether the segment is a parameter.
    fn step(&self, segment: &str) -> Option<(&Node, bool)> {
        let fixed = self.fixed.iter().find(|(name, _)| *name == segment);
        fixed
            .map(|(_, node)| (node, false))
            .or_else(|| self.parameter.as_deref().map(|node| (node, true)))
    }
}
