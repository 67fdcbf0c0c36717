//! The user plane: counters, drops, tables, traces and captures; and charging.
use super::subscribers::check_supi;
use crate::access_error::AccessError;
use crate::caller::Caller;
use crate::jobs::{Job, Running};
use crate::page::{self, Body};
use crate::problem::{Failure, ProblemDetails};
use crate::resource_path::segment;
use crate::state::Oam;
use crate::ue_filter::{NoUeAddress, UeFilter};
use axum::Json;
use axum::extract::{Path, State};
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use utoipa::ToSchema;

/// Packets that a trace collects.
const MAX_PACKETS: usize = 2000;
/// Interval between two reads of the UPF's traced packets.
const INTERVAL: Duration = Duration::from_millis(200);

/// A trace.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceRequest {
    /// Duration in seconds.
    #[schema(minimum = 1, maximum = 600, example = 10)]
    seconds: u64,
    /// Whether forwarded packets are shown, too.
    #[serde(default)]
    forwarded: bool,
    /// Only packets of a UE with this address, or this IPv6 prefix of 64 bits.
    #[serde(default)]
    ue: Option<String>,
}

/// A capture of N6 in a pcap file of the UPF.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CaptureRequest {
    /// Duration in seconds.
    #[schema(minimum = 1, maximum = 86400, example = 60)]
    seconds: u64,
    /// Bytes of each packet.
    #[serde(default = "snap")]
    #[schema(minimum = 1, maximum = 2048)]
    snap: u32,
    /// Maximum number of packets.
    #[serde(default = "packets")]
    packets: u64,
    /// Maximum size of the file in bytes.
    #[serde(default = "bytes")]
    bytes: u64,
}

/// How XDP programs are reloaded.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Renewal {
    /// Measure the processing time of one in this many packets from now on; 0 turns it off.
    #[serde(default)]
    sample: Option<u32>,
}

fn snap() -> u32 {
    2048
}
fn packets() -> u64 {
    1_000_000
}
fn bytes() -> u64 {
    1 << 28
}

/// The quota of a subscriber.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Quota {
    /// Bytes that are left; absent: unlimited.
    #[serde(default)]
    bytes: Option<u64>,
}

/// Show the user plane
///
/// Counters, drops by reason, fill of the tables, first sessions, latency, board and governor.
#[utoipa::path(
    get, path = "/user-plane", tag = "user plane",
    responses(
        (status = 200, body = Object, description = "the UPF of this core"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "no UPF runs in this core"),
        (status = "5XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the UPF does not answer"),
    )
)]
pub async fn show(State(oam): State<Arc<Oam>>) -> Result<Json<Value>, Failure> {
    let mut top = oam.core.ask("upf", "upf/top".into()).await?;
    let status = oam.core.status().await;
    let upf = crate::core_status::of(&status, "upf").cloned().unwrap_or_default();
    top["details"] = upf["datapathDetails"].clone();
    owners(&oam, &mut top).await;
    top["associations"] = upf["associations"].clone();
    Ok(Json(top))
}

/// Show a session of the user plane
///
/// With its QoS flows and its rules: the engine that applies each PDR, and the packets and bytes
/// that it has forwarded. Throughput is the difference of two readings.
#[utoipa::path(
    get, path = "/user-plane/sessions/{seid}", tag = "user plane",
    params(("seid" = String, Path, example = "0x0000000000000001",
        description = "SEID of the UPF, in hexadecimal digits as GET /user-plane shows it")),
    responses(
        (status = 200, body = Object, description = "the session"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "there is no such session, or no UPF runs in this core"),
        (status = "5XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the UPF does not answer"),
    )
)]
pub async fn session(
    State(oam): State<Arc<Oam>>,
    Path(seid): Path<String>,
) -> Result<Json<Value>, Failure> {
    let digits = seid.strip_prefix("0x").unwrap_or(&seid);
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if digits.is_empty() || digits.len() > 16 || !is_hex {
        let remedy = "write 0x and up to 16 hexadecimal digits, as GET /user-plane shows it";
        return Err(Failure::field("seid", "not a SEID", remedy));
    }
    let found = oam.core.ask("upf", format!("upf/sessions/{digits}")).await?;
    if found.as_array().is_none_or(Vec::is_empty) {
        return Err(Failure::not_found(format!("the UPF has no session {seid}"))
            .remedy("see GET /user-plane, or GET /ues/{supi}/sessions"));
    }
    let mut shown = json!({"sessions": found});
    owners(&oam, &mut shown).await;
    Ok(Json(shown["sessions"][0].take()))
}

/// Adds the SUPI to each session of which this core's SMF knows it.
async fn owners(oam: &Oam, top: &mut Value) {
    let Some(sessions) = top["sessions"].as_array_mut() else { return };
    let seids: Vec<&str> = sessions.iter().filter_map(|session| session["seid"].as_str()).collect();
    if seids.is_empty() {
        return;
    }
    let question = format!("smf/owners/{}", seids.join(","));
    let Ok(owners) = oam.core.ask("smf", question).await else { return };
    for session in sessions {
        let owner = session["seid"].as_str().map(|seid| owners[seid].clone());
        session["supi"] = owner.unwrap_or_default();
    }
}

