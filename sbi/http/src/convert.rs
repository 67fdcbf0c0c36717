//! Between hyper's messages and ours.
use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use martlet_sbi::{Body, Encoded, Problem};

/// Reads a body up to a limit, in octets.
pub async fn collect(headers: &http::HeaderMap, incoming: Incoming, limit: usize) -> Result<Body, Problem> {
    let collected =
        Limited::new(incoming, limit).collect().await.map_err(|e| match e.downcast_ref::<LengthLimitError>() {
            Some(_) => Problem::new(413, "").detail(format!("a body of more than {limit} octets")),
            None => Problem::invalid_message(format!("the body broke off: {e}")),
        })?;
    let bytes = collected.to_bytes();
    if bytes.is_empty() {
        return Ok(Body::empty());
    }
    let content_type = headers.get(http::header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or("");
    Ok(Body::encoded(content_type.to_string(), bytes))
}

/// Puts a body into hyper's form, with its media type and length among the headers.
pub fn full(headers: &mut http::HeaderMap, encoded: Option<Encoded>) -> Full<Bytes> {
    let Some(encoded) = encoded else { return Full::new(Bytes::new()) };
    if let Ok(value) = http::HeaderValue::from_str(&encoded.content_type) {
        headers.insert(http::header::CONTENT_TYPE, value);
    }
    Full::new(encoded.bytes)
}
