//! Who calls, and what the caller may do.
//!
//! Over the unix socket the kernel names the user, who is an administrator. Over TCP a request has
//! an API token, or the cookie of a session and, if it changes something, the session's CSRF token.
//! What a request needs is in one table ([`needed`]); a path that is not there needs
//! [`Scope::Administration`].
use crate::accounts::{self, Role, Scope};
use crate::caller::{Caller, Peer, Via};
use crate::completion::to_its_end;
use crate::problem::Failure;
use crate::resource_path::resource;
use crate::state::Oam;
use crate::throttle::at;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, Method, header};
use martlet_tasks::connections::Admission;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Name of the header with the CSRF token.
pub const CSRF_HEADER: &str = "x-csrf-token";
/// Maximum length of a body before the caller is known.
pub const MAX_SIGN_IN: usize = 4096;

/// What a request needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needed {
    /// No caller.
    Nothing,
    /// Any caller.
    Caller,
    /// A scope.
    Scope(Scope),
}

/// What a request at a path below `/api/v1` needs.
pub fn needed(method: &Method, path: &str) -> Needed {
    let is_read = is_read(method);
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    let by_kind = |change| Needed::Scope(if is_read { Scope::Read } else { change });
    match first {
        "openapi.json" => Needed::Nothing,
        "session" if *method == Method::POST && path == "/session" => Needed::Nothing,
        // How to sign in with the identity provider.
        "session" if path.starts_with("/session/oidc") => Needed::Nothing,
        "session" => Needed::Caller,
        "subscribers" | "sim-batches" | "subscriber-imports" | "subscriber-changes"
        | "subscriber-groups" => by_kind(Scope::Subscribers),
        "ues"
        | "gnbs"
        | "interfaces"
        | "sessions"
        | "user-plane"
        | "traces"
        | "captures"
        | "charging"
        | "alarms"
        | "transmission-points" => by_kind(Scope::Network),
        // Results of jobs have packets, and tracks are personal data.
        "jobs" | "location-requests" => Needed::Scope(Scope::Network),
        "overview" | "status" | "events" | "functions" | "network-functions" | "slices"
        | "data-networks" | "policies" | "uplink-classifiers" | "plan" | "lab-reports"
        | "lab-runs" | "version" => by_kind(Scope::Administration),
        _ => Needed::Scope(Scope::Administration),
    }
}

/// Whether a `Host` names this machine: an address, `localhost`, or a configured name.
pub fn is_own_host(host: &str, hosts: &[String]) -> bool {
    if host.parse::<SocketAddr>().is_ok() {
        return true;
    }
    let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
    let name = name.map_or(host, |(name, _)| name);
    let is_address = |text: &str| text.parse::<IpAddr>().is_ok();
    is_address(host.trim_matches(['[', ']']))
        || is_address(name)
        || name.eq_ignore_ascii_case("localhost")
        || hosts.iter().any(|own| own.eq_ignore_ascii_case(name))
}

/// Refuses what a page of another site may have caused.
pub fn check_site(headers: &HeaderMap, peer: Peer, hosts: &[String]) -> Result<(), Failure> {
    let Peer::Tcp { is_secure, .. } = peer else { return Ok(()) };
    let misdirected = || {
        Failure::new(
            http::StatusCode::MISDIRECTED_REQUEST,
            "host",
            "This host name is not configured",
            "the Host of the request is not this machine's",
        )
        .remedy("add the name to oam.hosts")
    };
    let mut named = headers.get_all(header::HOST).iter();
    let host = named.next().filter(|_| named.next().is_none());
    let host = host.and_then(|host| host.to_str().ok()).ok_or_else(misdirected)?;
    if !is_own_host(host, hosts) {
        return Err(misdirected());
    }
    let foreign = || Failure::forbidden("requests of pages of other sites are refused");
    if let Some(origin) = headers.get(header::ORIGIN) {
        let own = format!("{}://{host}", if is_secure { "https" } else { "http" });
        if origin.to_str().ok() != Some(own.as_str()) {
            return Err(foreign());
        }
    }
    match headers.get("sec-fetch-site").map(|site| site.as_bytes()) {
        None | Some(b"same-origin" | b"none") => Ok(()),
        Some(_) => Err(foreign()),
    }
}