/// Trace packets
///
/// A job; its result has the packets, each with the reason of its drop and the rules. Events
/// `packet` show them while it runs.
#[utoipa::path(
    post, path = "/traces", tag = "user plane", request_body = TraceRequest,
    responses(
        (status = 202, body = Job, description = "the job"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the request is wrong"),
    )
)]
pub async fn trace(
    State(oam): State<Arc<Oam>>,
    caller: Caller,
    Body(request): Body<TraceRequest>,
) -> Result<(StatusCode, Json<Job>), Failure> {
    if !(1..=600).contains(&request.seconds) {
        return Err(Failure::field("seconds", "out of range", "write 1 to 600"));
    }
    let ue = ue_filter(request.ue.as_deref())?;
    let (shared, total) = (oam.clone(), Some(request.seconds));
    oam.record(
        &caller,
        "trace.start",
        request.ue.as_deref().unwrap_or("all UEs"),
        Value::Null,
        json!({"seconds": request.seconds}),
    )
    .await?;
    let job = oam.jobs.start("trace", &caller.name, total, |running| async move {
        traced(&shared, request, ue, running).await
    })?;
    Ok((StatusCode::ACCEPTED, Json(job)))
}

/// The packets that a request for a trace wants.
pub(super) fn ue_filter(ue: Option<&str>) -> Result<Option<UeFilter>, Failure> {
    let remedy = "write such as 10.45.0.2, fd45:0:0:1::7 or fd45:0:0:1::/64";
    ue.map(str::parse::<UeFilter>)
        .transpose()
        .map_err(|error: NoUeAddress| Failure::field("ue", error.to_string(), remedy))
}

async fn traced(
    oam: &Oam,
    request: TraceRequest,
    ue: Option<UeFilter>,
    running: Running,
) -> Result<Value, Failure> {
    let question = if request.forwarded { "upf/trace/all" } else { "upf/trace" };
    let start = Instant::now();
    let (mut packets, mut missed) = (Vec::new(), 0);
    while start.elapsed().as_secs() < request.seconds && packets.len() < MAX_PACKETS {
        let batch = oam.core.ask("upf", question.into()).await?;
        missed += batch["missed"].as_u64().unwrap_or(0);
        for packet in batch["packets"].as_array().into_iter().flatten() {
            let is_wanted = ue.is_none_or(|ue| ue.selects(packet));
            if is_wanted && packets.len() < MAX_PACKETS {
                oam.events.push("packet", packet);
                packets.push(packet.clone());
            }
        }
        running.change(|job| {
            job.done = start.elapsed().as_secs();
            job.result = json!({"packets": packets, "missed": missed});
        });
        tokio::time::sleep(INTERVAL).await;
    }
    Ok(json!({"packets": packets, "missed": missed}))
}

/// Capture N6
///
/// A job; the file is in the folder `upf.telemetry.captures` of the UPF.
#[utoipa::path(
    post, path = "/captures", tag = "user plane", request_body = CaptureRequest,
    responses(
        (status = 202, body = Job, description = "the job"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the request is wrong, or the datapath cannot capture"),
        (status = "5XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the UPF does not answer"),
    )
)]
pub async fn capture(
    State(oam): State<Arc<Oam>>,
    caller: Caller,
    Body(request): Body<CaptureRequest>,
) -> Result<(StatusCode, Json<Job>), Failure> {
    if !(1..=86_400).contains(&request.seconds) {
        return Err(Failure::field("seconds", "out of range", "write 1 to 86400"));
    }
    if !(1..=2048).contains(&request.snap) {
        return Err(Failure::field("snap", "out of range", "write 1 to 2048"));
    }
    let CaptureRequest { seconds, snap, packets, bytes } = request;
    let question = format!("upf/capture/begin/{snap}/{packets}/{bytes}/{seconds}");
    let begun = oam.core.ask("upf", question).await?;
    oam.record(&caller, "capture.start", "N6", Value::Null, begun.clone()).await?;
    let shared = oam.clone();
    let job = oam.jobs.start("capture", &caller.name, Some(seconds), |running| async move {
        let start = Instant::now();
        let mut status = begun;
        while start.elapsed().as_secs() <= seconds {
            running.change(|job| {
                (job.done, job.result) = (start.elapsed().as_secs(), status.clone());
            });
            tokio::time::sleep(Duration::from_secs(1)).await;
            match shared.core.ask("upf", "upf/capture".into()).await {
                Ok(now) => status = now,
                Err(_) => break,
            }
            // It ended by itself, or was stopped.
            if status["ended"].is_string() {
                break;
            }
        }
        Ok(status)
    })?;
    Ok((StatusCode::ACCEPTED, Json(job)))
}

