//! Cursor pagination, entity tags, and bodies with the place of an error.
use crate::problem::Failure;
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use utoipa::ToSchema;

/// Maximum number of items on a page.
pub const MAX_LIMIT: usize = 1000;
/// Maximum time until a body has arrived: a client that sends none must not hold a connection.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum length of a cursor: a SUPI and a character behind it, in base64.
const MAX_CURSOR: usize = (martlet_store::MAX_SUPI + char::MAX.len_utf8()).div_ceil(3) * 4;
/// Number of items on a page if the request has none.
pub const DEFAULT_LIMIT: usize = 100;

/// The order of the items of a list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Ascending SUPIs.
    #[default]
    Asc,
    /// Descending SUPIs: the first page has the last items.
    Desc,
}

/// The number of items on a page.
pub fn limit(requested: Option<usize>) -> Result<usize, Failure> {
    match requested {
        None => Ok(DEFAULT_LIMIT),
        Some(limit) if (1..=MAX_LIMIT).contains(&limit) => Ok(limit),
        Some(_) => Err(Failure::field("limit", "the limit is out of range", "write 1 to 1000")),
    }
}

/// Writes the position after which the next page begins.
pub fn write_cursor(position: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(position)
}

/// Reads a cursor; the beginning if there is none.
pub fn read_cursor(cursor: Option<&str>) -> Result<String, Failure> {
    let Some(cursor) = cursor else { return Ok(String::new()) };
    let wrong = || Failure::field("cursor", "not a cursor", "send `next` of the page before");
    if cursor.len() > MAX_CURSOR {
        return Err(wrong());
    }
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(cursor).map_err(|_| wrong())?;
    let text = String::from_utf8(bytes).map_err(|_| wrong())?;
    // The realm of an NAI may have characters beyond ASCII.
    match !text.chars().any(char::is_control) {
        true => Ok(text),
        false => Err(wrong()),
    }
}

/// The entity tag that the caller has read. `*` matches every version.
pub fn if_match(headers: &HeaderMap) -> Result<String, Failure> {
    let value = headers.get(header::IF_MATCH).and_then(|value| value.to_str().ok());
    value.map(str::to_string).ok_or_else(Failure::precondition_required)
}

/// Refuses a change if the caller sends `If-Match` without the current entity tag, or if there is
/// no version: `current` is `None`. The header may be left out.
pub fn check_if_match(headers: &HeaderMap, current: Option<&str>) -> Result<(), Failure> {
    if !headers.contains_key(header::IF_MATCH) {
        return Ok(());
    }
    let wanted = if_match(headers)?;
    match current.is_some_and(|current| matches(&wanted, current)) {
        true => Ok(()),
        false => Err(Failure::stale()),
    }
}

/// Refuses a change if the caller sends `If-None-Match` and that is met by the current version: `*`
/// by any, so that the caller replaces no version that it has not read (RFC 9110, 13.1.2).
/// `current` is the entity tag, or `None` if there is no version. The header may be left out.
pub fn check_if_none_match(headers: &HeaderMap, current: Option<&str>) -> Result<(), Failure> {
    let Some(value) = headers.get(header::IF_NONE_MATCH) else { return Ok(()) };
    let wanted = value.to_str().map_err(|_| {
        let remedy = "write *, or an ETag that was read";
        Failure::field("If-None-Match", "it has characters beyond ASCII", remedy)
    })?;
    match current.is_some_and(|current| matches(wanted, current)) {
        true => Err(Failure::exists()),
        false => Ok(()),
    }
}

/// A response in JSON with its entity tag.
pub fn tagged(tag: &str, body: impl Serialize) -> Response {
    let mut response = Json(body).into_response();
    if let Ok(tag) = HeaderValue::from_str(tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

/// Whether the entity tag of `If-Match` is the current one.
pub fn matches(wanted: &str, current: &str) -> bool {
    wanted.trim() == "*" || wanted.split(',').any(|tag| tag.trim() == current)
}

/// A JSON body. An error names the field.
pub struct Body<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failure> {
        let kind = request.headers().get(header::CONTENT_TYPE);
        let kind = kind.and_then(|value| value.to_str().ok()).unwrap_or_default();
        let media_type = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        if !matches!(media_type.as_str(), "application/json" | "application/merge-patch+json") {
            return Err(Failure::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "media-type",
                "The body is not JSON",
                "the body has another media type",
            )
            .remedy("send Content-Type: application/json"));
        }
        let bytes = read_bytes(request, state).await?;
        let mut from = serde_json::Deserializer::from_slice(&bytes);
        let value = serde_path_to_error::deserialize(&mut from).map_err(|error| {
            let path = error.path().to_string();
            if let Some(field) = missing_field(&path, error.inner()) {
                return Failure::field(&field, "it is missing", "add it: see /api/v1/openapi.json");
            }
            let field = if path == "." { "body" } else { &path };
            // The texts of serde_json name types and keys, not the values of the body, except for
            // short scalars; keys of subscribers have types of their own that hide them.
            Failure::field(field, in_words(error.inner()), "see /api/v1/openapi.json")
        })?;
        from.end().map_err(|_| {
            Failure::field("body", "there is more than one value", "send one JSON value")
        })?;
        Ok(Body(value))
    }
}

