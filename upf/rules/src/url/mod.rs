//! URLs of packet flow descriptions (TS 29.244, 8.2.39): patterns, and the URLs in requests of
//! HTTP/1.1 that a UE sends without encryption.
//!
//! A request shows its host and path in the clear. From its segment on, the connection belongs to
//! the applications whose patterns match, until the next request. Encrypted requests (HTTP over
//! TLS, and HTTP/3) show no URL, so patterns for them are refused.
mod pattern;
mod request;

pub use pattern::{UrlError, UrlPattern};
pub use request::{Segment, Url, segment};
