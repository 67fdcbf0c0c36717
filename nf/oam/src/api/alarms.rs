//! Alarms.
use crate::caller::Caller;
use crate::monitor::{Alarm, RESTORE_FAILED};
use crate::poll;
use crate::problem::{Failure, ProblemDetails};
use crate::state::Oam;
use axum::Json;
use axum::extract::{Path, State};
use serde_json::json;
use std::sync::Arc;

/// List raised alarms
#[utoipa::path(
    get, path = "/alarms", tag = "network",
    responses(
        (status = 200, body = Vec<Alarm>, description = "the most serious first"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the caller may not read"),
    )
)]
pub async fn list(State(oam): State<Arc<Oam>>) -> Json<Vec<Alarm>> {
    poll::refresh(&oam).await;
    Json(oam.monitor.alarms())
}

/// Acknowledge an alarm
///
/// The alarm of a lost gNB, and that of a restore that failed, end with it.
#[utoipa::path(
    post, path = "/alarms/{id}/acknowledgement", tag = "network",
    params(("id" = String, Path, example = "gnb-lost:00101-000001")),
    responses(
        (status = 200, body = Alarm, description = "acknowledged"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "it is not raised any more"),
    )
)]
pub async fn acknowledge(
    State(oam): State<Arc<Oam>>,
    Path(id): Path<String>,
    caller: Caller,
) -> Result<Json<Alarm>, Failure> {
    if id == RESTORE_FAILED {
        let by = caller.name.clone();
        oam.core_blocking(move |core| core.backups().acknowledge(&by)).await??;
    }
    let alarms = oam.monitor.acknowledge(&id, &caller.name);
    let (before, after) =
        alarms.ok_or_else(|| Failure::not_found(format!("no alarm {id} is raised")))?;
    oam.record(&caller, "alarm.acknowledge", id, json!(before), json!(after)).await?;
    Ok(Json(after))
}
