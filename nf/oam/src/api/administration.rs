//! Users, API tokens, the audit log, backups and certificates.
use super::restores::folder_of;
use crate::accounts::{self, ApiToken, Role, Scope, User};
use crate::audit::{AuditEntries, AuditEntry, AuditFilter};
use crate::backups::Backup;
use crate::caller::{Caller, Via};
use crate::jobs::Job;
use crate::page::{self, Body, Query};
use crate::problem::{Failure, ProblemDetails};
use crate::state::Oam;
use axum::Json;
use axum::extract::{Path, State};
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use martlet_store::Store;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};
use zeroize::Zeroizing;

/// A user without its password.
#[derive(Serialize, ToSchema)]
pub struct UserView {
    /// Name.
    #[schema(example = "eva")]
    name: String,
    /// Role.
    role: Role,
    /// Whether the password must be changed first.
    must_change_password: bool,
    /// Seconds since 1970.
    created: u64,
}

impl From<User> for UserView {
    fn from(user: User) -> Self {
        let User { name, role, must_change, created, .. } = user;
        UserView { name, role, must_change_password: must_change, created }
    }
}

/// A user to add.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewUser {
    /// Name: 1 to 64 letters, digits, and . - _ @
    #[schema(example = "eva")]
    name: String,
    /// Role.
    role: Role,
    /// First password, which the user has to change: 12 to 256 characters.
    #[schema(value_type = String, format = Password, min_length = 12)]
    password: Zeroizing<String>,
}

/// A change of a user.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UserChange {
    /// Another role.
    #[serde(default)]
    role: Option<Role>,
    /// Another password, which the user has to change.
    #[serde(default)]
    #[schema(value_type = Option<String>, format = Password, min_length = 12)]
    password: Option<Zeroizing<String>>,
}

/// An API token without its secret.
#[derive(Serialize, ToSchema)]
pub struct TokenView {
    /// Identity.
    id: String,
    /// Name.
    name: String,
    /// User.
    user: String,
    /// What it may do.
    scopes: Vec<Scope>,
    /// Seconds since 1970.
    created: u64,
    /// Seconds since 1970.
    expires: u64,
}

impl From<ApiToken> for TokenView {
    fn from(token: ApiToken) -> Self {
        let ApiToken { id, name, user, scopes, created, expires, .. } = token;
        TokenView { id, name, user, scopes, created, expires }
    }
}

/// A token to make.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// Name.
    #[schema(example = "provisioning")]
    name: String,
    /// What it may do: a part of the caller's scopes.
    scopes: Vec<Scope>,
    /// Days until it expires.
    #[schema(minimum = 1, maximum = 366, example = 90)]
    days: u64,
    /// The user that it acts for; the caller, if absent. The unix socket has to name one.
    #[serde(default)]
    user: Option<String>,
}

/// A token with its secret.
#[derive(Serialize, ToSchema)]
pub struct MadeToken {
    /// The token. It is shown once.
    token: String,
    /// Its description.
    view: TokenView,
}

/// Which entries of the audit log.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AuditQuery {
    /// `next` of the page before.
    cursor: Option<String>,
    /// Number of entries, at most 1000.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
    /// Only changes by this user: `who` of the entry.
    #[param(example = "admin")]
    user: Option<String>,
    /// Only this action, or the actions that begin with this word: `what` of the entry.
    #[param(example = "subscriber")]
    action: Option<String>,
    /// Only changes of this: `target` of the entry.
    #[param(example = "imsi-001010000000001")]
    target: Option<String>,
    /// Only changes at this time or later, in seconds since 1970.
    #[param(example = 1_764_000_000)]
    from: Option<u64>,
    /// Only changes at this time or before, in seconds since 1970.
    #[param(example = 1_764_086_400)]
    to: Option<u64>,
}

