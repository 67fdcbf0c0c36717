//! Conversion between hyper's bodies and [`Body`].
use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Frame, Incoming, SizeHint};
use martlet_sbi::{Body, Encoded, Problem};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A body that is too large is read and discarded up to this multiple of the limit, because some
/// clients read no response while they are sending.
const DISCARD_FACTOR: usize = 8;

/// Reads a body of at most `limit` bytes.
pub async fn collect(
    headers: &http::HeaderMap,
    incoming: &mut Incoming,
    limit: usize,
) -> Result<Body, Problem> {
    let collected = match Limited::new(&mut *incoming, limit).collect().await {
        Ok(collected) => collected,
        Err(error) if error.is::<LengthLimitError>() => {
            let mut left = limit.saturating_mul(DISCARD_FACTOR);
            while let Some(Ok(frame)) = incoming.frame().await {
                match left.checked_sub(frame.data_ref().map_or(0, Bytes::len)) {
                    Some(rest) => left = rest,
                    None => break,
                }
            }
            return Err(Problem::new(413, "").detail(format!("the body exceeds {limit} bytes")));
        }
        Err(error) => {
            return Err(Problem::invalid_message(format!("the body is incomplete: {error}")));
        }
    };
    let bytes = collected.to_bytes();
    if bytes.is_empty() {
        return Ok(Body::empty());
    }
    let content_type =
        headers.get(http::header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or("");
    Ok(Body::encoded(content_type.to_string(), bytes))
}

/// Converts a body for hyper and sets its `Content-Type`.
pub fn full(headers: &mut http::HeaderMap, encoded: Option<Encoded>) -> Full<Bytes> {
    let Some(encoded) = encoded else { return Full::new(Bytes::new()) };
    if let Ok(value) = http::HeaderValue::from_str(&encoded.content_type) {
        headers.insert(http::header::CONTENT_TYPE, value);
    }
    Full::new(encoded.bytes)
}

/// The body of a response. It keeps the rest of the request's body until it is sent: dropping a
/// request earlier cancels its response too (RFC 9113, 8.1).
pub struct ResponseBody {
    body: Full<Bytes>,
    _request: Incoming,
}

impl ResponseBody {
    /// The body of the response to a request.
    pub fn new(body: Full<Bytes>, request: Incoming) -> Self {
        ResponseBody { body, _request: request }
    }
}

impl hyper::body::Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