/// The path of a field that is missing in the object at a path.
fn missing_field(object: &str, error: &serde_json::Error) -> Option<String> {
    let text = error.to_string();
    let name = text.strip_prefix("missing field `")?.split('`').next()?;
    Some(if object == "." { name.into() } else { format!("{object}.{name}") })
}

/// What is wrong with a JSON text, without its values.
fn in_words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let is_about_values = text.starts_with("invalid value") || text.starts_with("invalid type");
    match (is_about_values, text.find("expected")) {
        (true, Some(at)) => text[at..].to_string(),
        _ => text,
    }
}

/// The bytes of a body within the limits of length and time.
pub async fn read_bytes<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, Failure> {
    read_within(BODY_TIMEOUT, request, state).await
}

async fn read_within<S: Send + Sync>(
    longest: Duration,
    request: Request,
    state: &S,
) -> Result<Bytes, Failure> {
    let read = tokio::time::timeout(longest, Bytes::from_request(request, state)).await;
    let read = read.map_err(|_| {
        Failure::new(
            StatusCode::REQUEST_TIMEOUT,
            "slow",
            "The body did not arrive in time",
            "the body takes longer than a request may",
        )
        .remedy("send it again, or in parts")
    })?;
    read.map_err(|rejection| {
        let too_large = rejection.status() == StatusCode::PAYLOAD_TOO_LARGE;
        match too_large {
            true => Failure::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "too-large",
                "The body is too large",
                "the body is larger than this request allows",
            )
            .remedy("send it in parts"),
            false => Failure::field("body", "the body ended early", "send it again"),
        }
    })
}

/// The parameters of a query. An error is a problem.
pub struct Query<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let query = axum::extract::Query::<T>::from_request_parts(parts, state).await;
        let axum::extract::Query(value) = query.map_err(|rejection: QueryRejection| {
            let text = rejection.body_text();
            let text = text.trim_start_matches("Failed to deserialize query string: ");
            Failure::field("query", text, "see /api/v1/openapi.json")
        })?;
        Ok(Query(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_opaque_and_checked() {
        let cursor = write_cursor("imsi-001010000000001");
        assert_eq!(read_cursor(Some(&cursor)).unwrap(), "imsi-001010000000001");
        assert_eq!(read_cursor(None).unwrap(), "");
        for user in ["u".repeat(martlet_store::MAX_SUPI - "nai-@bücher.example".len()), "u".into()]
        {
            for end in ["", "\u{10ffff}"] {
                let longest = format!("nai-{user}@bücher.example{end}");
                assert_eq!(read_cursor(Some(&write_cursor(&longest))).unwrap(), longest);
            }
        }
        for wrong in ["%", "a b", &"A".repeat(400), &write_cursor("\n")] {
            assert!(read_cursor(Some(wrong)).is_err(), "{wrong}");
        }
    }

    #[tokio::test]
    async fn a_body_that_does_not_arrive_ends_the_request() {
        let never = futures_util::stream::pending::<Result<Bytes, std::io::Error>>();
        let request = Request::new(axum::body::Body::from_stream(never));
        let read = read_within(Duration::from_millis(20), request, &()).await;
        assert_eq!(read.unwrap_err().problem().status, 408);
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Area {
        #[serde(rename = "tac")]
        _tac: u32,
        #[serde(default, rename = "inner")]
        _inner: Vec<Area>,
    }

    #[tokio::test]
    async fn a_missing_or_wrong_field_of_a_body_is_named_by_its_path() {
        for (text, field) in [
            ("{}", "tac"),
            (r#"{"tac": 1, "inner": [{"tac": 2}, {}]}"#, "inner[1].tac"),
            (r#"{"tac": 1, "inner": [{"tac": "x"}]}"#, "inner[0].tac"),
            (r#"{"tac": 1, "colour": "red"}"#, "colour"),
            ("[", "body"),
        ] {
            let request = Request::post("/").header("content-type", "application/json");
            let request = request.body(axum::body::Body::from(text)).unwrap();
            let read = Body::<Area>::from_request(request, &()).await;
            let failure = read.err().expect("an error");
            let problem = failure.problem();
            assert_eq!(problem.field.as_deref(), Some(field), "{text}: {problem:?}");
            assert!(problem.remedy.is_some(), "{text}");
        }
    }

    #[test]
    fn an_entity_tag_of_a_list_matches() {
        assert!(matches("\"a\", \"b\"", "\"b\"") && matches("*", "\"c\""));
        assert!(!matches("\"a\"", "\"b\""));
    }

    #[test]
    fn what_exists_is_not_created_again() {
        let check = |wanted: &'static str, current| {
            let headers =
                HeaderMap::from_iter([(header::IF_NONE_MATCH, HeaderValue::from_static(wanted))]);
            check_if_none_match(&headers, current).is_ok()
        };
        assert!(check("*", None) && !check("*", Some("\"a\"")));
        assert!(check("\"a\"", Some("\"b\"")) && !check("\"a\", \"b\"", Some("\"b\"")));
        assert!(check_if_none_match(&HeaderMap::new(), Some("\"a\"")).is_ok());
    }
}