/// A page of the audit log, the latest first.
#[derive(Serialize, ToSchema)]
pub struct AuditPage {
    /// The entries.
    items: Vec<AuditEntry>,
    /// Cursor of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// Whether the hashes fit: no entry of the page, or between them, was changed or removed.
    intact: bool,
}

/// A backup to make.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BackupRequest {
    /// New folder on the core's machine. It has the operator's key.
    #[schema(example = "/var/backups/martlet-2026-11-24")]
    folder: String,
}

/// List users
#[utoipa::path(
    get, path = "/users", tag = "administration",
    responses(
        (status = 200, body = Vec<UserView>, description = "the users",
            headers(("ETag" = String, description = "of all users, for If-Match"))),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the caller is no administrator"),
    )
)]
pub async fn users(State(oam): State<Arc<Oam>>) -> Result<Response, Failure> {
    let users = oam.store(views).await?;
    Ok(page::tagged(&oam.tag(&json!(users)), users))
}

fn views(store: &Store) -> Result<Vec<UserView>, Failure> {
    Ok(accounts::users(store)?.into_iter().map(UserView::from).collect())
}

/// Refuses a change if the users are others than those whose entity tag the caller has read.
async fn check_users(oam: &Oam, headers: &HeaderMap) -> Result<(), Failure> {
    let users = oam.store(views).await?;
    page::check_if_match(headers, Some(&oam.tag(&json!(users))))
}

/// Add a user
#[utoipa::path(
    post, path = "/users", tag = "administration", request_body = NewUser,
    responses(
        (status = 201, body = UserView, description = "added"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "a field is wrong, or the user exists"),
    )
)]
pub async fn add_user(
    State(oam): State<Arc<Oam>>,
    caller: Caller,
    Body(new): Body<NewUser>,
) -> Result<(StatusCode, Json<UserView>), Failure> {
    let NewUser { name, role, password } = new;
    let user =
        oam.store_with_hash(move |store| accounts::add_user(store, &name, role, &password)).await?;
    let view = UserView::from(user);
    oam.record(&caller, "user.create", &view.name, Value::Null, json!(view)).await?;
    Ok((StatusCode::CREATED, Json(view)))
}

/// Change a user
///
/// Its sessions end with a new password. A reduced role applies to its sessions and tokens at once.
#[utoipa::path(
    patch, path = "/users/{name}", tag = "administration", request_body = UserChange,
    params(
        ("name" = String, Path, example = "eva"),
        ("If-Match" = Option<String>, Header, description = "the ETag of all users"),
    ),
    responses(
        (status = 200, body = UserView, description = "changed"),
        (status = 412, body = ProblemDetails, content_type = "application/problem+json",
            description = "a user was changed meanwhile"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "a field is wrong, or it is the last administrator"),
    )
)]
pub async fn change_user(
    State(oam): State<Arc<Oam>>,
    Path(name): Path<String>,
    caller: Caller,
    headers: HeaderMap,
    Body(change): Body<UserChange>,
) -> Result<Json<UserView>, Failure> {
    let _alone = oam.compared.lock().await;
    check_users(&oam, &headers).await?;
    let has_password = change.password.is_some();
    let wanted = name.clone();
    let (before, after) = oam
        .store_with_hash(move |store| {
            let before = accounts::user(store, &wanted)?
                .ok_or_else(|| Failure::not_found(format!("there is no user {wanted}")))?;
            let mut user = before.clone();
            if let Some(role) = change.role {
                if role != Role::Administrator {
                    accounts::keep_an_administrator(store, &before)?;
                }
                user.role = role;
            }
            if let Some(password) = &change.password {
                accounts::check_password(&wanted, password)?;
                (user.hash, user.must_change) = (accounts::hash_password(password)?, true);
            }
            accounts::put_user(store, &user)?;
            Ok((before, user))
        })
        .await?;
    if has_password {
        oam.sessions.end_of_user(&name, None);
    }
    let (before, after) = (UserView::from(before), UserView::from(after));
    oam.record(&caller, "user.change", name, json!(before), json!(after)).await?;
    Ok(Json(after))
}

