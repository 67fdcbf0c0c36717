//! The service-based interface (TS 29.500, TS 33.501).
mod cancelled_request;
mod malformed;
mod tls;
