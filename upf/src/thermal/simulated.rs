//! The simulated board, warmed by the traffic of this UPF.
use super::task::Shared;
use martlet_board::{BoardConfig, SimulatedBoard};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A board that is not there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SimulatedConfig {
    /// How it warms.
    pub board: BoardConfig,
    /// Bits per second with which it is at full load.
    pub full_rate: f64,
    /// Load without packets, 0 to 1.
    pub base_load: f64,
    /// Share of the load of packets that is spared when they are taken in batches, 0 to 1.
    pub batching_spares: f64,
    /// So many of its seconds pass in one.
    pub speed: f64,
}

impl Default for SimulatedConfig {
    fn default() -> Self {
        SimulatedConfig {
            board: BoardConfig::default(),
            full_rate: 60e6,
            base_load: 0.05,
            batching_spares: 0.1,
            speed: 1.0,
        }
    }
}

/// Its sensors are written this often.
const STEP: Duration = Duration::from_millis(10);

/// Has it warm and cool, and writes its sensors below `root`, for as long as it is not dropped.
pub(super) async fn run(config: SimulatedConfig, root: PathBuf, shared: Arc<Shared>) {
    let mut board = SimulatedBoard::new(config.board.clone());
    let (mut at, mut octets) = (Instant::now(), shared.octets().iter().sum::<u64>());
    let mut throttled = false;
    loop {
        if let Err(error) = board.write(&root) {
            tracing::error!(root = %root.display(), %error, "the sensors of the simulated board cannot be written");
            return;
        }
        tokio::time::sleep(STEP).await;
        let (now, sum) = (Instant::now(), shared.octets().iter().sum::<u64>());
        let seconds = now.duration_since(at).as_secs_f64();
        let rate = sum.saturating_sub(octets) as f64 * 8.0 / seconds;
        (at, octets) = (now, sum);
        let cost = if shared.batching.load(Ordering::Relaxed) {
            1.0 - config.batching_spares
        } else {
            1.0
        };
        let demand = config.base_load + (1.0 - config.base_load) * cost * rate / config.full_rate;
        board.pass(seconds * config.speed, demand);
        if board.is_throttled() != throttled {
            throttled = !throttled;
            tracing::warn!(temperature = board.temperature(), throttled, "the simulated board");
        }
        shared.set_throttled(board.throttled_s);
    }
}
