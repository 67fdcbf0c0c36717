//! Bulk import of subscribers as a job, with a dry run.
use super::subscriber_body::{differences, tagged};
use crate::audit::Change;
use crate::caller::Caller;
use crate::jobs::{Job, Running};
use crate::page::Body;
use crate::problem::{Failure, ProblemDetails};
use crate::state::Oam;
use crate::static_addresses;
use axum::Json;
use axum::extract::State;
use http::StatusCode;
use martlet_store::{StoreError, Subscriber};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use utoipa::ToSchema;

/// Changes of a report that are listed by name; all are counted.
const MAX_LISTED: usize = 100;

/// An import.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportRequest {
    /// `auto`, `csv`, `martlet`, `open5gs`, `free5gc` or `ueransim`.
    #[serde(default = "auto")]
    #[schema(example = "csv")]
    format: String,
    /// The text of the file.
    text: String,
    /// Whether only to report what would change.
    #[serde(default)]
    dry_run: bool,
    /// Whether to replace existing subscribers.
    #[serde(default)]
    replace: bool,
    /// Whether to import although fields are lost.
    #[serde(default)]
    lossy: bool,
}

fn auto() -> String {
    "auto".into()
}

/// Import subscribers
///
/// The job's result has the numbers of new, changed and equal subscribers, the first of those that
/// are new or changed with the fields that differ, and the lost fields. All are imported or none. A
/// static address that another subscriber has, or that is not in the pool, is refused.
#[utoipa::path(
    post, path = "/subscriber-imports", tag = "subscribers", request_body = ImportRequest,
    responses(
        (status = 202, body = Job, description = "the job, see /jobs/{id}"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the request is wrong"),
    )
)]
pub async fn start(
    State(oam): State<Arc<Oam>>,
    caller: Caller,
    Body(request): Body<ImportRequest>,
) -> Result<(StatusCode, Json<Job>), Failure> {
    let formats = ["auto", "csv", "martlet", "open5gs", "free5gc", "ueransim"];
    if !formats.contains(&request.format.as_str()) {
        return Err(Failure::field("format", "unknown format", "write auto, csv or martlet"));
    }
    let (shared, by) = (oam.clone(), caller.clone());
    let job = oam.jobs.start("subscriber-import", &caller.name, None, |running| async move {
        import(&shared, &by, request, running).await
    })?;
    Ok((StatusCode::ACCEPTED, Json(job)))
}

async fn import(
    oam: &Arc<Oam>,
    caller: &Caller,
    request: ImportRequest,
    running: Running,
) -> Result<Value, Failure> {
    let ImportRequest { format, text, dry_run, replace, lossy } = request;
    let read = oam.core_blocking(move |core| core.read_subscribers(&format, &text)).await??;
    let mut all = read.subscribers;
    running.change(|job| job.total = Some(all.len() as u64));
    let shared = oam.clone();
    let (report, is_blocked, all) = oam
        .store(move |store| {
            if dry_run {
                drop(static_addresses::check_all(&shared, store, &all)?);
            }
            let (mut new, mut changed, mut equal, mut listed) = (0, 0, 0, Vec::new());
            for subscriber in &mut all {
                let present = store.subscriber(&subscriber.supi)?;
                // Files of other cores have no groups: a subscriber keeps its own.
                if let Some(present) = present.as_ref().filter(|_| subscriber.groups.is_empty()) {
                    subscriber.groups.clone_from(&present.groups);
                }
                let subscriber = &*subscriber;
                let change = match &present {
                    None => "new",
                    Some(present) if tagged(present) == tagged(subscriber) => "equal",
                    Some(_) => "changed",
                };
                match change {
                    "new" => new += 1,
                    "equal" => equal += 1,
                    _ => changed += 1,
                }
                if change != "equal" && listed.len() < MAX_LISTED {
                    let differences = match &present {
                        Some(present) => differences(present, subscriber)?,
                        None => Vec::new(),
                    };
                    let supi = &subscriber.supi;
                    listed.push(json!({
                        "supi": supi, "change": change, "differences": differences,
                    }));
                }
            }
            let report = json!({"new": new, "changed": changed, "equal": equal, "first": listed});
            Ok((report, changed + equal > 0, all))
        })
        .await?;
    let mut report = report;
    report["lost"] = json!(read.lost);
    report["dry_run"] = dry_run.into();
    if dry_run {
        return Ok(report);
    }
    if !read.lost.is_empty() && !lossy {
        return Err(Failure::conflict(format!("fields would be lost: {}", read.lost.join(", ")))
            .remedy("import with lossy, or remove the fields"));
    }
    if is_blocked && !replace {
        return Err(Failure::conflict("some of the subscribers exist").remedy("use replace"));
    }
    let (progress, shared, caller) = (running.clone(), oam.clone(), caller.clone());
    let recorded = report.clone();
    let count = oam
        .store(move |store| {
            let _checked = static_addresses::check_all(&shared, store, &all)?;
            let mut done = 0_u64;
            let each = all.iter().map(|subscriber: &Subscriber| {
                done += 1;
                if done.is_multiple_of(500) {
                    progress.change(|job| job.done = done);
                }
                Ok::<_, StoreError>(subscriber)
            });
            let count = store.import(each, replace)?;
            // In the same call: it ends although the job is cancelled meanwhile.
            let target = format!("{count} subscribers");
            let what = "subscriber.import";
            shared.append(store, Change::by(&caller, what, target, Value::Null, recorded))?;
            Ok(count)
        })
        .await?;
    running.change(|job| job.done = count);
    Ok(report)
}
