//! OpenTelemetry spans: one for each procedure, each service operation at both ends, and each N4
//! transaction. `traceparent` (W3C Trace Context) connects them across functions and processes.
//!
//! Tracing is off until [`enable`] is called. While off, a call costs one load, and no header is
//! sent.
use crate::{OperationInfo, Request, Response};
use http::{HeaderMap, HeaderName, HeaderValue};
use opentelemetry::global::{self, BoxedTracer};
use opentelemetry::propagation::{Extractor, Injector};
use opentelemetry::trace::{SpanKind, Status, TraceContextExt, Tracer};
use opentelemetry::{Context, KeyValue};
use std::borrow::Cow;
use std::cell::RefCell;
use std::future::Future;
use std::sync::OnceLock;

static TRACER: OnceLock<BoxedTracer> = OnceLock::new();

/// The tracing state of a task.
#[derive(Default, Clone)]
struct Here {
    /// The parent of the next span.
    context: Context,
    /// The UE that the task serves.
    supi: Option<String>,
}

tokio::task_local! {
    static HERE: RefCell<Here>;
}

/// Enables tracing with the global tracer provider and propagator.
pub fn enable() {
    TRACER.get_or_init(|| global::tracer("martlet"));
}

/// Whether tracing is enabled.
pub fn is_on() -> bool {
    TRACER.get().is_some()
}

fn here<T>(look: impl FnOnce(&mut Here) -> T) -> Option<T> {
    HERE.try_with(|here| look(&mut here.borrow_mut())).ok()
}

/// The span of another task that requested some work. It is small, because it waits in queues.
#[derive(Debug, Default, Clone)]
pub struct Origin(Option<Box<Context>>);

impl Origin {
    /// The current span of this task.
    pub fn here() -> Origin {
        Origin(is_on().then(|| current().into()))
    }

    /// Makes it the parent of further spans of this task.
    pub fn adopt(self) {
        if is_on() {
            adopt(self.0.map_or_else(Context::new, |context| *context));
        }
    }
}

/// Spawns a task of the current function whose spans have `origin` as their parent.
pub fn spawn<F>(origin: Origin, work: F) -> tokio::task::JoinHandle<F::Output>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    match is_on() {
        true => martlet_tasks::spawn(scope(
            origin.0.map_or_else(Context::new, |context| *context),
            work,
        )),
        false => martlet_tasks::spawn(work),
    }
}

fn current() -> Context {
    here(|here| here.context.clone()).unwrap_or_default()
}

fn adopt(context: Context) {
    here(|here| here.context = context);
}

async fn scope<F: Future>(parent: Context, work: F) -> F::Output {
    HERE.scope(RefCell::new(Here { context: parent, supi: None }), work).await
}

/// Sets the UE that this task serves, such as `imsi-001010000000001`.
pub fn about(supi: impl FnOnce() -> String) {
    if is_on() {
        here(|here| here.supi = Some(supi()));
    }
}

/// A span. It is the parent of the task's further spans until it is dropped.
#[derive(Default)]
pub struct Active(Option<(Context, Context)>);

impl Active {
    /// Starts the span of a procedure.
    pub fn procedure(name: &'static str) -> Active {
        Active::begin(name.into(), SpanKind::Internal, Vec::new)
    }

    /// Starts the span of a request over another protocol, such as PFCP.
    pub fn request(name: impl Into<Cow<'static, str>>, peer: impl std::fmt::Display) -> Active {
        Active::begin(name.into(), SpanKind::Client, || {
            vec![KeyValue::new("server.address", peer.to_string())]
        })
    }

    fn begin(
        name: Cow<'static, str>,
        kind: SpanKind,
        attributes: impl FnOnce() -> Vec<KeyValue>,
    ) -> Active {
        let Some(tracer) = TRACER.get() else { return Active::default() };
        let before = current();
        let span = tracer.span_builder(name).with_kind(kind).with_attributes(attributes());
        let context = before.with_span(span.start_with_context(tracer, &before));
        adopt(context.clone());
        Active(Some((context, before)))
    }

