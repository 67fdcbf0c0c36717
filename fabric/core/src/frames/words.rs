//! Words that travel as one octet. Their order is part of the form: new ones go to the end.
use http::{HeaderName, Method, header};
use std::sync::LazyLock;

/// Methods; the first has number 1.
pub static METHODS: [Method; 7] = [
    Method::GET,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
    Method::OPTIONS,
    Method::HEAD,
];

/// Media types; the first has number 1.
pub const MEDIA_TYPES: [&str; 6] = [
    "application/json",
    "application/problem+json",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/3gppHal+json",
    "multipart/related",
];

/// Header names; the first has number 1.
pub static HEADERS: LazyLock<[HeaderName; 22]> = LazyLock::new(|| {
    [
        header::USER_AGENT,
        HeaderName::from_static("3gpp-sbi-max-rsp-time"),
        HeaderName::from_static("3gpp-sbi-correlation-info"),
        header::LOCATION,
        header::RETRY_AFTER,
        HeaderName::from_static("3gpp-sbi-sender-timestamp"),
        HeaderName::from_static("3gpp-sbi-message-priority"),
        HeaderName::from_static("3gpp-sbi-binding"),
        HeaderName::from_static("3gpp-sbi-target-apiroot"),
        header::ACCEPT,
        header::ETAG,
        header::IF_MATCH,
        header::IF_NONE_MATCH,
        header::AUTHORIZATION,
        header::CACHE_CONTROL,
        header::ALLOW,
        header::ACCEPT_ENCODING,
        HeaderName::from_static("3gpp-sbi-callback"),
        HeaderName::from_static("3gpp-sbi-routing-binding"),
        header::SERVER,
        HeaderName::from_static("traceparent"),
        HeaderName::from_static("tracestate"),
    ]
});

/// The number of a word in a list, 0 where it is not there.
pub fn number<T: PartialEq>(list: &[T], word: &T) -> u8 {
    list.iter().position(|known| known == word).map_or(0, |at| at as u8 + 1)
}
