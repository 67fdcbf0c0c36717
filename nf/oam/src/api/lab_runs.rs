//! Quick runs of martlet-lab. The function may not start programs: it asks `martlet-lab serve`,
//! which has rights of its own and starts nothing else.
use crate::caller::Caller;
use crate::jobs::{Job, Running};
use crate::page::Body;
use crate::problem::{Failure, ProblemDetails};
use crate::state::Oam;
use axum::Json;
use axum::extract::State;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;
use utoipa::ToSchema;

/// Time for an answer that takes no work.
const TIMEOUT: Duration = Duration::from_secs(3);
/// Lines of progress that a job shows.
const MAX_LINES: usize = 20;

/// Whether quick runs can be started.
#[derive(Debug, Serialize, ToSchema)]
pub struct LabRuns {
    /// Whether they can.
    available: bool,
    /// The experiments.
    #[schema(example = json!(["sbi", "idle"]))]
    experiments: Vec<String>,
    /// The experiment that runs now.
    #[serde(skip_serializing_if = "Option::is_none")]
    running: Option<String>,
    /// Why they cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

/// A quick run to start.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LabRunRequest {
    /// The experiment.
    #[schema(example = "sbi")]
    experiment: String,
}

/// Why no run can be started, and what to do.
fn unsupported(reason: String, remedy: &str) -> Failure {
    let status = StatusCode::UNPROCESSABLE_ENTITY;
    Failure::new(status, "unsupported", "This core cannot do that", reason).remedy(remedy)
}

async fn request(socket: &Path, request: Value) -> std::io::Result<Lines<BufReader<UnixStream>>> {
    let mut stream = UnixStream::connect(socket).await?;
    stream.write_all(format!("{request}\n").as_bytes()).await?;
    Ok(BufReader::new(stream).lines())
}

/// The answer of `martlet-lab serve` about itself.
async fn shown(oam: &Oam) -> Result<Value, Failure> {
    const SERVE: &str = "install martlet-lab on this machine, and start martlet-lab serve";
    let Some(socket) = &oam.config.lab_socket else {
        let remedy = "install martlet-lab, start martlet-lab serve, and set oam.api.lab_socket \
                      and oam.api.lab_reports";
        return Err(unsupported("no martlet-lab is configured for this core".into(), remedy));
    };
    let answer = async {
        let mut lines = request(socket, json!({"show": true})).await?;
        lines.next_line().await
    };
    let place = socket.display();
    let line = match tokio::time::timeout(TIMEOUT, answer).await {
        Ok(Ok(Some(line))) => line,
        Ok(Err(error)) => {
            return Err(unsupported(
                format!("martlet-lab does not serve at {place}: {error}"),
                SERVE,
            ));
        }
        _ => return Err(unsupported(format!("martlet-lab does not answer at {place}"), SERVE)),
    };
    let value: Value = serde_json::from_str(&line).unwrap_or_default();
    if let Some(why) = value["failed"].as_str() {
        return Err(unsupported(why.to_string(), "start martlet-lab serve with the core's user"));
    }
    let (out, reports) = (value["out"].as_str(), oam.config.lab_reports.as_ref());
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    match (out.map(|out| real(Path::new(out))), reports.map(|reports| real(reports))) {
        (Some(out), Some(reports)) if out != reports => Err(unsupported(
            format!("martlet-lab writes into {}, not into {}", out.display(), reports.display()),
            "start martlet-lab serve with --out, the folder of oam.api.lab_reports",
        )),
        _ => Ok(value),
    }
}

/// Show whether quick runs can be started
#[utoipa::path(
    get, path = "/lab-runs", tag = "network",
    responses(
        (status = 200, body = LabRuns, description = "the experiments, or why there are none"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the caller may not read"),
    )
)]
pub async fn show(State(oam): State<Arc<Oam>>) -> Json<LabRuns> {
    Json(match shown(&oam).await {
        Ok(value) => LabRuns {
            available: true,
            experiments: serde_json::from_value(value["experiments"].clone()).unwrap_or_default(),
            running: value["running"].as_str().map(str::to_string),
            reason: None,
            remedy: None,
        },
        Err(failure) => LabRuns {
            available: false,
            experiments: Vec::new(),
            running: None,
            reason: Some(failure.problem().detail.clone()),
            remedy: failure.problem().remedy.clone(),
        },
    })
}

/// Start a quick run
///
/// A job; its result has the latest lines of progress, and the name of the report. One run at a
/// time, with the lowest priority.
#[utoipa::path(
    post, path = "/lab-runs", tag = "network", request_body = LabRunRequest,
    responses(
        (status = 202, body = Job, description = "the job, see /jobs/{id}"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "there is no such experiment, or no martlet-lab"),
    )
)]
pub async fn start(
    State(oam): State<Arc<Oam>>,
    caller: Caller,
    Body(body): Body<LabRunRequest>,
) -> Result<(StatusCode, Json<Job>), Failure> {
    let known = shown(&oam).await?;
    let experiments = known["experiments"].as_array().cloned().unwrap_or_default();
    if !experiments.contains(&body.experiment.clone().into()) {
        let names: Vec<&str> = experiments.iter().filter_map(Value::as_str).collect();
        let remedy = format!("write one of {}", names.join(", "));
        return Err(Failure::field("experiment", "there is no such quick run", &remedy));
    }
    if let Some(running) = known["running"].as_str() {
        return Err(
            Failure::conflict(format!("{running} runs already")).remedy("wait until it has ended")
        );
    }
    oam.record(&caller, "lab-run.start", &body.experiment, Value::Null, Value::Null).await?;
    let shared = oam.clone();
    let job = oam.jobs.start("lab-run", &caller.name, None, |running| async move {
        run(&shared, &body.experiment, running).await
    })?;
    Ok((StatusCode::ACCEPTED, Json(job)))
}

async fn run(oam: &Oam, experiment: &str, running: Running) -> Result<Value, Failure> {
    let Some(socket) = &oam.config.lab_socket else {
        return Err(Failure::unavailable("no martlet-lab is configured"));
    };
    let lost = |error: std::io::Error| Failure::unavailable(format!("martlet-lab: {error}"));
    // The run ends when this job, and with it the connection, ends.
    let mut lines = request(socket, json!({"run": experiment})).await.map_err(lost)?;
    let mut progress: Vec<String> = Vec::new();
    while let Some(line) = lines.next_line().await.map_err(lost)? {
        let value: Value = serde_json::from_str(&line).unwrap_or_default();
        if let Some(report) = value["report"].as_str() {
            return Ok(json!({"progress": progress, "report": report}));
        }
        if let Some(why) = value["failed"].as_str() {
            return Err(Failure::conflict(why.to_string()));
        }
        progress.extend(value["progress"].as_str().map(|text| text.chars().take(500).collect()));
        let surplus = progress.len().saturating_sub(MAX_LINES);
        progress.drain(..surplus);
        running.change(|job| {
            job.done += 1;
            job.result = json!({"progress": progress});
        });
    }
    Err(Failure::unavailable("martlet-lab ended before the run"))
}
