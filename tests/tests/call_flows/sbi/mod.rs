//! The service-based interface (TS 29.500; TS 33.501, 13).
pub mod cancelled_request;
pub mod concurrent_registrations;
pub mod malformed;
pub mod other_vendors;
pub mod overload;
pub mod proxy;
pub mod requests_compared;
pub mod service_calls;
pub mod tls;
