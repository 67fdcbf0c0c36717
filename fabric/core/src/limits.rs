//! Limits of a process.
use serde::{Deserialize, Serialize};

/// Limits of a process towards each of its peers.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", default, deny_unknown_fields)]
pub struct ProcessLimits {
    /// Maximum number of requests of one peer that are served concurrently.
    pub serving: usize,
    /// Maximum number of outstanding requests to one peer. Further requests wait.
    pub calls: usize,
    /// Bytes queued for one peer above which new requests and responses wait.
    pub backlog: usize,
    /// Maximum number of cached routes, negative ones included.
    pub routes: usize,
    /// Lifetime in milliseconds of a cached negative response (no process serves the authority).
    pub negative_route_ms: u64,
    /// Limits of connections.
    pub sockets: SocketLimits,
}

impl Default for ProcessLimits {
    fn default() -> Self {
        ProcessLimits {
            serving: 1024,
            calls: 1024,
            backlog: 4 << 20,
            routes: 1024,
            negative_route_ms: 250,
            sockets: SocketLimits::default(),
        }
    }
}

/// Limits of the connections with one peer.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SocketLimits {
    /// Maximum number of connections with one peer.
    pub connections: usize,
    /// Receive window of a connection in bytes.
    pub window: u32,
    /// Maximum number of connections of one listener that wait to be accepted.
    pub backlog: usize,
}

impl Default for SocketLimits {
    fn default() -> Self {
        SocketLimits { connections: 1024, window: 64 << 10, backlog: 128 }
    }
}
