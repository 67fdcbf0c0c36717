//! Jobs.
use crate::caller::Caller;
use crate::jobs::Job;
use crate::problem::{Failure, ProblemDetails};
use crate::state::Oam;
use axum::Json;
use axum::extract::{Path, State};
use std::sync::Arc;

/// List jobs
#[utoipa::path(
    get, path = "/jobs", tag = "network",
    responses(
        (status = 200, body = Vec<Job>, description = "the latest first, without results"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the caller may not read"),
    )
)]
pub async fn list(State(oam): State<Arc<Oam>>) -> Json<Vec<Job>> {
    Json(oam.jobs.list())
}

/// Show a job
#[utoipa::path(
    get, path = "/jobs/{id}", tag = "network", params(("id" = String, Path, example = "1")),
    responses(
        (status = 200, body = Job, description = "the job with its result"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "it does not exist"),
    )
)]
pub async fn show(
    State(oam): State<Arc<Oam>>,
    Path(id): Path<String>,
) -> Result<Json<Job>, Failure> {
    Ok(Json(oam.jobs.get(&id)?))
}

/// Cancel a job
#[utoipa::path(
    delete, path = "/jobs/{id}", tag = "network", params(("id" = String, Path, example = "1")),
    responses(
        (status = 200, body = Job, description = "the job"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "it does not exist"),
    )
)]
pub async fn cancel(
    State(oam): State<Arc<Oam>>,
    Path(id): Path<String>,
    caller: Caller,
) -> Result<Json<Job>, Failure> {
    let job = oam.jobs.cancel(&id)?;
    let (before, after) =
        (serde_json::Value::Null, serde_json::json!({"kind": job.kind, "done": job.done}));
    oam.record(&caller, "job.cancel", id, before, after).await?;
    Ok(Json(job))
}
