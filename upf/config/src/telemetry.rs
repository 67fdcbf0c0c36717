//! Telemetry of packets.
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Telemetry settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TelemetryConfig {
    /// Sessions of which metrics and `martlet top` show each by itself; all are in the sums. 0:
    /// none.
    pub sessions: usize,
    /// Latency sampling: one of `sample` packets (rounded to a power of two) is timed; 0: none.
    pub sample: u32,
    /// Directory of N6 captures. Without it captures are refused: they hold the traffic of
    /// subscribers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub captures: Option<PathBuf>,
}

impl Default for TelemetryConfig {
    fn default() -> Self {
        TelemetryConfig { sessions: 1000, sample: 128, captures: None }
    }
}
