//! Between hyper's messages and ours.
use bytes::Bytes;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Frame, Incoming, SizeHint};
use martlet_sbi::{Body, Encoded, Problem};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A body that is too large is read to its end, and forgotten, if that is not farther than so many
/// limits away: senders that are interrupted do not always look for an answer.
const PATIENCE: usize = 8;

/// Reads a body up to a limit, in octets.
pub async fn collect(
    headers: &http::HeaderMap,
    incoming: &mut Incoming,
    limit: usize,
) -> Result<Body, Problem> {
    let collected = match Limited::new(&mut *incoming, limit).collect().await {
        Ok(collected) => collected,
        Err(error) if error.is::<LengthLimitError>() => {
            let mut left = limit.saturating_mul(PATIENCE);
            while let Some(Ok(frame)) = incoming.frame().await {
                match left.checked_sub(frame.data_ref().map_or(0, Bytes::len)) {
                    Some(rest) => left = rest,
                    None => break,
                }
            }
            return Err(Problem::new(413, "").detail(format!("a body of more than {limit} octets")));
        }
        Err(error) => return Err(Problem::invalid_message(format!("the body broke off: {error}"))),
    };
    let bytes = collected.to_bytes();
    if bytes.is_empty() {
        return Ok(Body::empty());
    }
    let content_type =
        headers.get(http::header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or("");
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

/// The body of an answer. It holds what is left of the request's body until it is sent: a request
/// that is let go before is cancelled with its answer (RFC 9113, 8.1).
pub struct Answered {
    body: Full<Bytes>,
    _request: Incoming,
}

impl Answered {
    /// The answer to a request.
    pub fn new(body: Full<Bytes>, request: Incoming) -> Self {
        Answered { body, _request: request }
    }
}

impl hyper::body::Body for Answered {
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
