//! UEs that the AMF knows, their history, sessions and position.
use super::subscribers::check_supi;
use crate::access_error::AccessError;
use crate::caller::Caller;
use crate::page::{self, Order, Query};
use crate::problem::{Failure, ProblemDetails};
use crate::resource_path::segment;
use crate::state::Oam;
use axum::Json;
use axum::extract::{Path, State};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::net::IpAddr;
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Which UEs a page has.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct UeQuery {
    /// `next` of the page before.
    cursor: Option<String>,
    /// Number of UEs, at most 1000.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// Order of the SUPIs: `asc` if it is absent, or `desc`.
    #[serde(default)]
    #[param(inline, required = false)]
    order: Order,
    /// Part of the SUPI, such as digits of the IMSI or `nai-user@realm`, the whole MSISDN, or an IP
    /// address of a session. Text with `@` is no address.
    search: Option<String>,
    /// `registered, connected`, `registered, idle`, `registering` or `deregistered`.
    state: Option<String>,
    /// Name of the gNB.
    gnb: Option<String>,
}

/// The states of a UE, as `Summary::state` of the AMF has them.
const STATES: [&str; 4] =
    ["registered, connected", "registered, idle", "registering", "deregistered"];

/// A UE.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all(deserialize = "camelCase"))]
pub struct UeView {
    /// SUPI.
    #[schema(example = "imsi-001010000000001")]
    pub supi: String,
    /// `registered, connected`, `registered, idle`, `registering` or `deregistered`.
    #[schema(example = "registered, connected")]
    pub state: String,
    /// Name of the gNB of a connected UE.
    #[serde(default)]
    pub gnb: Option<String>,
    /// Identities of its PDU sessions.
    #[serde(default)]
    pub sessions: Vec<u8>,
    /// The NR cell, as TS 29.571 has it.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub cell: Option<Value>,
    /// Whether it can be paged while idle.
    #[serde(default)]
    pub can_be_paged: bool,
    /// Whether it supports LPP.
    #[serde(default)]
    pub lpp: bool,
    /// Whether it supports positioning over the user plane (LCS-UPP).
    #[serde(default)]
    pub lcs_upp: bool,
}

/// A page of UEs in the requested order of their SUPI.
#[derive(Debug, Serialize, ToSchema)]
pub struct UePage {
    /// The UEs.
    items: Vec<UeView>,
    /// Cursor of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// Number of UEs that match, on all pages.
    matching: u64,
}

/// A recorded event of a UE.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct UeEvent {
    /// Milliseconds since 1970.
    pub ms: u64,
    /// The function that recorded it.
    #[schema(example = "amf")]
    #[serde(default)]
    pub nf: String,
    /// What happened.
    #[schema(example = "registered")]
    #[serde(default)]
    pub what: String,
    /// Fields of the event.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub more: Value,
}

/// The history of a UE.
#[derive(Debug, Serialize, ToSchema)]
pub struct UeHistory {
    /// The events in order of time.
    items: Vec<UeEvent>,
}

/// How many events of a history.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct HistoryQuery {
    /// Number of the latest events, at most 1000.
    #[param(minimum = 1, maximum = 1000)]
    last: Option<usize>,
}

/// A PDU session with its N4 sessions and rules.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionView {
    /// PDU session identity.
    id: u8,
    /// UE addresses.
    addresses: Vec<String>,
    /// N4 sessions at the UPFs.
    #[schema(value_type = Vec<Object>)]
    upfs: Vec<Value>,
    /// The sessions of this core's UPF, with rules, counters, and the engine that applies them.
    #[schema(value_type = Vec<Object>)]
    user_plane: Vec<Value>,
}

/// What was done.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Done {
    /// In words.
    #[schema(example = "the UE context is released at the gNB")]
    done: String,
}

/// List UEs
#[utoipa::path(
    get, path = "/ues", tag = "ues", params(UeQuery),
    responses(
        (status = 200, body = UePage, description = "a page"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "a parameter is wrong"),
        (status = "5XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the AMF does not answer"),
    )
)]
pub async fn list(
    State(oam): State<Arc<Oam>>,
    Query(query): Query<UeQuery>,
) -> Result<Json<UePage>, Failure> {
    let limit = page::limit(query.limit)?;
    let after = page::read_cursor(query.cursor.as_deref())?;
    let mut search = query.search.unwrap_or_default();
    if search.len() > martlet_store::MAX_SUPI {
        return Err(Failure::field("search", "longer than a SUPI", "write 257 bytes at most"));
    }
    let state = query.state.unwrap_or_default();
    if !state.is_empty() && !STATES.contains(&state.as_str()) {
        return Err(Failure::field(
            "state",
            format!("there is no state {state:?}"),
            "write `registered, connected`, `registered, idle`, `registering` or `deregistered`",
        ));
    }
    let mut supis = Vec::new();
    let is_nai = search.starts_with("nai-") || search.contains('@');
    if !is_nai && (search.contains('.') || search.contains(':')) {
        supis = supis_of_address(&oam, &search).await?;
        search.clear();
    } else {
        search = search.trim_start_matches("imsi-").to_string();
        let gpsi = format!("msisdn-{search}");
        if let Some(supi) = oam.store(move |store| Ok(store.supi_of(&gpsi)?)).await? {
            supis.push(supi);
            search.clear();
        }
    }
    let request = json!({
        "after": after, "limit": limit, "search": search, "supis": supis,
        "descending": query.order == Order::Desc,
        "state": state, "gnb": query.gnb.unwrap_or_default(),
    });
    let argument = BASE64_URL_SAFE_NO_PAD.encode(request.to_string());
    let answer = oam.core.ask("amf", format!("amf/ues/{argument}")).await?;
    Ok(Json(UePage {
        items: read(answer["ues"].clone())?,
        next: answer["next"].as_str().map(page::write_cursor),
        matching: answer["matching"].as_u64().unwrap_or(0),
    }))
}

