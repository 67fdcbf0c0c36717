//! gNBs.
use crate::caller::Caller;
use crate::problem::{Failure, ProblemDetails};
use crate::state::Oam;
use axum::Json;
use axum::extract::{Path, State};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;
use utoipa::ToSchema;

/// A tracking area of a gNB.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct TrackingArea {
    /// PLMN in digits.
    #[schema(example = "00101")]
    plmn: String,
    /// Tracking area code.
    tac: u32,
    /// Slices as SST or SST-SD.
    slices: Vec<String>,
}

/// A gNB after NG setup.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all(deserialize = "camelCase"))]
pub struct GnbView {
    /// Global RAN node ID.
    #[schema(example = "00101-000001")]
    id: String,
    /// Name.
    #[serde(default)]
    name: Option<String>,
    /// Address of its association.
    address: String,
    /// Tracking areas.
    tracking_areas: Vec<TrackingArea>,
    /// Connections of UEs that are not authenticated yet.
    unverified_ues: u64,
    /// Connected UEs.
    #[serde(default)]
    connected_ues: u64,
    /// NGAP messages received.
    #[serde(default)]
    received_messages: u64,
    /// Whether its messages deviate from the specification.
    deviates: bool,
}

/// List gNBs
#[utoipa::path(
    get, path = "/gnbs", tag = "gnbs",
    responses(
        (status = 200, body = Vec<GnbView>, description = "the gNBs"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the caller may not read"),
        (status = "5XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the AMF does not answer"),
    )
)]
pub async fn list(State(oam): State<Arc<Oam>>) -> Result<Json<Vec<GnbView>>, Failure> {
    let answer = oam.core.ask("amf", "amf/gnbs".into()).await?;
    serde_json::from_value(answer)
        .map(Json)
        .map_err(|error| Failure::unavailable(format!("the AMF answered otherwise: {error}")))
}

/// Release a gNB
///
/// The AMF aborts its association. The gNB may set it up again.
#[utoipa::path(
    post, path = "/gnbs/{id}/release", tag = "gnbs",
    params(("id" = String, Path, example = "00101-000001")),
    responses(
        (status = 200, body = Object, description = "aborted"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "there is no such gNB"),
        (status = "5XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the AMF does not answer"),
    )
)]
pub async fn release(
    State(oam): State<Arc<Oam>>,
    Path(id): Path<String>,
    caller: Caller,
) -> Result<Json<Value>, Failure> {
    if id.is_empty() || id.len() > 64 || !id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    {
        return Err(Failure::field("id", "not an identity", "write it as GET /gnbs shows it"));
    }
    let done = oam.core.ask("amf", format!("amf/gnb/{id}/release")).await?;
    oam.record(&caller, "gnb.release", id, Value::Null, done.clone()).await?;
    Ok(Json(done))
}
