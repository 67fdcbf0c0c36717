//! Service request, paging, AN release (TS 23.502, 4.2.3 and 4.2.6) and NAS transport.
pub mod an_release;
pub mod malformed_nas;
pub mod paging;
pub mod service_request;
