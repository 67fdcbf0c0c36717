//! Sign in and out of the console.
use crate::accounts::{self, ExternalUser, Role, Scope, Session};
use crate::caller::{Caller, Peer, Via};
use crate::page::Body;
use crate::problem::{Failure, ProblemDetails};
use crate::state::Oam;
use crate::throttle::at;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use http::{HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Instant;
use utoipa::ToSchema;
use zeroize::Zeroizing;

/// Name and password.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Credentials {
    /// Name of the user.
    #[schema(example = "admin")]
    user: String,
    /// Password.
    #[schema(value_type = String, format = Password, example = "a long passphrase")]
    password: Zeroizing<String>,
}

/// Who is signed in.
#[derive(Serialize, ToSchema)]
pub struct SessionView {
    /// Name of the user.
    #[schema(example = "admin")]
    user: String,
    /// Role of the user.
    role: Role,
    /// What the caller may do.
    scopes: Vec<Scope>,
    /// `socket`, `session` or `token`.
    via: &'static str,
    /// What requests that change something carry as `X-CSRF-Token`; for sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    csrf_token: Option<String>,
    /// Whether the password must be changed first.
    must_change_password: bool,
}

/// A new password.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPassword {
    /// The present one.
    #[schema(value_type = String, format = Password)]
    old: Zeroizing<String>,
    /// The new one: 12 to 256 characters.
    #[schema(value_type = String, format = Password, min_length = 12)]
    new: Zeroizing<String>,
}

/// Sign in
///
/// The response sets the cookie of the session.
#[utoipa::path(
    post, path = "/session", tag = "session", request_body = Credentials, security(()),
    responses(
        (status = 200, body = SessionView, description = "signed in"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "wrong name or password, or locked out"),
    )
)]
pub async fn sign_in(
    State(oam): State<Arc<Oam>>,
    Extension(peer): Extension<Peer>,
    Body(credentials): Body<Credentials>,
) -> Result<Response, Failure> {
    let Peer::Tcp { address, .. } = peer else {
        return Err(Failure::conflict("the unix socket needs no session"));
    };
    if !oam.config.local_users {
        return Err(Failure::forbidden("local users do not sign in here")
            .remedy("sign in with the identity provider"));
    }
    let Credentials { user: name, password } = credentials;
    accounts::check_name(&name)?;
    let places = [at(address.ip()), format!("user {name}")];
    check_lockout(&oam, &places)?;
    let turn = oam.turn_to_hash().await;
    // The sign-ins that had their turn meanwhile may have failed.
    check_lockout(&oam, &places)?;
    let wanted = name.clone();
    let user = oam
        .store(move |store| {
            let Some(user) = accounts::user(store, &wanted)? else {
                // An unknown user takes as long as a wrong password.
                accounts::hash_password(&password)?;
                return Ok(None);
            };
            Ok(accounts::verify_password(&password, &user.hash).then_some(user))
        })
        .await?;
    let now = Instant::now();
    let Some(user) = user else {
        places.iter().for_each(|place| oam.throttle.failed(place, now));
        if let Some(suppressed) = martlet_log_limit::line("oam_sign_in", address.ip()) {
            tracing::warn!(user = name, address = %address.ip(), suppressed, "sign-in failed");
        }
        return Err(Failure::unauthenticated("the name or the password is wrong"));
    };
    let [address, name] = &places;
    oam.throttle.succeeded(name, address, now);
    drop(turn);
    begin(&oam, peer, Session::of_local(&user.name)?, user.role, user.must_change).await
}

fn check_lockout(oam: &Oam, places: &[String]) -> Result<(), Failure> {
    let now = Instant::now();
    places.iter().try_for_each(|place| {
        oam.throttle
            .may_sign_in(place, now)
            .map_err(|seconds| Failure::too_many("signing in failed too often", seconds))
    })
}

/// Starts a session of a user of the identity provider: the response has its cookie.
pub async fn begin_external(
    oam: &Arc<Oam>,
    peer: Peer,
    user: ExternalUser,
) -> Result<Response, Failure> {
    let role = user.role;
    begin(oam, peer, Session::of_external(user)?, role, false).await
}