/// The SUPIs whose sessions have an IP address, or the prefix of it. A SUPI that cannot exist if
/// there is none, so that the page is empty.
async fn supis_of_address(oam: &Oam, address: &str) -> Result<Vec<String>, Failure> {
    let address: IpAddr = address.split('/').next().unwrap_or_default().parse().map_err(|_| {
        Failure::field("search", "not an IP address", "write digits, or such as 10.45.0.2")
    })?;
    let mut found: Vec<String> =
        read(oam.core.ask("smf", format!("smf/address/{address}")).await?)?;
    if found.is_empty() {
        found.push("none".into());
    }
    Ok(found)
}

/// Reads the answer of a function.
fn read<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, Failure> {
    serde_json::from_value(value)
        .map_err(|error| Failure::unavailable(format!("the core answered otherwise: {error}")))
}

/// Show a UE
#[utoipa::path(
    get, path = "/ues/{supi}", tag = "ues",
    params(("supi" = String, Path, example = "imsi-001010000000001")),
    responses(
        (status = 200, body = UeView, description = "the UE"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the AMF does not know it"),
        (status = "5XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the AMF does not answer"),
    )
)]
pub async fn show(
    State(oam): State<Arc<Oam>>,
    Path(supi): Path<String>,
) -> Result<Json<UeView>, Failure> {
    check_supi(&supi)?;
    Ok(Json(read(oam.core.ask("amf", format!("amf/ue/{}", segment(&supi))).await?)?))
}

/// Show the history of a UE
///
/// Also of a UE that was refused. One that was never identified has its SUCI in place of the SUPI.
#[utoipa::path(
    get, path = "/ues/{supi}/history", tag = "ues",
    params(("supi" = String, Path, example = "imsi-001010000000001"), HistoryQuery),
    responses(
        (status = 200, body = UeHistory, description = "the events"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the history is off"),
    )
)]
pub async fn history(
    State(oam): State<Arc<Oam>>,
    Path(supi): Path<String>,
    Query(query): Query<HistoryQuery>,
) -> Result<Json<UeHistory>, Failure> {
    if !supi.starts_with("suci-") {
        check_supi(&supi)?;
    }
    let last = page::limit(query.last)?;
    let events = oam.core_blocking(move |core| core.history(&supi)).await??;
    let latest = events.into_iter().rev().take(last);
    let mut items: Vec<UeEvent> =
        latest.filter_map(|event| serde_json::from_value(event).ok()).collect();
    items.reverse();
    Ok(Json(UeHistory { items }))
}

/// Show the sessions of a UE
///
/// With QoS flows, and the rules down to the datapath of this core's UPF: `user_plane[].rules[]`
/// has the engine of each PDR, and what it has `forwarded`; `user_plane[].flows[]` has the sums of
/// each QoS flow in both directions.
#[utoipa::path(
    get, path = "/ues/{supi}/sessions", tag = "ues",
    params(("supi" = String, Path, example = "imsi-001010000000001")),
    responses(
        (status = 200, body = Vec<SessionView>, description = "the sessions"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the SUPI is wrong"),
        (status = "5XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the SMF does not answer"),
    )
)]
pub async fn sessions(
    State(oam): State<Arc<Oam>>,
    Path(supi): Path<String>,
) -> Result<Json<Vec<SessionView>>, Failure> {
    check_supi(&supi)?;
    let sessions = oam.core.ask("smf", format!("smf/sessions/{}", segment(&supi))).await?;
    let sessions = sessions.as_array().cloned().unwrap_or_default();
    let seids = |session: &Value| -> Vec<String> {
        let upfs = session["upfs"].as_array().into_iter().flatten();
        upfs.filter_map(|upf| upf["seid"].as_str().map(str::to_string)).collect()
    };
    let mut shown = Vec::new();
    for session in &sessions {
        let wanted = seids(session).join(",");
        // A UPF of another vendor or machine does not show its rules.
        let found = match wanted.is_empty() {
            true => Value::Null,
            false => {
                oam.core.ask("upf", format!("upf/sessions/{wanted}")).await.unwrap_or_default()
            }
        };
        let user_plane = found.as_array().cloned().unwrap_or_default();
        let addresses = user_plane.iter().flat_map(|s| s["ue"].as_array().cloned());
        let mut addresses: Vec<String> =
            addresses.flatten().filter_map(|a| a.as_str().map(str::to_string)).collect();
        addresses.sort();
        addresses.dedup();
        shown.push(SessionView {
            id: session["id"].as_u64().unwrap_or(0) as u8,
            addresses,
            upfs: session["upfs"].as_array().cloned().unwrap_or_default(),
            user_plane,
        });
    }
    Ok(Json(shown))
}

