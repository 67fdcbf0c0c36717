//! Periodic location requests, and the points that positions are measured from.
use super::subscribers::check_supi;
use crate::caller::Caller;
use crate::location_requests::{LocateError, LocationRequest, position};
use crate::page::Body;
use crate::problem::{Failure, ProblemDetails};
use crate::resource_path::segment;
use crate::state::Oam;
use axum::Json;
use axum::extract::{Path, State};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use utoipa::ToSchema;

/// Longest time of a request in seconds: a day.
const MAX_SECONDS: u64 = 86_400;

/// A periodic location request to start.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PeriodicRequest {
    /// Whom to locate.
    #[schema(example = "imsi-001010000000001", pattern = "^(imsi-[0-9]{14,15}|nai-.+@.+)$")]
    supi: String,
    /// Seconds between two positions.
    #[schema(minimum = 1, maximum = 3600, example = 5)]
    interval_s: u64,
    /// How long, in seconds.
    #[schema(minimum = 1, maximum = 86400, example = 600)]
    seconds: u64,
}

/// List periodic location requests
///
/// The latest first, each with its last position.
#[utoipa::path(
    get, path = "/location-requests", tag = "ues",
    responses(
        (status = 200, body = Vec<LocationRequest>, description = "the requests"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the caller may not read"),
    )
)]
pub async fn list(State(oam): State<Arc<Oam>>) -> Json<Vec<LocationRequest>> {
    Json(oam.locations.list())
}

/// Start a periodic location request
///
/// The UE is located at once and at each interval. Events `position` show each outcome.
#[utoipa::path(
    post, path = "/location-requests", tag = "ues", request_body = PeriodicRequest,
    responses(
        (status = 201, body = LocationRequest, description = "started"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "a field is wrong, or too many requests run"),
    )
)]
pub async fn start(
    State(oam): State<Arc<Oam>>,
    caller: Caller,
    Body(request): Body<PeriodicRequest>,
) -> Result<(StatusCode, Json<LocationRequest>), Failure> {
    let PeriodicRequest { supi, interval_s, seconds } = request;
    check_supi(&supi)?;
    if !(1..=3600).contains(&interval_s) {
        return Err(Failure::field("interval_s", "out of range", "write 1 to 3600"));
    }
    if !(1..=MAX_SECONDS).contains(&seconds) {
        return Err(Failure::field("seconds", "out of range", "write 1 to 86400"));
    }
    let started = run(&oam, &supi, interval_s, seconds, &caller.name)?;
    let what = json!({"interval_s": interval_s, "seconds": seconds});
    oam.record(&caller, "location-request.start", supi, Value::Null, what).await?;
    Ok((StatusCode::CREATED, Json(started)))
}

/// Locates a UE at each interval in a task of its own.
fn run(
    oam: &Arc<Oam>,
    supi: &str,
    interval_s: u64,
    seconds: u64,
    by: &str,
) -> Result<LocationRequest, Failure> {
    let request = oam.locations.add(supi, interval_s, seconds, by)?;
    let (shared, id, supi) = (oam.clone(), request.id.clone(), supi.to_string());
    let task = tokio::spawn(async move {
        let end = Instant::now() + Duration::from_secs(seconds);
        let mut ticks = tokio::time::interval(Duration::from_secs(interval_s));
        // A slow UE is not located more often afterwards.
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = tokio::time::sleep_until(end) => break,
            }
            let located = shared.core.ask("lmf", format!("locate/{}", segment(&supi))).await;
            let outcome = match located {
                Ok(location) => position(&location).ok_or(LocateError::NoPosition),
                Err(error) => Err(error.into()),
            };
            shared.locations.add_outcome(&id, &outcome);
            let event = match outcome {
                Ok(position) => json!({"request": id, "supi": supi, "position": position}),
                Err(why) => json!({"request": id, "supi": supi, "failed": why.to_string()}),
            };
            shared.events.push("position", &event);
        }
        shared.locations.end(&id);
    });
    oam.locations.attach(&request.id, task.abort_handle());
    Ok(request)
}

/// Show a periodic location request with its track
#[utoipa::path(
    get, path = "/location-requests/{id}", tag = "ues",
    params(("id" = String, Path, example = "1")),
    responses(
        (status = 200, body = LocationRequest, description = "the request"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "it does not exist"),
    )
)]
pub async fn show(
    State(oam): State<Arc<Oam>>,
    Path(id): Path<String>,
) -> Result<Json<LocationRequest>, Failure> {
    Ok(Json(oam.locations.get(&id)?))
}

/// Stop a periodic location request
///
/// Its track stays until it is removed.
#[utoipa::path(
    post, path = "/location-requests/{id}/stop", tag = "ues",
    params(("id" = String, Path, example = "1")),
    responses(
        (status = 200, body = LocationRequest, description = "stopped"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "it does not exist"),
    )
)]
pub async fn stop(
    State(oam): State<Arc<Oam>>,
    Path(id): Path<String>,
    caller: Caller,
) -> Result<Json<LocationRequest>, Failure> {
    let stopped = oam.locations.stop(&id)?;
    oam.record(&caller, "location-request.stop", &stopped.supi, Value::Null, Value::Null).await?;
    Ok(Json(stopped))
}

/// Remove a periodic location request with its track
#[utoipa::path(
    delete, path = "/location-requests/{id}", tag = "ues",
    params(("id" = String, Path, example = "1")),
    responses(
        (status = 204, description = "removed"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "it does not exist"),
    )
)]
pub async fn remove(
    State(oam): State<Arc<Oam>>,
    Path(id): Path<String>,
    caller: Caller,
) -> Result<StatusCode, Failure> {
    let removed = oam.locations.remove(&id)?;
    oam.record(&caller, "location-request.remove", &removed.supi, Value::Null, Value::Null).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List transmission points
///
/// Cells of the configuration (`lmf.cells`), and the TRPs that gNBs have reported.
#[utoipa::path(
    get, path = "/transmission-points", tag = "ues",
    responses(
        (status = 200, body = Vec<Object>, description = "name, position, and source"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "no LMF runs in this core"),
        (status = "5XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the LMF does not answer"),
    )
)]
pub async fn transmission_points(State(oam): State<Arc<Oam>>) -> Result<Json<Value>, Failure> {
    Ok(Json(oam.core.ask("lmf", "lmf/points".into()).await?))
}
