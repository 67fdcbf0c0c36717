//! Charging.
use serde::{Deserialize, Serialize};

/// Charging mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChargingMode {
    /// No charging.
    #[default]
    None,
    /// Usage is reported to the CHF.
    Offline,
    /// The CHF also grants quota before usage.
    Online,
}

/// Handling of sessions when the CHF fails (TS 32.290, 5.5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnFailure {
    /// They continue without charging.
    #[default]
    Continue,
    /// They are rejected or released.
    Refuse,
}

/// Charging.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChargingConfig {
    /// Charging mode.
    pub mode: ChargingMode,
    /// Failure handling.
    pub on_failure: OnFailure,
    /// Rating group of traffic without its own charging rule.
    pub rating_group: u32,
    /// Bytes of quota that are requested at a time; 0 leaves the amount to the CHF.
    pub requested_bytes: u64,
}

impl Default for ChargingConfig {
    fn default() -> Self {
        ChargingConfig {
            mode: ChargingMode::None,
            on_failure: OnFailure::Continue,
            rating_group: 1,
            requested_bytes: 0,
        }
    }
}