/// Remove a user
///
/// Its sessions and tokens end.
#[utoipa::path(
    delete, path = "/users/{name}", tag = "administration",
    params(
        ("name" = String, Path, example = "eva"),
        ("If-Match" = Option<String>, Header, description = "the ETag of all users"),
    ),
    responses(
        (status = 204, description = "removed"),
        (status = 412, body = ProblemDetails, content_type = "application/problem+json",
            description = "a user was changed meanwhile"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "it does not exist, or is the last administrator"),
    )
)]
pub async fn remove_user(
    State(oam): State<Arc<Oam>>,
    Path(name): Path<String>,
    caller: Caller,
    headers: HeaderMap,
) -> Result<StatusCode, Failure> {
    let _alone = oam.compared.lock().await;
    check_users(&oam, &headers).await?;
    let wanted = name.clone();
    let removed = oam.store(move |store| accounts::remove_user(store, &wanted)).await?;
    oam.sessions.end_of_user(&name, None);
    oam.record(&caller, "user.remove", name, json!(UserView::from(removed)), Value::Null).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List API tokens
#[utoipa::path(
    get, path = "/tokens", tag = "administration",
    responses(
        (status = 200, body = Vec<TokenView>, description = "the tokens, without secrets"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the caller is no administrator"),
    )
)]
pub async fn tokens(State(oam): State<Arc<Oam>>) -> Result<Json<Vec<TokenView>>, Failure> {
    let tokens = oam.store(accounts::tokens).await?;
    Ok(Json(tokens.into_iter().map(TokenView::from).collect()))
}

/// Make an API token
#[utoipa::path(
    post, path = "/tokens", tag = "administration", request_body = NewToken,
    responses(
        (status = 201, body = MadeToken, description = "made; the token is shown once"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "a field is wrong"),
    )
)]
pub async fn add_token(
    State(oam): State<Arc<Oam>>,
    caller: Caller,
    Body(new): Body<NewToken>,
) -> Result<(StatusCode, Json<MadeToken>), Failure> {
    let NewToken { name, scopes, days, user } = new;
    if !(1..=366).contains(&days) {
        return Err(Failure::field("days", "out of range", "write 1 to 366"));
    }
    if name.is_empty() || name.len() > 100 {
        return Err(Failure::field("name", "empty or too long", "write 1 to 100 bytes"));
    }
    if scopes.is_empty() || !scopes.iter().all(|scope| caller.scopes.contains(scope)) {
        return Err(Failure::field("scopes", "not a part of yours", "write one of yours at least"));
    }
    let of = match (user, &caller.via) {
        (Some(user), _) => user,
        // A token would be valid after the identity provider has removed its user.
        (None, Via::Session { external_name: Some(_), .. }) => {
            return Err(Failure::field(
                "user",
                "users of the identity provider have no tokens",
                "write the name of a local user",
            ));
        }
        (None, _) => caller.name.clone(),
    };
    let (made, token) = oam
        .store(move |store| {
            if accounts::user(store, &of)?.is_none() {
                return Err(Failure::field("user", "no such user", "write the name of a user"));
            }
            accounts::add_token(store, &of, &name, scopes, days)
        })
        .await?;
    let view = TokenView::from(made);
    oam.record(&caller, "token.create", &view.id, Value::Null, json!(view)).await?;
    Ok((StatusCode::CREATED, Json(MadeToken { token, view })))
}

