//! Record the signalling of a UE.
use super::subscribers::check_supi;
use crate::caller::Caller;
use crate::jobs::{Job, Running};
use crate::page::Body;
use crate::problem::{Failure, ProblemDetails};
use crate::signalling::{self, Message, Recording};
use crate::state::Oam;
use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use utoipa::ToSchema;

/// The kind of the job.
const KIND: &str = "signalling";
/// Interval between two polls of the functions.
const INTERVAL: Duration = Duration::from_millis(500);
/// Functions with an SBI. The UPF's messages are those of the SMF.
const FUNCTIONS: [&str; 10] =
    ["amf", "smf", "ausf", "udm", "udr", "pcf", "nssf", "nrf", "chf", "lmf"];

/// A recording.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignallingRequest {
    /// Duration in seconds.
    #[schema(minimum = 1, maximum = 600, example = 30)]
    seconds: u64,
}

/// Record the signalling of a UE
///
/// A job; its result has the messages on N1 (before ciphering), N2, N4 and the SBI, with keys
/// overwritten. Cancelling it leaves what was recorded. `GET /jobs/{id}/pcap` has them for
/// Wireshark.
#[utoipa::path(
    post, path = "/ues/{supi}/messages", tag = "ues", request_body = SignallingRequest,
    params(("supi" = String, Path, example = "imsi-001010000000001")),
    responses(
        (status = 202, body = Job, description = "the job"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the request is wrong"),
        (status = "5XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "no function answers"),
    )
)]
pub async fn record(
    State(oam): State<Arc<Oam>>,
    Path(supi): Path<String>,
    caller: Caller,
    Body(request): Body<SignallingRequest>,
) -> Result<(StatusCode, Json<Job>), Failure> {
    check_supi(&supi)?;
    let seconds = request.seconds;
    if !(1..=600).contains(&seconds) {
        return Err(Failure::field("seconds", "out of range", "write 1 to 600"));
    }
    let after = json!({"seconds": seconds});
    oam.record(&caller, "ue.record-messages", supi.clone(), Value::Null, after).await?;
    let recorders = Recorders::begin(&oam, seconds).await?;
    let job = oam.jobs.start(KIND, &caller.name, Some(seconds), |running| async move {
        recorded(recorders, &supi, seconds, running).await
    })?;
    Ok((StatusCode::ACCEPTED, Json(job)))
}

/// The recorders of the core's processes. They end when this is dropped.
struct Recorders {
    oam: Arc<Oam>,
    functions: Vec<(&'static str, u64)>,
    recording: Recording,
}

impl Recorders {
    async fn begin(oam: &Arc<Oam>, seconds: u64) -> Result<Self, Failure> {
        let mut begun =
            Recorders { oam: oam.clone(), functions: Vec::new(), recording: Recording::default() };
        // Some seconds longer, so that the last poll returns everything.
        let question = format!("signalling/begin/{}", seconds + 10);
        for function in FUNCTIONS {
            if begun.is_in_one_process() {
                break;
            }
            let Ok(answer) = oam.core.ask(function, question.clone()).await else { continue };
            let process = answer["process"].as_u64().unwrap_or(0);
            let last = answer["next"].as_u64().unwrap_or(0);
            begun.functions.push((function, process));
            begun.recording.begin(process, last);
        }
        match begun.functions.is_empty() {
            true => Err(Failure::unavailable("no function of the core answers")),
            false => Ok(begun),
        }
    }

    /// Whether the first function that answered is of this process, and so all others are.
    fn is_in_one_process(&self) -> bool {
        let own = u64::from(std::process::id());
        self.functions.first().is_some_and(|(_, process)| *process == own)
    }

    async fn read(&mut self) {
        for (function, process) in &self.functions {
            loop {
                let question = format!("signalling/read/{}", self.recording.after(*process));
                let Ok(answer) = self.oam.core.ask(function, question).await else { break };
                if !self.recording.add(&answer) {
                    break;
                }
            }
        }
    }
}

impl Drop for Recorders {
    fn drop(&mut self) {
        let (oam, functions) = (self.oam.clone(), std::mem::take(&mut self.functions));
        tokio::spawn(async move {
            for (function, _) in functions {
                // A process that has ended has ended its recording, too.
                let _ = oam.core.ask(function, "signalling/end".into()).await;
            }
        });
    }
}

async fn recorded(
    mut recorders: Recorders,
    supi: &str,
    seconds: u64,
    running: Running,
) -> Result<Value, Failure> {
    let start = Instant::now();
    let result = |recorders: &Recorders| {
        json!({
            "supi": supi,
            "messages": recorders.recording.of_ue(supi),
            "missed": recorders.recording.missed(),
        })
    };
    while start.elapsed().as_secs() < seconds {
        tokio::time::sleep(INTERVAL).await;
        recorders.read().await;
        running.change(|job| {
            (job.done, job.result) = (start.elapsed().as_secs(), result(&recorders));
        });
    }
    recorders.read().await;
    Ok(result(&recorders))
}

/// Show the recorded signalling of a UE as a file for Wireshark
#[utoipa::path(
    get, path = "/jobs/{id}/pcap", tag = "ues",
    params(("id" = String, Path, example = "17")),
    responses(
        (status = 200, body = Vec<u8>, content_type = "application/x-pcapng",
            description = "a pcapng file of exported PDUs"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "there is no such recording"),
    )
)]
pub async fn pcap(
    State(oam): State<Arc<Oam>>,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    let job = oam.jobs.get(&id)?;
    if job.kind != KIND {
        return Err(Failure::not_found(format!("job {id} is no recording of signalling")));
    }
    let messages: Vec<Message> =
        serde_json::from_value(job.result["messages"].clone()).unwrap_or_default();
    let mut response = signalling::pcapng(&messages)?.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-pcapng"));
    let name = job.result["supi"].as_str().unwrap_or("messages");
    let file = format!("attachment; filename=\"{name}-{id}.pcapng\"");
    if let Ok(value) = HeaderValue::from_str(&file) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
    Ok(response)
}
