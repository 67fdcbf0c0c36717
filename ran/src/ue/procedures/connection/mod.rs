//! 5GMM connection management procedures (TS 24.501, 5.6).
pub(crate) mod service_request;