/// Remove an API token
#[utoipa::path(
    delete, path = "/tokens/{id}", tag = "administration",
    params(("id" = String, Path, example = "0123456789abcdef")),
    responses(
        (status = 204, description = "removed"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "it does not exist"),
    )
)]
pub async fn remove_token(
    State(oam): State<Arc<Oam>>,
    Path(id): Path<String>,
    caller: Caller,
) -> Result<StatusCode, Failure> {
    let wanted = id.clone();
    let removed = oam.store(move |store| accounts::remove_token(store, &wanted)).await?;
    let removed = removed.ok_or_else(|| Failure::not_found(format!("there is no token {id}")))?;
    oam.record(&caller, "token.remove", id, json!(TokenView::from(removed)), Value::Null).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Read the audit log
///
/// With a filter, a page may have fewer entries than `limit`, or none, and `next`.
#[utoipa::path(
    get, path = "/audit", tag = "administration", params(AuditQuery),
    responses(
        (status = 200, body = AuditPage, description = "a page, the latest first"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "a parameter is wrong"),
    )
)]
pub async fn audit(
    State(oam): State<Arc<Oam>>,
    Query(query): Query<AuditQuery>,
) -> Result<Json<AuditPage>, Failure> {
    let limit = page::limit(query.limit)?;
    let cursor = page::read_cursor(query.cursor.as_deref())?;
    let before = match cursor.as_str() {
        "" => None,
        text => Some(text.parse().map_err(|_| {
            Failure::field("cursor", "not a cursor", "send `next` of the page before")
        })?),
    };
    let AuditQuery { user, action, target, from, to, .. } = query;
    if let (Some(from), Some(to)) = (from, to)
        && from > to
    {
        return Err(Failure::field("from", "it is after `to`", "write a time before `to`"));
    }
    let filter = AuditFilter { user, action, target, from, to };
    let shared = oam.clone();
    let read = oam.store(move |store| shared.audit().list(store, before, limit, &filter)).await?;
    let AuditEntries { entries: items, next, is_intact: intact } = read;
    Ok(Json(AuditPage { next: next.map(|n| page::write_cursor(&n.to_string())), items, intact }))
}

/// List backups
///
/// Those that the API has made, also before this start of the core, the latest first.
#[utoipa::path(
    get, path = "/backups", tag = "administration",
    responses(
        (status = 200, body = Vec<Backup>, description = "the backups"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the caller is no administrator"),
    )
)]
pub async fn backups(State(oam): State<Arc<Oam>>) -> Result<Json<Vec<Backup>>, Failure> {
    Ok(Json(oam.core_blocking(|core| core.backups().list()).await??))
}

/// Make a backup
///
/// A job. It copies the databases at one moment, the operator's key and the configuration into a
/// new folder. `POST /restores` restores it at the next start of the core.
#[utoipa::path(
    post, path = "/backups", tag = "administration", request_body = BackupRequest,
    responses(
        (status = 202, body = Job, description = "the job"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the folder is wrong"),
    )
)]
pub async fn back_up(
    State(oam): State<Arc<Oam>>,
    caller: Caller,
    Body(request): Body<BackupRequest>,
) -> Result<(StatusCode, Json<Job>), Failure> {
    let folder = folder_of(&request.folder, "write /path/of/new/folder")?;
    if folder.exists() {
        return Err(Failure::field("folder", "it exists", "write the path of a new folder"));
    }
    let shared = oam.clone();
    let (target, by) = (request.folder.clone(), caller.clone());
    let job = oam.jobs.start("backup", &caller.name, None, |_| async move {
        // Before: the files are copied although the job is cancelled, and the key is one of them.
        let begun = json!({"folder": target});
        shared.record(&by, "backup.create", &target, Value::Null, begun).await?;
        let name = by.name.clone();
        let made = shared.core_blocking(move |core| core.backups().make(&folder, &name)).await??;
        Ok(json!(made))
    })?;
    Ok((StatusCode::ACCEPTED, Json(job)))
}

/// List certificates and the days that they are still valid
#[utoipa::path(
    get, path = "/certificates", tag = "administration",
    responses(
        (status = 200, body = Vec<Object>, description = "file and days of each"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the caller is no administrator"),
    )
)]
pub async fn certificates(State(oam): State<Arc<Oam>>) -> Result<Json<Vec<Value>>, Failure> {
    Ok(Json(oam.core_blocking(|core| core.certificates()).await?))
}
