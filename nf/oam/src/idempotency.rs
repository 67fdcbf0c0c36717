//! Idempotency keys: a POST with `Idempotency-Key` that is sent again gets the response of the
//! first one, and nothing is done twice.
use crate::caller::Caller;
use crate::problem::Failure;
use crate::resource_path::resource;
use crate::state::Oam;
use aws_lc_rs::digest::{SHA256, digest};
use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::Method;
use http_body_util::BodyExt;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The header.
pub const HEADER: &str = "Idempotency-Key";
/// Length of a key in bytes.
pub const KEY_LENGTH: RangeInclusive<usize> = 8..=128;
/// Maximum length of a response that is kept in bytes.
const MAX_RESPONSE: usize = 64 << 10;
/// Responses of these resources have secrets, which are not kept.
const SECRET: [&str; 3] = ["/sim-batches", "/tokens", "/session"];

/// Serves a request with an idempotency key once.
pub async fn once(State(oam): State<Arc<Oam>>, request: Request, next: Next) -> Response {
    let key = request.headers().get("idempotency-key").cloned();
    let Some(key) = key.filter(|_| *request.method() == Method::POST) else {
        return next.run(request).await;
    };
    match serve(&oam, key.as_bytes(), request, next).await {
        Ok(response) => response,
        Err(failure) => failure.into_response(),
    }
}

async fn serve(oam: &Oam, key: &[u8], request: Request, next: Next) -> Result<Response, Failure> {
    if !KEY_LENGTH.contains(&key.len()) {
        return Err(Failure::field(
            HEADER,
            "the key is too short or too long",
            "write 8 to 128 characters, such as a UUID",
        ));
    }
    let caller = request.extensions().get::<Caller>();
    let name = caller.map(|caller| caller.name.clone()).unwrap_or_default();
    let key = String::from_utf8_lossy(key);
    let is_secret = SECRET.iter().any(|secret| resource(request.uri().path()).starts_with(secret));
    let uri = request.uri().to_string();
    let (parts, body) = request.into_parts();
    let mut whole_body = Request::new(body);
    // The limit of the body is there.
    *whole_body.extensions_mut() = parts.extensions.clone();
    let bytes = crate::page::read_bytes(whole_body, &()).await?;
    let mut whole = uri.into_bytes();
    whole.push(0);
    whole.extend_from_slice(&bytes);
    if let Some(response) = oam.replays.begin(&name, &key, digest(&SHA256, &whole).as_ref())? {
        return Ok(response);
    }
    let response = next.run(Request::from_parts(parts, Body::from(bytes))).await;
    let status = response.status();
    if !status.is_success() {
        oam.replays.end(&name, &key, None);
        return Ok(response);
    }
    // A response without a length is a stream that lasts, such as a live trace.
    if is_secret || response.body().size_hint().exact().is_none() {
        return Ok(response);
    }
    let (parts, body) = response.into_parts();
    let collected = body.collect().await;
    let bytes = collected.map_err(|_| Failure::unavailable("the response ended early"))?.to_bytes();
    if bytes.len() <= MAX_RESPONSE {
        oam.replays.end(&name, &key, Some((parts.status, parts.headers.clone(), bytes.clone())));
    }
    Ok(Response::from_parts(parts, Body::from(bytes)))
}