/// The value of a cookie.
pub fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    all.flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(of, _)| *of == name)
        .map(|(_, value)| value)
}

/// The caller of a request, if it names one.
async fn caller(
    oam: &Arc<Oam>,
    headers: &HeaderMap,
    peer: Peer,
) -> Result<Option<Caller>, Failure> {
    if let Peer::Socket { uid } = peer {
        return Ok(Some(Caller {
            name: format!("uid:{uid}"),
            role: Role::Administrator,
            scopes: Role::Administrator.scopes().to_vec(),
            via: Via::Socket,
        }));
    }
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let text = value.to_str().unwrap_or_default();
        let token = text.split_at_checked(7).filter(|(s, _)| s.eq_ignore_ascii_case("Bearer "));
        let token = token.map(|(_, token)| token.trim().to_string()).unwrap_or_default();
        let found = oam
            .store(move |store| {
                let Some(token) = accounts::verify_token(store, &token)? else { return Ok(None) };
                Ok(accounts::user(store, &token.user)?.map(|user| (token, user)))
            })
            .await?;
        let (token, user) =
            found.ok_or_else(|| Failure::unauthenticated("the token is not valid"))?;
        // A user whose role was reduced has tokens that do no more.
        let has = |scope: &Scope| user.role.scopes().contains(scope);
        let scopes = token.scopes.into_iter().filter(has).collect();
        let via = Via::Token { id: token.id };
        return Ok(Some(Caller { name: user.name, role: user.role, scopes, via }));
    }
    let Some(id) = cookie(headers, peer.cookie()).map(str::to_string) else { return Ok(None) };
    let idle = Duration::from_secs(oam.config.session_idle_min * 60);
    let longest = Duration::from_secs(oam.config.session_max_h * 3600);
    let Some(session) = oam.sessions.find(&id, idle, longest) else { return Ok(None) };
    if let Some(user) = session.external {
        return Ok(Some(Caller {
            name: session.user,
            role: user.role,
            scopes: user.role.scopes().to_vec(),
            via: Via::Session {
                id,
                csrf: session.csrf,
                must_change: false,
                external_name: Some(user.name),
            },
        }));
    }
    let name = session.user;
    let Some(user) = oam.store(move |store| accounts::user(store, &name)).await? else {
        oam.sessions.end(&id);
        return Ok(None);
    };
    Ok(Some(Caller {
        name: user.name,
        role: user.role,
        scopes: user.role.scopes().to_vec(),
        via: Via::Session {
            id,
            csrf: session.csrf,
            must_change: user.must_change,
            external_name: None,
        },
    }))
}

/// Admits a request of the API, or answers with a problem.
pub async fn admit(State(oam): State<Arc<Oam>>, mut request: Request, next: Next) -> Response {
    match check(&oam, &mut request).await {
        Ok(()) if is_read(request.method()) => next.run(request).await,
        Ok(()) => to_its_end(&oam, next.run(request)).await,
        Err(failure) => {
            let status = failure.problem().status.to_string();
            crate::metrics::REFUSED.with_label_values(&[status.as_str()]).inc();
            failure.into_response()
        }
    }
}

fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

