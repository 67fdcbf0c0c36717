//! The governor's task: reads the board and makes the datapath shape flows.
use super::metrics::{ACTIONS, ALLOWED, BATCHING, CLASS_NAMES, LIMIT, MODEL, PREDICTED, SET_POINT};
use super::shared::Shared;
use super::{Board, simulated};
use martlet_board::{Decision, Governor, GovernorConfig, Sample};
use martlet_upf_config::UpfConfig;
use martlet_upf_datapath::Shaping;
use martlet_upf_datapath::counters::DropReason;
use martlet_upf_n4::N4;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Control periods between two log lines while the governor limits flows.
const READINGS_PER_LINE: u32 = 30;

/// Exports the board's metrics and starts the configured tasks, which end when the returned set is
/// dropped.
pub(crate) fn run(
    config: &UpfConfig,
    n4: &Arc<Mutex<N4>>,
) -> (Arc<Shared>, tokio::task::JoinSet<()>) {
    let mut tasks = tokio::task::JoinSet::new();
    let section = &config.board;
    let shared = Arc::new(Shared {
        n4: Arc::downgrade(n4),
        board: Board::new(section.root.clone()),
        batching: AtomicBool::new(false),
        decision: Mutex::new(None),
        throttled_ms: AtomicU64::new(0),
    });
    let mut speed = 1.0;
    if let Some(simulation) = section.simulated.clone() {
        speed = simulation.speed;
        tracing::warn!(root = %section.root.display(), "board is simulated");
        tasks.spawn(simulated::run(simulation, section.root.clone(), shared.clone()));
    }
    if config.governor.enabled {
        tasks.spawn(govern(config.governor.clone(), speed, shared.clone()));
    }
    (shared, tasks)
}

async fn govern(config: GovernorConfig, speed: f64, shared: Arc<Shared>) {
    let interval = Duration::from_secs_f64(config.interval_s / speed);
    let mut governor = Governor::new(config.clone());
    let (mut bytes, mut at) = (shared.bytes(), Instant::now());
    let mut dropped = None;
    let mut last = Decision::default();
    let mut readings = 0u32;
    let mut blind = false;
    SET_POINT.set(config.set_point);
    tracing::info!(
        set_point = config.set_point,
        window_s = config.window_s,
        "thermal governor started"
    );
    loop {
        tokio::time::sleep(interval).await;
        let reading = shared.board.read_now();
        let Some(temperature) = reading.hottest() else {
            if !std::mem::replace(&mut blind, true) {
                tracing::error!("thermal governor inactive: no temperature sensor");
            }
            continue;
        };
        blind = false;
        // Known from the second reading on.
        let Some(load) = reading.cpu else { continue };
        let (now, sums) = (Instant::now(), shared.bytes());
        let seconds = now.duration_since(at).as_secs_f64();
        let rates =
            std::array::from_fn(|n| sums[n].saturating_sub(bytes[n]) as f64 * 8.0 / seconds);
        (bytes, at) = (sums, now);
        let Some(n4) = shared.n4.upgrade() else { return };
        let drops = n4.lock().unwrap_or_else(PoisonError::into_inner).drops(DropReason::Thermal);
        let limited = dropped.replace(drops).is_some_and(|before| drops > before);
        let decision = governor.step(&Sample { temperature, load, rates, limited });
        n4.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .shape(&Shaping { limits: decision.limits, batching: decision.batching });
        shared.batching.store(decision.batching, Ordering::Relaxed);
        *shared.decision.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((decision, config.set_point));
        update(&governor, &decision);
        readings += 1;
        let changed = (decision.batching, decision.limits.map(|limit| limit.is_some()))
            != (last.batching, last.limits.map(|limit| limit.is_some()));
        if changed || decision.acts() && readings >= READINGS_PER_LINE {
            readings = 0;
            tracing::info!(
                temperature, load, predicted = decision.predicted, allowed = decision.allowed,
                batching = decision.batching, limits = ?decision.limits, "thermal governor decision"
            );
        }
        last = decision;
    }
}

/// Shows a decision among the metrics.
fn update(governor: &Governor, decision: &Decision) {
    let was = BATCHING.get() > 0.0;
    if was != decision.batching {
        ACTIONS.with_label_values(&[if decision.batching { "batch" } else { "unbatch" }]).inc();
    }
    BATCHING.set(f64::from(u8::from(decision.batching)));
    PREDICTED.set(decision.predicted);
    ALLOWED.set(decision.allowed);
    for (name, limit) in CLASS_NAMES.iter().zip(decision.limits) {
        let gauge = LIMIT.with_label_values(&[*name]);
        let (before, now) = (gauge.get(), limit.map_or(-1.0, |limit| limit as f64));
        match (before > 0.0, limit.is_some()) {
            (true, true) if now < before => ACTIONS.with_label_values(&["lower"]).inc(),
            (true, true) if now > before => ACTIONS.with_label_values(&["raise"]).inc(),
            (false, true) => ACTIONS.with_label_values(&["shape"]).inc(),
            (true, false) => ACTIONS.with_label_values(&["release"]).inc(),
            _ => {}
        }
        gauge.set(now);
    }
    let model = governor.model();
    for (name, value) in [
        ("time_constant_seconds", model.time_constant()),
        ("rise_kelvin", model.rise()),
        ("idle_celsius", model.idle()),
    ] {
        MODEL.with_label_values(&[name]).set(value);
    }
}
