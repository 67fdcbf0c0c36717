//! The board that the UPF runs on.
use martlet_board::BoardConfig;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The board.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BoardSection {
    /// Below it are `proc` and `sys` with the board's sensors.
    pub root: PathBuf,
    /// A simulated board, whose sensors are files below `root`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulated: Option<SimulatedConfig>,
}

impl Default for BoardSection {
    fn default() -> Self {
        BoardSection { root: "/".into(), simulated: None }
    }
}

/// A missing board.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SimulatedConfig {
    /// How it warms.
    pub board: BoardConfig,
    /// Bits per second at full load.
    pub full_rate: f64,
    /// Load without packets, 0 to 1.
    pub base_load: f64,
    /// Share of the packet load that batching saves, 0 to 1.
    pub batching_saving: f64,
    /// Speed of the simulation: simulated seconds per second.
    pub speed: f64,
}

impl Default for SimulatedConfig {
    fn default() -> Self {
        SimulatedConfig {
            board: BoardConfig::default(),
            full_rate: 60e6,
            base_load: 0.05,
            batching_saving: 0.1,
            speed: 1.0,
        }
    }
}