async fn check(oam: &Arc<Oam>, request: &mut Request) -> Result<(), Failure> {
    let peer = request.extensions().get::<Peer>().copied();
    let peer = peer.ok_or_else(|| Failure::unauthenticated("the request names no caller"))?;
    check_site(request.headers(), peer, &oam.hosts)?;
    if let Peer::Tcp { address, .. } = peer {
        oam.throttle.admit(&at(address.ip()), Instant::now()).map_err(|seconds| {
            Failure::too_many("this address sends too many requests", seconds)
        })?;
    }
    let path = resource(request.uri().path()).to_string();
    let needed = needed(request.method(), &path);
    let caller = caller(oam, request.headers(), peer).await;
    if needed == Needed::Nothing {
        // Here, since an idempotency key has the body read before its operation is found.
        DefaultBodyLimit::max(MAX_SIGN_IN).apply(request);
        return Ok(());
    }
    let caller = caller?.ok_or_else(|| Failure::unauthenticated("no user is signed in"))?;
    let is_read = is_read(request.method());
    if let Via::Session { csrf, must_change, .. } = &caller.via {
        let sent = request.headers().get(CSRF_HEADER).map(|value| value.as_bytes());
        let is_equal = |sent: &[u8]| {
            aws_lc_rs::constant_time::verify_slices_are_equal(sent, csrf.as_bytes()).is_ok()
        };
        if !is_read && !sent.is_some_and(is_equal) {
            return Err(Failure::forbidden("the CSRF token is missing or wrong")
                .remedy("send csrf_token of GET /api/v1/session as X-CSRF-Token"));
        }
        if *must_change && !path.starts_with("/session") {
            return Err(Failure::forbidden("the password must be changed first")
                .remedy("PUT /api/v1/session/password"));
        }
    }
    if let Needed::Scope(scope) = needed
        && !caller.scopes.contains(&scope)
    {
        let scope = serde_json::to_value(scope).unwrap_or_default();
        let scope = scope.as_str().unwrap_or_default().to_string();
        return Err(Failure::forbidden(format!("this needs the scope {scope}"))
            .remedy("ask an administrator for a role or token that has it"));
    }
    if let Some(admission) = request.extensions().get::<Admission>() {
        admission.admit();
    }
    request.extensions_mut().insert(caller);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: fn() -> Peer =
        || Peer::Tcp { address: ([127, 0, 0, 1], 5).into(), is_secure: false };

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair =
            |(name, value): &(&'static str, &str)| (name.parse().unwrap(), value.parse().unwrap());
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn pages_of_other_sites_and_foreign_host_names_are_refused() {
        let check = |pairs: &[(&'static str, &str)]| {
            check_site(&headers(pairs), PEER(), &["core.example".into()])
                .map_err(|failure| failure.problem().status)
        };
        assert_eq!(check(&[("host", "127.0.0.1:9080")]), Ok(()));
        assert_eq!(check(&[("host", "core.example:9080")]), Ok(()));
        assert_eq!(check(&[("host", "evil.example")]), Err(421));
        assert_eq!(check(&[]), Err(421));
        let own = ("host", "127.0.0.1:9080");
        assert_eq!(check(&[own, ("origin", "http://127.0.0.1:9080")]), Ok(()));
        for origin in ["null", "https://127.0.0.1:9080", "http://127.0.0.1:1", "http://evil"] {
            assert_eq!(check(&[own, ("origin", origin)]), Err(403), "{origin}");
        }
        assert_eq!(check(&[own, ("sec-fetch-site", "cross-site")]), Err(403));
        assert_eq!(check(&[own, ("sec-fetch-site", "same-origin")]), Ok(()));
    }

    #[test]
    fn a_request_needs_its_scope_and_an_unknown_path_administration() {
        let of = |method: Method, path: &str| needed(&method, path);
        assert_eq!(of(Method::POST, "/session"), Needed::Nothing);
        assert_eq!(of(Method::DELETE, "/session"), Needed::Caller);
        assert_eq!(of(Method::PUT, "/session/password"), Needed::Caller);
        assert_eq!(of(Method::POST, "/session/oidc/callback"), Needed::Nothing);
        assert_eq!(of(Method::GET, "/subscribers"), Needed::Scope(Scope::Read));
        assert_eq!(of(Method::PUT, "/subscribers/x"), Needed::Scope(Scope::Subscribers));
        assert_eq!(of(Method::POST, "/ues/x/paging"), Needed::Scope(Scope::Network));
        for path in ["/users", "/tokens", "/audit", "/configuration", "/backups", "/new"] {
            assert_eq!(of(Method::GET, path), Needed::Scope(Scope::Administration), "{path}");
        }
    }
}
