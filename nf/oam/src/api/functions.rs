//! Functions: the whole status, the functions of the network, draining, and load re-balancing.
use crate::access_error::AccessError;
use crate::caller::Caller;
use crate::page::Body;
use crate::problem::{Failure, ProblemDetails};
use crate::state::Oam;
use axum::Json;
use axum::extract::{Path, State};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use utoipa::ToSchema;

/// Functions that can be drained, and that know the functions of the network.
const FUNCTIONS: [&str; 10] =
    ["amf", "smf", "udm", "udr", "ausf", "pcf", "nssf", "lmf", "chf", "nrf"];

/// Timeout of one function that is asked for all others; then the next one is asked.
const NETWORK_TIMEOUT: Duration = Duration::from_secs(8);

/// Whether consumers select other instances of a function.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Draining {
    /// Whether the function is drained.
    draining: bool,
}

/// A function of the network.
#[derive(Serialize, Deserialize, ToSchema)]
pub struct NetworkFunction {
    /// NF type.
    #[serde(rename = "type")]
    nf_type: String,
    /// Identity of the instance; null for an NRF.
    id: Option<String>,
    /// Status at the NRF, such as `REGISTERED`; null for an NRF.
    status: Option<String>,
    /// Host and port of its services.
    address: Option<String>,
    /// NF set.
    set: Option<String>,
    /// Priority; 0 is chosen first.
    priority: Option<u32>,
    /// What it reports about itself.
    readiness: Readiness,
    /// What it lacks, such as its database.
    #[serde(default)]
    missing: Vec<String>,
    /// Version of its program.
    version: Option<String>,
    /// Why its status is missing.
    error: Option<String>,
    /// The UPFs of an SMF.
    upfs: Option<Vec<NetworkUpf>>,
    /// The gNBs of an AMF.
    gnbs: Option<Vec<NetworkGnb>>,
    /// Registered UEs of an AMF, in CM-CONNECTED and CM-IDLE.
    registered_ues: Option<u64>,
}

/// What a function reports about itself.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum Readiness {
    /// It is ready.
    Ready,
    /// It lacks something.
    NotReady,
    /// It does not answer within a second.
    NoAnswer,
    /// It has no status: it is an older version, or another vendor's.
    Unknown,
}

/// A UPF, as its SMF knows it.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct NetworkUpf {
    /// Address and port of N4.
    n4: String,
    /// Node ID of its last association.
    node_id: Option<String>,
    /// Whether it is associated.
    associated: bool,
    /// Sessions of this SMF there.
    sessions: u64,
}

/// A gNB, as its AMF knows it.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct NetworkGnb {
    /// Identity.
    id: String,
    /// Name.
    name: Option<String>,
    /// Address and port of its association.
    address: String,
    /// PLMN and decimal TAC of its tracking areas, at most 16.
    tracking_areas: Vec<String>,
    /// UEs in CM-CONNECTED.
    connected_ues: u64,
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
/// On all machines, as the NRF knows them, with what each reports about itself: what it lacks, the
/// UPFs of an SMF, and the gNBs of an AMF. A function that is asked answers within a second, or is
/// listed with `no_answer`.
#[utoipa::path(
    get, path = "/network-functions", tag = "network",
    responses(
        (status = 200, body = Vec<NetworkFunction>, description = "the functions"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "no function of this core knows an NRF"),
        (status = "5XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the NRF does not answer"),
    )
)]
pub async fn network(State(oam): State<Arc<Oam>>) -> Result<Json<Vec<NetworkFunction>>, Failure> {
    let mut failure = None;
    for function in FUNCTIONS {
        let asked = oam.core.ask(function, "network".into());
        let answer = tokio::time::timeout(NETWORK_TIMEOUT, asked).await;
        let late = |_| Err(AccessError::Unavailable(format!("the {function} does not answer")));
        match answer.unwrap_or_else(late) {
            Ok(functions) => {
                let read = serde_json::from_value(functions);
                return read.map(Json).map_err(|error| {
                    tracing::error!(%error, "functions of the network not read");
                    Failure::of_the_program()
                });
            }
            Err(AccessError::Refused { status: 404, .. }) => {}
            // No NRF answered this function, and would not answer another one.
            Err(AccessError::Refused { status: 504, detail }) => return Err(no_nrf(&detail)),
            Err(error) => failure = Some(error),
        }
    }
    Err(failure.map_or_else(|| Failure::not_found("no function runs in this core"), Into::into))
}

/// No NRF answers.
fn no_nrf(detail: &str) -> Failure {
    let detail =
        format!("the NRF, which has the functions of the network, does not answer: {detail}");
    let title = "The NRF does not answer";
    Failure::new(StatusCode::GATEWAY_TIMEOUT, "no-answer", title, detail).remedy(
        "see `martlet status` and the log on the machine of the NRF; if its process hangs, end it",
    )
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

/// Move UEs to other AMFs of the set
///
/// Until the AMF has its share of the registered UEs, by relative capacity.
#[utoipa::path(
    post, path = "/functions/amf/rebalancing", tag = "network",
    responses(
        (status = 200, body = Object, description = "UEs that are registered, and to move; other \
            AMFs that can take UEs; gNBs without an association with these; AMFs of the set that \
            do not answer"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "no AMF runs in this core"),
        (status = "5XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the AMF or the database does not answer"),
    )
)]
pub async fn rebalance(
    State(oam): State<Arc<Oam>>,
    caller: Caller,
) -> Result<Json<Value>, Failure> {
    let answer = oam.core.ask("amf", "amf/rebalancing".into()).await?;
    oam.record(&caller, "amf.rebalance", "amf", Value::Null, answer.clone()).await?;
    Ok(Json(answer))
}
