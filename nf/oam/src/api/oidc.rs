//! Sign in with the identity provider.
use super::session::{SessionView, begin_external};
use crate::authentication::cookie;
use crate::caller::Peer;
use crate::oidc::{Answer, LIFETIME, Provider};
use crate::page::Body;
use crate::problem::{Failure, ProblemDetails};
use crate::state::Oam;
use crate::throttle::at;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use http::{HeaderMap, HeaderValue, header};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;
use utoipa::ToSchema;

/// The identity provider.
#[derive(Serialize, ToSchema)]
pub struct ProviderView {
    /// Its name for the button; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "id.example")]
    provider: Option<String>,
}

/// A sign-in that has begun.
#[derive(Serialize, ToSchema)]
pub struct BegunView {
    /// Where the browser goes.
    #[schema(example = "https://id.example/authorize?response_type=code")]
    authorization_url: String,
}

/// What the provider's redirect has: the parameters of `/oidc`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RedirectParameters {
    /// The state.
    state: String,
    /// The authorization code.
    #[serde(default)]
    code: Option<String>,
    /// The issuer (RFC 9207).
    #[serde(default)]
    iss: Option<String>,
    /// Why the provider refused.
    #[serde(default)]
    error: Option<String>,
}

fn browser(peer: Peer) -> Result<(SocketAddr, bool), Failure> {
    match peer {
        Peer::Tcp { address, is_secure } => Ok((address, is_secure)),
        Peer::Socket { .. } => Err(Failure::conflict("the unix socket needs no session")),
    }
}

fn provider(oam: &Oam) -> Result<&Provider, Failure> {
    oam.provider.as_deref().ok_or_else(|| {
        Failure::not_found("no identity provider is configured").remedy("see oam.api.oidc")
    })
}

fn set_cookie(response: &mut Response, text: &str) -> Result<(), Failure> {
    let value = HeaderValue::from_str(text)
        .map_err(|_| Failure::unavailable("the cookie cannot be written"))?;
    response.headers_mut().append(header::SET_COOKIE, value);
    Ok(())
}

/// Show the identity provider
#[utoipa::path(
    get, path = "/session/oidc", tag = "session", security(()),
    responses(
        (status = 200, body = ProviderView, description = "the provider, if there is one"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "too many requests"),
    )
)]
pub async fn show(State(oam): State<Arc<Oam>>) -> Json<ProviderView> {
    Json(ProviderView { provider: oam.config.oidc.provider_name() })
}

/// Begin to sign in with the identity provider
///
/// The response sets a cookie that the second part needs.
#[utoipa::path(
    post, path = "/session/oidc", tag = "session", security(()),
    responses(
        (status = 200, body = BegunView, description = "where the browser goes"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "no provider is configured"),
        (status = "5XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the provider does not answer"),
    )
)]
pub async fn begin(
    State(oam): State<Arc<Oam>>,
    Extension(peer): Extension<Peer>,
) -> Result<Response, Failure> {
    let (address, is_secure) = browser(peer)?;
    let (authorization_url, begun) = provider(&oam)?.begin(address.ip()).await?;
    let mut response = Json(BegunView { authorization_url }).into_response();
    let secure = if is_secure { "; Secure" } else { "" };
    let (name, value, seconds) = (peer.sign_in_cookie(), begun.binding, LIFETIME.as_secs());
    let text =
        format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    set_cookie(&mut response, &text)?;
    Ok(response)
}

/// Sign in with what the identity provider sent
///
/// The response sets the cookie of the session.
#[utoipa::path(
    post, path = "/session/oidc/callback", tag = "session", security(()),
    request_body = RedirectParameters,
    responses(
        (status = 200, body = SessionView, description = "signed in"),
        (status = "4XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the state or the ID token is not valid, or the user has no role"),
        (status = "5XX", body = ProblemDetails, content_type = "application/problem+json",
            description = "the provider does not answer"),
    )
)]
pub async fn callback(
    State(oam): State<Arc<Oam>>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    Body(parameters): Body<RedirectParameters>,
) -> Result<Response, Failure> {
    let (address, is_secure) = browser(peer)?;
    let provider = provider(&oam)?;
    let (now, place) = (Instant::now(), at(address.ip()));
    let of_provider = format!("provider {place}");
    oam.throttle
        .may_sign_in(&place, now)
        .map_err(|seconds| Failure::too_many("signing in failed too often", seconds))?;
    let binding = cookie(&headers, peer.sign_in_cookie()).unwrap_or_default();
    let RedirectParameters { state, code, iss, error } = parameters;
    let answer = Answer { state, code, issuer: iss, error };
    let user = match provider.finish(answer, binding).await {
        Ok(user) => user,
        Err(error) => {
            if error.is_of_the_caller() {
                oam.throttle.failed(&place, now);
                oam.throttle.failed(&of_provider, now);
            }
            if let Some(suppressed) = martlet_log_limit::line("oam_oidc", address.ip()) {
                let issuer = provider.issuer();
                tracing::warn!(%error, address = %address.ip(), issuer, suppressed,
                    "sign-in with OpenID Connect failed");
            }
            return Err(error.into());
        }
    };
    oam.throttle.succeeded(&of_provider, &place, now);
    let mut response = begin_external(&oam, peer, user).await?;
    let secure = if is_secure { "; Secure" } else { "" };
    let name = peer.sign_in_cookie();
    set_cookie(
        &mut response,
        &format!("{name}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict{secure}"),
    )?;
    Ok(response)
}