/// Stop the running capture
///
/// Its job ends with the numbers of packets.
#[utoipa::path(
    delete, path = "/captures", tag = "user plane",
    responses(
        (status = 200, body = Object, description = "the capture"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "no capture runs, or no UPF"),
        (status = "5XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the UPF does not answer"),
    )
)]
pub async fn end_capture(
    State(oam): State<Arc<Oam>>,
    caller: Caller,
) -> Result<Json<Value>, Failure> {
    let ended = oam.core.ask("upf", "upf/capture/end".into()).await?;
    oam.record(&caller, "capture.stop", "N6", Value::Null, ended.clone()).await?;
    Ok(Json(ended))
}

/// Reload the XDP programs
///
/// No packet is lost.
#[utoipa::path(
    post, path = "/user-plane/renewal", tag = "user plane", request_body = Renewal,
    responses(
        (status = 200, body = Object, description = "reloaded"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the datapath has no programs, or no UPF runs in this core"),
        (status = "5XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the UPF does not answer"),
    )
)]
pub async fn renew(
    State(oam): State<Arc<Oam>>,
    caller: Caller,
    Body(renewal): Body<Renewal>,
) -> Result<Json<Value>, Failure> {
    let question = renewal.sample.map_or("upf/renew".into(), |n| format!("upf/renew/sample/{n}"));
    let done = oam.core.ask("upf", question).await?;
    let after = json!({"sample": renewal.sample});
    oam.record(&caller, "user-plane.renew", "XDP programs", Value::Null, after).await?;
    Ok(Json(done))
}

/// Show charging
///
/// Accounts and the latest records. There is nothing without a CHF (`chf.enabled`).
#[utoipa::path(
    get, path = "/charging", tag = "network",
    responses(
        (status = 200, body = Object, description = "accounts and records"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "no CHF runs in this core"),
        (status = "5XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the CHF does not answer"),
    )
)]
pub async fn charging(State(oam): State<Arc<Oam>>) -> Result<Json<Value>, Failure> {
    Ok(Json(oam.core.ask("chf", "charging".into()).await?))
}

/// How often the quota of a subscriber was set, and the entity tag of that. Usage changes neither.
fn version_of(oam: &Oam, supi: &str, charging: &Value) -> (u64, String) {
    let version = charging["accounts"][supi]["version"].as_u64().unwrap_or(0);
    (version, oam.tag(&json!({"charging": supi, "version": version})))
}

/// Show charging of a subscriber
///
/// The ETag is that of the quota: it changes when a quota is set, not with usage.
#[utoipa::path(
    get, path = "/charging/{supi}", tag = "network",
    params(("supi" = String, Path, example = "imsi-001010000000001")),
    responses(
        (status = 200, body = Object, description = "the account, if there is one, and records",
            headers(("ETag" = String, description = "for If-Match"))),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "no CHF runs in this core"),
        (status = "5XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the CHF does not answer"),
    )
)]
pub async fn charging_of(
    State(oam): State<Arc<Oam>>,
    Path(supi): Path<String>,
) -> Result<Response, Failure> {
    check_supi(&supi)?;
    let shown = oam.core.ask("chf", format!("charging/{}", segment(&supi))).await?;
    Ok(page::tagged(&version_of(&oam, &supi, &shown).1, shown))
}

/// Set the quota of a subscriber
#[utoipa::path(
    put, path = "/charging/{supi}", tag = "network", request_body = Quota,
    params(
        ("supi" = String, Path, example = "imsi-001010000000001"),
        ("If-Match" = String, Header, description = "the ETag that was read, or *"),
    ),
    responses(
        (status = 200, body = Object, description = "the account",
            headers(("ETag" = String, description = "for If-Match"))),
        (status = 412, body = ProblemDetails, content_type = "application/problem+json",
            description = "another quota was set meanwhile"),
        (status = 428, body = ProblemDetails, content_type = "application/problem+json",
            description = "If-Match is missing"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "no CHF runs in this core"),
        (status = "5XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the CHF does not answer"),
    )
)]
pub async fn set_charging(
    State(oam): State<Arc<Oam>>,
    Path(supi): Path<String>,
    caller: Caller,
    headers: HeaderMap,
    Body(quota): Body<Quota>,
) -> Result<Response, Failure> {
    check_supi(&supi)?;
    let wanted = page::if_match(&headers)?;
    let bytes = quota.bytes.map_or("unlimited".to_string(), |bytes| bytes.to_string());
    let before = oam.core.ask("chf", format!("charging/{}", segment(&supi))).await?;
    let (version, tag) = version_of(&oam, &supi, &before);
    if !page::matches(&wanted, &tag) {
        return Err(Failure::stale());
    }
    let question = match wanted.trim() {
        "*" => format!("charging/{}/{bytes}", segment(&supi)),
        // The CHF compares once more: another quota may be set since `before` was read.
        _ => format!("charging/{}/{bytes}/{version}", segment(&supi)),
    };
    let after = oam.core.ask("chf", question).await.map_err(|error| match error {
        AccessError::Refused { status: 412, .. } => Failure::stale(),
        other => other.into(),
    })?;
    let (_, tag) = version_of(&oam, &supi, &after);
    let account = |value: &Value| value["accounts"].clone();
    oam.record(&caller, "charging.set", supi, account(&before), account(&after)).await?;
    Ok(page::tagged(&tag, after))
}