async fn request(
    oam: &Arc<Oam>,
    caller: &Caller,
    supi: &str,
    question: &str,
    what: &'static str,
) -> Result<Json<Done>, Failure> {
    check_supi(supi)?;
    let question = format!("amf/ue/{}/{question}", segment(supi));
    let answer = oam.core.ask("amf", question).await;
    let outcome = match &answer {
        Ok(done) => done.clone(),
        Err(error) => json!({"failed": error.to_string()}),
    };
    oam.record(caller, what, supi, Value::Null, outcome).await?;
    Ok(Json(read(answer?)?))
}

/// Release a UE: it becomes idle
#[utoipa::path(
    post, path = "/ues/{supi}/release", tag = "ues",
    params(("supi" = String, Path, example = "imsi-001010000000001")),
    responses(
        (status = 200, body = Done, description = "released"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the UE is not connected"),
        (status = "5XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the AMF does not answer"),
    )
)]
pub async fn release(
    State(oam): State<Arc<Oam>>,
    Path(supi): Path<String>,
    caller: Caller,
) -> Result<Json<Done>, Failure> {
    request(&oam, &caller, &supi, "release", "ue.release").await
}

/// Page an idle UE
#[utoipa::path(
    post, path = "/ues/{supi}/paging", tag = "ues",
    params(("supi" = String, Path, example = "imsi-001010000000001")),
    responses(
        (status = 200, body = Done, description = "it answered"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the UE is connected, or cannot be paged"),
        (status = "5XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "it did not answer"),
    )
)]
pub async fn page(
    State(oam): State<Arc<Oam>>,
    Path(supi): Path<String>,
    caller: Caller,
) -> Result<Json<Done>, Failure> {
    request(&oam, &caller, &supi, "page", "ue.page").await
}

/// Deregister a UE
///
/// The UE is notified (TS 23.502, 4.2.2.3.3). It may register again.
#[utoipa::path(
    post, path = "/ues/{supi}/deregistration", tag = "ues",
    params(("supi" = String, Path, example = "imsi-001010000000001")),
    responses(
        (status = 200, body = Done, description = "deregistered"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the UE is not registered"),
        (status = "5XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the AMF does not answer"),
    )
)]
pub async fn deregister(
    State(oam): State<Arc<Oam>>,
    Path(supi): Path<String>,
    caller: Caller,
) -> Result<Json<Done>, Failure> {
    request(&oam, &caller, &supi, "deregister", "ue.deregister").await
}

/// With the LMF's cause POSITIONING_FAILED (TS 29.572, 6.1.7.3) nothing of the core failed: this UE
/// cannot be located with what is known of it.
fn not_located(error: AccessError) -> Failure {
    match error {
        AccessError::Refused { status: 500, detail }
            if detail.starts_with("500 POSITIONING_FAILED") =>
        {
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            Failure::new(status, "refused", "The UE cannot be located", detail)
        }
        error => error.into(),
    }
}

/// Locate a UE
///
/// The position as TS 29.572 has it (LocationData), and the transport in `userPlane`.
#[utoipa::path(
    post, path = "/ues/{supi}/location", tag = "ues",
    params(("supi" = String, Path, example = "imsi-001010000000001")),
    responses(
        (status = 200, body = Object, description = "the position"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the UE cannot be located"),
        (status = "5XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the LMF does not answer"),
    )
)]
pub async fn locate(
    State(oam): State<Arc<Oam>>,
    Path(supi): Path<String>,
    caller: Caller,
) -> Result<Json<Value>, Failure> {
    check_supi(&supi)?;
    let position =
        oam.core.ask("lmf", format!("locate/{}", segment(&supi))).await.map_err(not_located)?;
    // Whose position was asked for is recorded; the position is not.
    oam.record(&caller, "ue.locate", &supi, Value::Null, Value::Null).await?;
    Ok(Json(position))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ue_that_cannot_be_located_is_no_failure_of_the_core() {
        let status = |detail: &str| {
            let error = AccessError::Refused { status: 500, detail: detail.into() };
            not_located(error).problem().status
        };
        assert_eq!(status("500 POSITIONING_FAILED: the position of the UE's cell is unknown"), 422);
        assert_eq!(status("500 SYSTEM_FAILURE"), 502);
    }
}
