//! The limits of a server, and its authorisation check.
use crate::{PeerCertificate, Tls};
use martlet_sbi::{Problem, UserGuard};
use std::sync::Arc;
use std::time::Duration;

/// Limits of a server.
#[derive(Debug, Clone)]
pub struct ServerLimits {
    /// Maximum number of connections. At the limit an idle one ends for a new one.
    pub connections: usize,
    /// Maximum number of connections of one address.
    pub connections_per_peer: usize,
    /// Time until the first request of a connection.
    pub first_request: Duration,
    /// Maximum number of concurrent requests on one connection.
    pub streams: u32,
    /// Maximum number of concurrent requests. Further ones get 503 with `Retry-After` (TS 29.500,
    /// 6.4.2.2).
    pub requests: usize,
    /// Maximum length of a body in bytes.
    pub body: usize,
    /// Maximum time for receiving a body.
    pub body_time: Duration,
    /// Maximum number of bodies that are being received. At the limit the oldest is given up.
    pub bodies: usize,
    /// Bytes of responses that one connection may leave unread. At the limit its requests wait.
    pub unsent: usize,
    /// Bytes of responses that all connections may leave unread. At the limit the connection with
    /// the most ends.
    pub unsent_total: usize,
    /// Time after which a connection ends whose peer reads none of its responses.
    pub stall: Duration,
    /// Maximum processing time of a request.
    pub max_duration: Duration,
    /// TLS; `None` serves plain HTTP.
    pub tls: Option<Tls>,
    /// The authorisation check.
    pub guard: Option<Guard>,
    /// The check of the user, where the transport has it.
    pub user_guard: Option<UserGuard>,
}

/// Checks the method, the headers and the path of a request, and the certificate of its sender.
pub type Check = dyn Send
    + Sync
    + Fn(&http::Method, &http::HeaderMap, &str, Option<&PeerCertificate>) -> Result<(), Refusal>;

/// Authorises requests before their bodies are read.
#[derive(Clone)]
pub struct Guard(pub Arc<Check>);

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Guard { .. }")
    }
}

/// Why a request is not authorised.
#[derive(Debug)]
pub struct Refusal {
    /// 401 or 403.
    pub problem: Problem,
    /// The value of `WWW-Authenticate` (RFC 6750, 3); empty if no token would help.
    pub challenge: String,
}

impl Default for ServerLimits {
    fn default() -> Self {
        ServerLimits {
            connections: 256,
            connections_per_peer: 192,
            first_request: Duration::from_secs(10),
            streams: 1024,
            requests: 4096,
            body: 1 << 20,
            body_time: Duration::from_secs(10),
            bodies: 256,
            unsent: 8 << 20,
            unsent_total: 64 << 20,
            stall: Duration::from_secs(10),
            max_duration: Duration::from_secs(60),
            tls: None,
            guard: None,
            user_guard: None,
        }
    }
}
