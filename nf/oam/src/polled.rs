//! The results of the last poll of the core.
use serde_json::Value;
use std::time::Instant;

/// What is known since the last poll.
#[derive(Default)]
pub struct Polled {
    /// When it was.
    pub last: Option<Instant>,
    /// Position after the last event of UEs.
    pub position: u64,
    /// Position after the last UE whose state changed; `None` before the first answer of the AMF.
    pub ue_states: Option<u64>,
    /// Certificates and their days.
    pub certificates: Vec<Value>,
    /// When they were read.
    pub certificates_at: Option<Instant>,
}
