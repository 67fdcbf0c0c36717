//! A trace of the user plane that lasts as long as its reader is connected.
use super::user_plane::ue_filter;
use crate::caller::Caller;
use crate::page::Body;
use crate::problem::{Failure, ProblemDetails};
use crate::reader::{RECHECK, may_read};
use crate::state::Oam;
use axum::body::Body as ResponseBody;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, header};
use serde::Deserialize;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use utoipa::ToSchema;

/// Interval between two reads of the UPF's traced packets.
const INTERVAL: Duration = Duration::from_millis(200);
/// A line is sent at least this often, so that the end of the reader is noticed.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// Longest trace.
const LONGEST: Duration = Duration::from_secs(3600);

/// A live trace.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LiveTraceRequest {
    /// Whether forwarded packets are shown, too.
    #[serde(default)]
    forwarded: bool,
    /// Only packets of a UE with this address, or this IPv6 prefix of 64 bits.
    #[serde(default)]
    ue: Option<String>,
}

/// Trace packets live
///
/// The answer is a line of JSON for each packet until the reader disconnects, for an hour at most:
/// `{"packet": …}`, `{"missed": N}` for packets that did not fit, and `{}` while there is none.
#[utoipa::path(
    post, path = "/traces/live", tag = "user plane", request_body = LiveTraceRequest,
    responses(
        (status = 200, body = String, content_type = "application/x-ndjson",
            description = "the packets"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the request is wrong, no UPF runs in this core, or too many traces run"),
        (status = "5XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the UPF does not answer"),
    )
)]
pub async fn trace(
    State(oam): State<Arc<Oam>>,
    caller: Caller,
    Body(request): Body<LiveTraceRequest>,
) -> Result<Response, Failure> {
    let ue = ue_filter(request.ue.as_deref())?;
    let reader = oam.traces.admit(&caller.name)?;
    let question = if request.forwarded { "upf/trace/all" } else { "upf/trace" };
    // The first request starts the trace, so its answer has no packets.
    oam.core.ask("upf", question.into()).await?;
    let target = request.ue.unwrap_or_else(|| "all UEs".into());
    let after = json!({"forwarded": request.forwarded});
    oam.record(&caller, "trace.start", target, Value::Null, after).await?;
    let start = Instant::now();
    // Reports to the reader at once that the trace runs.
    let first = stream::iter([Ok::<_, Infallible>(Bytes::from_static(b"{}\n"))]);
    let state = (oam, caller, reader, start, start + RECHECK);
    let rest = stream::unfold(state, move |state| async move {
        let (oam, caller, reader, mut sent, mut recheck) = state;
        while start.elapsed() < LONGEST {
            tokio::time::sleep(INTERVAL).await;
            if recheck <= Instant::now() {
                recheck = Instant::now() + RECHECK;
                if !may_read(&oam, &caller).await {
                    return None;
                }
            }
            let batch = oam.core.ask("upf", question.into()).await.ok()?;
            let mut lines = String::new();
            for packet in batch["packets"].as_array().into_iter().flatten() {
                if ue.is_none_or(|ue| ue.selects(packet)) {
                    lines += &format!("{}\n", json!({"packet": packet}));
                }
            }
            if let Some(missed @ 1..) = batch["missed"].as_u64() {
                lines += &format!("{{\"missed\":{missed}}}\n");
            }
            if lines.is_empty() && sent.elapsed() >= KEEP_ALIVE {
                lines += "{}\n";
            }
            if !lines.is_empty() {
                sent = Instant::now();
                return Some((Ok(Bytes::from(lines)), (oam, caller, reader, sent, recheck)));
            }
        }
        None
    });
    let body = ResponseBody::from_stream(futures_util::StreamExt::chain(first, rest));
    let mut response = body.into_response();
    let kind = HeaderValue::from_static("application/x-ndjson");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}
