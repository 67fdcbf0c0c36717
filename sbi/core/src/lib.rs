//! The service-based interface (TS 29.500): service operations, routing of requests, and typed
//! clients that are independent of the transport.
//!
//! Each operation is declared once with [`service!`]. Routing, client and bindings (local calls,
//! shared memory, HTTP/2) derive from the declaration.
//!
//! ```
//! use martlet_sbi::{Compact, Problem, Router, json_payload, service};
//! use std::sync::Arc;
//!
//! #[derive(Debug, serde::Serialize, serde::Deserialize, Compact)]
//! pub struct Greeting {
//!     text: String,
//! }
//! json_payload!(Greeting);
//!
//! service! {
//!     /// A service with one operation.
//!     pub Greeter / GreeterClient / GREETER = "ngreet" / "v1" {
//!         /// Greets a person.
//!         op greet "Greet": GET "/people/{name}", path(name), returns(Greeting),
//!             errors[404 "CONTEXT_NOT_FOUND"];
//!     }
//! }
//!
//! struct Polite;
//! impl Greeter for Polite {
//!     async fn greet(&self, name: &str) -> Result<Greeting, Problem> {
//!         Ok(Greeting { text: format!("Good day, {name}") })
//!     }
//! }
//!
//! # fn main() {
//! let router = Router::new().serve(GREETER.routes(Arc::new(Polite)));
//! # let _ = router;
//! # }
//! ```
#![forbid(unsafe_code)]

// The output of `derive(Compact)` names this crate.
extern crate self as martlet_sbi;

mod binding;
mod body;
mod body_error;
mod client;
pub mod compact;
mod future;
mod local;
mod message;
mod multipart;
mod operation;
mod patch;
mod problem;
mod query;
mod reply;
mod router;
mod service;
pub mod tolerant;
pub mod trace;
mod user_guard;

pub use binding::{ApiRoot, Bindings, Transport};
pub use body::{
    Appended, Body, Encoded, Form, JsonPatch, MergePatch, PatchItem, Payload, ToWire, append_json,
    decode_compact_json, decode_json, encode_json, to_wire,
};
pub use body_error::BodyError;
pub use client::{CallPolicy, Peer};
pub use compact::Compact;
pub use future::BoxFuture;
pub use local::LocalBinding;
pub use message::{Request, Response, headers};
pub use multipart::{BinaryPart, Multipart, content_type};
pub use operation::{ErrorCause, OperationInfo};
pub use patch::PatchError;
pub use problem::{InvalidParam, Problem, ProblemDetails, TransportFailure};
#[doc(hidden)]
pub use query::invalid_query_parameter;
pub use query::{Query, QueryParams, QueryValue, path_segment, segment_text};
pub use reply::{Created, Reply, StatusReply};
pub use router::{Exchange, Handler, PathParams, Route, Router, Tap};
pub use user_guard::{UserCheck, UserGuard};

/// Used by the macros; not part of the interface.
#[doc(hidden)]
pub mod __private {
    pub use http::{Method, StatusCode};
    pub use std::future::Future;
    pub use std::sync::Arc;
}
