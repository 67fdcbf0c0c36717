//! Values that are encoded as one byte. The order is part of the encoding: append new ones.
use http::{HeaderName, Method, header};
use std::sync::LazyLock;

/// Methods; the first has code 1.
pub static METHODS: [Method; 7] = [
    Method::GET,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
    Method::OPTIONS,
    Method::HEAD,
];

/// Media types; the first has code 1.
pub const MEDIA_TYPES: [&str; 6] = [
    "application/json",
    "application/problem+json",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/3gppHal+json",
    "multipart/related",
];

/// Header names; the first has code 1.
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

/// The one-byte code of a value, or 0 if the list does not contain it.
pub fn code<T: PartialEq>(list: &[T], value: &T) -> u8 {
    list.iter().position(|known| known == value).map_or(0, |index| index as u8 + 1)
}
