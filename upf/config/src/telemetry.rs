//! What is reported of packets.
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What is told, and of how many.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TelemetryConfig {
    /// Sessions of which metrics and `martlet top` show each by itself; all are in the sums. 0:
    /// none.
    pub sessions: usize,
    /// The time that a packet takes is measured of one in so many, which is made a power of two; 0
    /// measures none.
    pub sample: u32,
    /// The folder into which packets of N6 are captured. Left out, they never are: they are what
    /// people say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub captures: Option<PathBuf>,
}

impl Default for TelemetryConfig {
    fn default() -> Self {
        TelemetryConfig { sessions: 1000, sample: 128, captures: None }
    }
}
