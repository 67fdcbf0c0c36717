//! The picture of the core, and its events.
use crate::caller::Caller;
use crate::event_stream;
use crate::events;
use crate::monitor::{FunctionFigures, Overview, Point};
use crate::page::Query;
use crate::poll;
use crate::problem::{Failure, ProblemDetails};
use crate::state::Oam;
use axum::Json;
use axum::extract::State;
use axum::response::sse::{KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use utoipa::{IntoParams, ToSchema};

/// Kinds of events.
const KINDS: [&str; 8] =
    ["ue", "ue_state", "gnb", "function", "alarm", "overview", "packet", "position"];

/// Figures, and their series.
#[derive(Serialize, ToSchema)]
pub struct OverviewView {
    /// Now.
    now: Overview,
    /// The last minutes.
    series: Vec<Point>,
}

/// Which events.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EventQuery {
    /// Kinds, separated by commas: `ue`, `ue_state`, `gnb`, `function`, `alarm`, `overview`,
    /// `packet`, `position`.
    kinds: Option<String>,
}

impl EventQuery {
    fn kinds(&self) -> Result<Vec<String>, Failure> {
        let words = self.kinds.as_deref().unwrap_or_default().split(',');
        let kinds: Vec<String> = words.filter(|w| !w.is_empty()).map(str::to_string).collect();
        match kinds.iter().find(|kind| !KINDS.contains(&kind.as_str())) {
            None => Ok(kinds),
            Some(kind) => Err(Failure::field(
                "kinds",
                format!("there is no kind {kind:?}"),
                "write ue, ue_state, gnb, function, alarm, overview, packet or position",
            )),
        }
    }
}

/// A recent event.
#[derive(Serialize, ToSchema)]
pub struct EventView {
    /// Identity, for `Last-Event-ID`.
    id: String,
    /// Kind.
    kind: &'static str,
    /// Data.
    #[schema(value_type = Object)]
    data: Value,
}

/// The version of the program.
#[derive(Serialize, ToSchema)]
pub struct VersionView {
    /// Version.
    version: String,
}

/// Show the overview
#[utoipa::path(
    get, path = "/overview", tag = "network",
    responses(
        (status = 200, body = OverviewView, description = "figures"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the caller may not read"),
    )
)]
pub async fn overview(State(oam): State<Arc<Oam>>) -> Json<OverviewView> {
    poll::refresh(&oam).await;
    Json(OverviewView { now: oam.monitor.overview(), series: oam.monitor.series() })
}

/// Read events
///
/// Server-Sent Events. A reader that sends `Last-Event-ID` resumes after that event; if events
/// between are lost, the first event is `reset`. An event `ue_state` names the UEs whose state, gNB
/// or sessions changed since the one before; any UE may have changed if it is not `complete`.
#[utoipa::path(
    get, path = "/events", tag = "network",
    params(EventQuery, ("Last-Event-ID" = Option<String>, Header, description = "resume")),
    responses(
        (status = 200, body = String, content_type = "text/event-stream", description = "events"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the kinds are wrong, or too many readers"),
    )
)]
pub async fn events(
    State(oam): State<Arc<Oam>>,
    caller: Caller,
    headers: HeaderMap,
    Query(query): Query<EventQuery>,
) -> Result<Response, Failure> {
    let after = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let stream = event_stream::stream(oam, caller, query.kinds()?, after)?;
    let alive = KeepAlive::new().interval(Duration::from_secs(15));
    Ok(Sse::new(stream).keep_alive(alive).into_response())
}

/// List the latest events
#[utoipa::path(
    get, path = "/events/recent", tag = "network", params(EventQuery),
    responses(
        (status = 200, body = Vec<EventView>, description = "at most 100 events"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the kinds are wrong"),
    )
)]
pub async fn recent_events(
    State(oam): State<Arc<Oam>>,
    caller: Caller,
    Query(query): Query<EventQuery>,
) -> Result<Json<Vec<EventView>>, Failure> {
    let kinds = query.kinds()?;
    poll::refresh(&oam).await;
    let latest = oam.events.latest(&kinds, 100);
    let may_trace = caller.scopes.contains(&crate::accounts::Scope::Network);
    let latest = latest.into_iter().filter(|event| may_trace || !events::is_personal(event.kind));
    let view = |event: events::Event| EventView {
        id: oam.events.id(event.number),
        kind: event.kind,
        data: serde_json::from_str(&event.data).unwrap_or_default(),
    };
    Ok(Json(latest.map(view).collect()))
}

/// List functions
#[utoipa::path(
    get, path = "/functions", tag = "network",
    responses(
        (status = 200, body = Vec<FunctionFigures>, description = "the functions"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the caller may not read"),
    )
)]
pub async fn functions(State(oam): State<Arc<Oam>>) -> Json<Vec<FunctionFigures>> {
    poll::refresh(&oam).await;
    Json(oam.monitor.overview().functions)
}

/// Show the version
#[utoipa::path(
    get, path = "/version", tag = "network",
    responses(
        (status = 200, body = VersionView, description = "the version"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the caller may not read"),
    )
)]
pub async fn version(State(oam): State<Arc<Oam>>) -> Json<Value> {
    Json(json!(VersionView { version: oam.core.version() }))
}
