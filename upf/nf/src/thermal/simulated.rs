//! The simulated board, warmed by the traffic of this UPF.
use super::shared::Shared;
use martlet_board::SimulatedBoard;
use martlet_upf_config::SimulatedConfig;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Its sensors are written this often.
const STEP: Duration = Duration::from_millis(10);

/// Simulates its temperature and writes its sensors below `root`, until it is dropped.
pub(super) async fn run(config: SimulatedConfig, root: PathBuf, shared: Arc<Shared>) {
    let mut board = SimulatedBoard::new(config.board.clone());
    let (mut at, mut bytes) = (Instant::now(), shared.bytes().iter().sum::<u64>());
    let mut throttled = false;
    loop {
        if let Err(error) = board.write(&root) {
            tracing::error!(
                root = %root.display(), %error,
                "sensors of the simulated board not written"
            );
            return;
        }
        tokio::time::sleep(STEP).await;
        let (now, sum) = (Instant::now(), shared.bytes().iter().sum::<u64>());
        let seconds = now.duration_since(at).as_secs_f64();
        let rate = sum.saturating_sub(bytes) as f64 * 8.0 / seconds;
        (at, bytes) = (now, sum);
        let cost = if shared.batching.load(Ordering::Relaxed) {
            1.0 - config.batching_saving
        } else {
            1.0
        };
        let demand = config.base_load + (1.0 - config.base_load) * cost * rate / config.full_rate;
        board.pass(seconds * config.speed, demand);
        if board.is_throttled() != throttled {
            throttled = !throttled;
            tracing::warn!(
                temperature = board.temperature(),
                throttled,
                "simulated board throttling changed"
            );
        }
        shared.set_throttled(board.throttled_s);
    }
}