async fn begin(
    oam: &Arc<Oam>,
    peer: Peer,
    session: Session,
    role: Role,
    must_change: bool,
) -> Result<Response, Failure> {
    let Session { user, external, csrf, .. } = session.clone();
    let id = oam.sessions.start(session)?;
    let external_name = external.as_ref().map(|user| user.name.clone());
    let caller = Caller {
        name: user.clone(),
        role,
        scopes: role.scopes().to_vec(),
        via: Via::Session { id: id.clone(), csrf, must_change, external_name },
    };
    // Who a user of the identity provider is: the issuer, the subject, the name and the role.
    oam.record(&caller, "session.start", user, Value::Null, json!(external)).await?;
    let is_secure = matches!(peer, Peer::Tcp { is_secure: true, .. });
    let secure = if is_secure { "; Secure" } else { "" };
    let cookie = format!("{}={id}; Path=/; HttpOnly; SameSite=Strict{secure}", peer.cookie());
    let cookie = HeaderValue::from_str(&cookie)
        .map_err(|_| Failure::unavailable("the cookie cannot be written"))?;
    let mut response = Json(view(&caller)).into_response();
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    Ok(response)
}

fn view(caller: &Caller) -> SessionView {
    let (csrf_token, must_change_password, name) = match &caller.via {
        Via::Session { csrf, must_change, external_name, .. } => {
            (Some(csrf.clone()), *must_change, external_name.clone())
        }
        _ => (None, false, None),
    };
    SessionView {
        user: name.unwrap_or_else(|| caller.name.clone()),
        role: caller.role,
        scopes: caller.scopes.clone(),
        via: caller.via.word(),
        csrf_token,
        must_change_password,
    }
}

/// Show who is signed in
#[utoipa::path(
    get, path = "/session", tag = "session",
    responses(
        (status = 200, body = SessionView, description = "the caller"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "no caller is known"),
    )
)]
pub async fn show(caller: Caller) -> Json<SessionView> {
    Json(view(&caller))
}

/// Sign out
#[utoipa::path(
    delete, path = "/session", tag = "session",
    responses(
        (status = 204, description = "signed out"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "no caller is known"),
    )
)]
pub async fn sign_out(
    State(oam): State<Arc<Oam>>,
    Extension(peer): Extension<Peer>,
    caller: Caller,
) -> Result<Response, Failure> {
    if let Via::Session { id, .. } = &caller.via {
        oam.sessions.end(id);
        oam.record(&caller, "session.end", &caller.name, Value::Null, Value::Null).await?;
    }
    let cookie = format!("{}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict", peer.cookie());
    let mut response = StatusCode::NO_CONTENT.into_response();
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

/// Change the own password
///
/// All other sessions of the user end.
#[utoipa::path(
    put, path = "/session/password", tag = "session", request_body = NewPassword,
    responses(
        (status = 204, description = "changed"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the present password is wrong, or the new one is too weak"),
    )
)]
pub async fn change_password(
    State(oam): State<Arc<Oam>>,
    caller: Caller,
    Body(passwords): Body<NewPassword>,
) -> Result<StatusCode, Failure> {
    let Via::Session { id, external_name: None, .. } = &caller.via else {
        return Err(Failure::conflict("only a session of a local user can change its password"));
    };
    // Not that of sign-ins: the next one would clear as many failures at its address.
    let place = format!("password of {}", caller.name);
    // The role that the user has meanwhile stays, and guesses have their turns.
    let _alone = oam.compared.lock().await;
    let now = Instant::now();
    oam.throttle
        .may_sign_in(&place, now)
        .map_err(|seconds| Failure::too_many("the password was wrong too often", seconds))?;
    let name = caller.name.clone();
    let is_changed = oam
        .store_with_hash(move |store| {
            let user = accounts::user(store, &name)?;
            let mut user = user.ok_or_else(|| Failure::not_found("the user was removed"))?;
            if !accounts::verify_password(&passwords.old, &user.hash) {
                return Ok(false);
            }
            accounts::check_password(&name, &passwords.new)?;
            if *passwords.old == *passwords.new {
                return Err(Failure::field("new", "it is the present one", "write another one"));
            }
            user.hash = accounts::hash_password(&passwords.new)?;
            user.must_change = false;
            accounts::put_user(store, &user)?;
            Ok(true)
        })
        .await?;
    if !is_changed {
        oam.throttle.failed(&place, now);
        return Err(Failure::field("old", "the password is wrong", "write the present password"));
    }
    oam.sessions.end_of_user(&caller.name, Some(id));
    oam.record(&caller, "user.password", &caller.name, Value::Null, Value::Null).await?;
    Ok(StatusCode::NO_CONTENT)
}