    /// Ends the span with a result from a fixed set of words.
    pub fn ended(self, outcome: Result<(), &str>) {
        let Some((context, _)) = &self.0 else { return };
        let result = outcome.err().unwrap_or("ok");
        context.span().set_attribute(KeyValue::new("martlet.result", result.to_string()));
        if outcome.is_err() {
            context.span().set_status(Status::error(result.to_string()));
        }
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        let Some((context, before)) = self.0.take() else { return };
        let supi = here(|here| {
            here.context = before;
            here.supi.clone()
        });
        if let Some(supi) = supi.flatten() {
            context.span().set_attribute(KeyValue::new("martlet.supi", supi));
        }
        context.span().end();
    }
}

/// The span of a call at its consumer.
pub(crate) struct Call(Context);

impl Call {
    /// Starts the span and adds it to the request's headers.
    pub fn begin(
        operation: &'static OperationInfo,
        authority: &str,
        request: &mut Request,
    ) -> Option<Call> {
        let tracer = TRACER.get()?;
        let parent = current();
        let mut attributes = attributes(operation, request);
        attributes.push(KeyValue::new("server.address", authority.to_string()));
        let span = tracer
            .span_builder(name(operation))
            .with_kind(SpanKind::Client)
            .with_attributes(attributes);
        let context = parent.with_span(span.start_with_context(tracer, &parent));
        global::get_text_map_propagator(|propagator| {
            propagator.inject_context(&context, &mut HeaderInjector(&mut request.headers))
        });
        Some(Call(context))
    }

    /// Ends the span with the status of the response, or with an error.
    pub fn end(self, outcome: Result<u16, &dyn std::fmt::Display>) {
        match outcome {
            Ok(status) => {
                self.0
                    .span()
                    .set_attribute(KeyValue::new("http.response.status_code", i64::from(status)));
                if status >= 400 {
                    self.0.span().set_status(Status::error(status.to_string()));
                }
            }
            Err(error) => self.0.span().set_status(Status::error(error.to_string())),
        }
        self.0.span().end();
    }
}

/// Handles a request within a span of the producer.
pub(crate) async fn serve(
    operation: &'static OperationInfo,
    request: Request,
    run: impl AsyncFnOnce(Request) -> Response,
) -> Response {
    let Some(tracer) = TRACER.get() else { return run(request).await };
    let parent = global::get_text_map_propagator(|propagator| {
        propagator.extract_with_context(&Context::new(), &HeaderExtractor(&request.headers))
    });
    let attributes = attributes(operation, &request);
    let span = tracer
        .span_builder(name(operation))
        .with_kind(SpanKind::Server)
        .with_attributes(attributes);
    let context = parent.with_span(span.start_with_context(tracer, &parent));
    let response = scope(context.clone(), run(request)).await;
    context
        .span()
        .set_attribute(KeyValue::new("http.response.status_code", i64::from(response.status)));
    if response.status >= 500 {
        context.span().set_status(Status::error(response.status.to_string()));
    }
    context.span().end();
    response
}

fn name(operation: &OperationInfo) -> String {
    format!("{} {}", operation.api, operation.name)
}

/// Attributes with OpenTelemetry's names. The path has no parameters, since they may identify UEs.
fn attributes(operation: &'static OperationInfo, request: &Request) -> Vec<KeyValue> {
    let mut attributes = vec![
        KeyValue::new("http.request.method", request.method.as_str().to_string()),
        KeyValue::new("url.template", operation.path),
    ];
    if let Some(supi) = request.correlation() {
        attributes.push(KeyValue::new("martlet.supi", supi.to_string()));
    }
    attributes
}

struct HeaderInjector<'a>(&'a mut HeaderMap);

impl Injector for HeaderInjector<'_> {
    fn set(&mut self, key: &str, value: String) {
        if let (Ok(key), Ok(value)) =
            (HeaderName::from_bytes(key.as_bytes()), HeaderValue::try_from(value))
            && !value.is_empty()
        {
            self.0.insert(key, value);
        }
    }
}

struct HeaderExtractor<'a>(&'a HeaderMap);

impl Extractor for HeaderExtractor<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.to_str().ok()
    }
    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(HeaderName::as_str).collect()
    }
}
