//! Functions: the whole status, the functions of the network, and draining.
use crate::access_error::AccessError;
use crate::caller::Caller;
use crate::page::Body;
use crate::problem::{Failure, ProblemDetails};
use crate::state::Oam;
use axum::Json;
use axum::extract::{Path, State};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use utoipa::ToSchema;

/// Functions that can be drained, and that know the functions of the network.
const FUNCTIONS: [&str; 10] =
    ["amf", "smf", "udm", "udr", "ausf", "pcf", "nssf", "lmf", "chf", "nrf"];

/// Whether consumers select other instances of a function.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Draining {
    /// Whether the function is drained.
    draining: bool,
}

/// Show the status of all functions
///
/// What `martlet status --json` prints: members differ between functions, and with versions.
#[utoipa::path(
    get, path = "/status", tag = "network",
    responses(
        (status = 200, body = Object, description = "the status"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the caller may not read"),
    )
)]
pub async fn status(State(oam): State<Arc<Oam>>) -> Json<Value> {
    Json(oam.core.whole_status().await)
}

/// List the functions of the network
///
/// On all machines, as the NRF knows them.
#[utoipa::path(
    get, path = "/network-functions", tag = "network",
    responses(
        (status = 200, body = Vec<Object>, description = "type, status, address, set, instance"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "no function of this core knows an NRF"),
        (status = "5XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the NRF does not answer"),
    )
)]
pub async fn network(State(oam): State<Arc<Oam>>) -> Result<Json<Value>, Failure> {
    let mut failure = None;
    for function in FUNCTIONS {
        match oam.core.ask(function, "network".into()).await {
            Ok(functions) => return Ok(Json(functions)),
            Err(AccessError::Refused { status: 404, .. }) => {}
            Err(error) => failure = Some(error),
        }
    }
    Err(failure.map_or_else(|| Failure::not_found("no function runs in this core"), Into::into))
}

/// Drain a function
///
/// Consumers and gNBs select another instance, and this one serves what it has.
#[utoipa::path(
    put, path = "/functions/{name}/draining", tag = "network", request_body = Draining,
    params(("name" = String, Path, example = "amf")),
    responses(
        (status = 200, body = Object, description = "whether it is drained now, and was before"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "no such function runs in this core"),
        (status = "5XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the function does not answer"),
    )
)]
pub async fn drain(
    State(oam): State<Arc<Oam>>,
    Path(name): Path<String>,
    caller: Caller,
    Body(body): Body<Draining>,
) -> Result<Json<Value>, Failure> {
    if !FUNCTIONS.contains(&name.as_str()) || name == "nrf" {
        return Err(Failure::not_found(format!("no function {name} can be drained"))
            .remedy("write the name of a function with consumers, such as amf"));
    }
    let command = if body.draining { "drain" } else { "undrain" };
    let answer = oam.core.ask(&name, format!("{command}/{name}")).await?;
    let before = json!({"draining": answer["draining_before"]});
    let after = json!({"draining": body.draining});
    oam.record(&caller, "function.drain", name, before, after).await?;
    Ok(Json(answer))
}
