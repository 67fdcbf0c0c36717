//! Restore of a backup at the next start of the core.
use crate::audit::{Audit, Change};
use crate::backups::{RestorePreview, Restores, StagedRestore};
use crate::caller::Caller;
use crate::page::{self, Body, Query};
use crate::problem::{Failure, ProblemDetails};
use crate::state::Oam;
use axum::Json;
use axum::extract::State;
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::{Component, PathBuf};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};

/// Maximum length of a path in bytes.
const MAX_PATH: usize = 1024;

/// The backup to look at.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PreviewQuery {
    /// Folder of the backup on the core's machine.
    #[param(example = "/var/lib/martlet/backup-2026-11-24")]
    folder: String,
}

/// A backup to restore.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RestoreRequest {
    /// Folder of the backup on the core's machine.
    #[schema(example = "/var/lib/martlet/backup-2026-11-24")]
    folder: String,
}

/// The folder of a request: an absolute path without `..`.
pub(super) fn folder_of(text: &str, remedy: &str) -> Result<PathBuf, Failure> {
    let folder = PathBuf::from(text);
    let is_plain =
        folder.components().all(|part| matches!(part, Component::RootDir | Component::Normal(_)));
    if !folder.is_absolute() || !is_plain || text.len() > MAX_PATH || text.contains('\0') {
        return Err(Failure::field("folder", "not an absolute path", remedy));
    }
    Ok(folder)
}

/// Checks a backup, and compares it with the present state.
async fn look(oam: &Arc<Oam>, folder: &str) -> Result<RestorePreview, Failure> {
    let folder = folder_of(folder, "write the folder of a backup")?;
    let mut preview = oam.core_blocking(move |core| core.backups().preview(&folder)).await??;
    if let Some(position) = preview.audit.clone() {
        preview.changes_since = oam.store(move |store| Audit::since(store, &position)).await?;
    }
    Ok(preview)
}

/// The entity tag of a preview. Entries of the audit log alone, such as a sign-in, leave it.
fn tag(oam: &Oam, preview: &RestorePreview) -> String {
    oam.tag(&json!(RestorePreview { changes_since: None, ..preview.clone() }))
}

/// Preview the restore of a backup
///
/// The whole backup is checked: its files, the integrity and the schema version of its databases,
/// and that the operator's key opens the keys of its subscribers. Nothing is changed.
#[utoipa::path(
    get, path = "/restores/preview", tag = "administration", params(PreviewQuery),
    responses(
        (status = 200, body = RestorePreview, description = "what the restore would change",
            headers(("ETag" = String, description = "for If-Match of POST /restores"))),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the backup cannot be restored"),
    )
)]
pub async fn preview(
    State(oam): State<Arc<Oam>>,
    Query(query): Query<PreviewQuery>,
) -> Result<Response, Failure> {
    let preview = look(&oam, &query.folder).await?;
    Ok(page::tagged(&tag(&oam, &preview), preview))
}

/// Stage the restore of a backup
///
/// The backup is checked again, and its files are copied. The next start of the core replaces the
/// present ones with them, before any function opens a database, and keeps those as a backup of
/// their own. All changes since the backup are lost.
#[utoipa::path(
    post, path = "/restores", tag = "administration", request_body = RestoreRequest,
    params(("If-Match" = String, Header, description = "the ETag of the preview, or *")),
    responses(
        (status = 202, body = StagedRestore, description = "staged"),
        (status = 409, body = ProblemDetails, content_type = "application/problem+json",
            description = "another restore is staged"),
        (status = 412, body = ProblemDetails, content_type = "application/problem+json",
            description = "the backup or the subscribers were changed since the preview"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the backup cannot be restored"),
        (status = 507, body = ProblemDetails, content_type = "application/problem+json",
            description = "the disk has no room for the copies"),
    )
)]
pub async fn stage(
    State(oam): State<Arc<Oam>>,
    caller: Caller,
    headers: HeaderMap,
    Body(request): Body<RestoreRequest>,
) -> Result<(StatusCode, Json<StagedRestore>), Failure> {
    let wanted = page::if_match(&headers)?;
    let _alone = oam.restores.lock().await;
    let seen = look(&oam, &request.folder).await?;
    if !page::matches(&wanted, &tag(&oam, &seen)) {
        return Err(Failure::stale());
    }
    let (folder, by) = (PathBuf::from(&request.folder), caller.name.clone());
    let staged = oam.core_blocking(move |core| core.backups().stage(&folder, &by)).await??;
    let after = json!({"backup": staged, "preview": seen});
    oam.record(&caller, "restore.stage", &request.folder, Value::Null, after).await?;
    Ok((StatusCode::ACCEPTED, Json(staged)))
}

/// Show the staged restore and the result of the last one
#[utoipa::path(
    get, path = "/restores", tag = "administration",
    responses(
        (status = 200, body = Restores, description = "staged and last restore",
            headers(("ETag" = String, description = "for If-Match"))),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the caller is no administrator"),
    )
)]
pub async fn show(State(oam): State<Arc<Oam>>) -> Result<Response, Failure> {
    let restores = oam.core_blocking(|core| core.backups().restores()).await??;
    Ok(page::tagged(&oam.tag(&json!(restores)), restores))
}

/// Withdraw the staged restore
///
/// The alarm of an earlier restore that failed ends with it.
#[utoipa::path(
    delete, path = "/restores", tag = "administration",
    params(("If-Match" = Option<String>, Header, description = "the ETag that was read")),
    responses(
        (status = 204, description = "withdrawn"),
        (status = 412, body = ProblemDetails, content_type = "application/problem+json",
            description = "another restore was staged meanwhile"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "none is staged"),
    )
)]
pub async fn withdraw(
    State(oam): State<Arc<Oam>>,
    caller: Caller,
    headers: HeaderMap,
) -> Result<StatusCode, Failure> {
    let _alone = oam.restores.lock().await;
    let restores = oam.core_blocking(|core| core.backups().restores()).await??;
    page::check_if_match(&headers, Some(&oam.tag(&json!(restores))))?;
    let by = caller.name.clone();
    let withdrawn = oam.core_blocking(move |core| core.backups().withdraw(&by)).await??;
    let withdrawn = withdrawn.ok_or_else(|| Failure::not_found("no restore is staged"))?;
    oam.monitor.note_restore(None);
    let folder = withdrawn.folder.clone();
    oam.record(&caller, "restore.withdraw", folder, json!(withdrawn), Value::Null).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Notes a last restore that failed, which is an alarm, and records the one that the start of the
/// core has carried out, or could not, once. The entry
/// follows those of the restored audit log. Blocks.
///
/// # Errors
/// The store or the folder of restores cannot be written.
pub fn record_last(oam: &Oam) -> Result<(), Failure> {
    let last = oam.core.backups().restores()?.last;
    // Only requests to this function change it while the core runs.
    oam.monitor.note_restore(last.clone());
    let Some(last) = last.filter(|last| !last.recorded) else { return Ok(()) };
    let what = if last.error.is_none() { "restore.carry-out" } else { "restore.fail" };
    let change = Change {
        who: last.staged.by.clone(),
        via: "start",
        what,
        target: last.staged.folder.clone(),
        before: Value::Null,
        after: json!(last),
    };
    oam.append_now(change)?;
    Ok(oam.core.backups().recorded()?)
}
