//! Metrics of the fabric.
use prometheus::{IntCounter, IntCounterVec, IntGauge};
use prometheus::{register_int_counter, register_int_counter_vec, register_int_gauge};
use std::sync::LazyLock;

/// Channels open.
pub static CHANNELS: LazyLock<IntGauge> = LazyLock::new(|| {
    register_int_gauge!("martlet_sbi_fabric_channels", "Channels open")
        .expect("each metric has one name")
});
/// Channels closed, by reason.
pub static CLOSED: LazyLock<IntCounterVec> = LazyLock::new(|| {
    counters("martlet_sbi_fabric_channels_closed_total", "Channels closed", "reason")
});
/// Connections that stand or are being made.
pub static CONNECTIONS: LazyLock<IntGauge> = LazyLock::new(|| {
    register_int_gauge!("martlet_sbi_fabric_connections", "Connections")
        .expect("each metric has one name")
});
/// Bells rung: other processes that had to be woken.
pub static BELLS: LazyLock<IntCounter> = LazyLock::new(|| {
    register_int_counter!("martlet_sbi_fabric_bells_total", "Bells rung")
        .expect("each metric has one name")
});
/// Processes at the manager.
pub static MEMBERS: LazyLock<IntGauge> = LazyLock::new(|| {
    register_int_gauge!("martlet_sbi_fabric_members", "Processes at the manager")
        .expect("each metric has one name")
});
/// What was refused, by what it was.
pub static REFUSED: LazyLock<IntCounterVec> =
    LazyLock::new(|| counters("martlet_sbi_fabric_refused_total", "What was refused", "what"));
/// Requests sent again after a failure, by reason.
pub static RETRIES: LazyLock<IntCounterVec> =
    LazyLock::new(|| counters("martlet_sbi_fabric_retries_total", "Requests repeated", "reason"));
/// Requests that took another way, since nobody of the fabric serves their authority.
pub static ELSEWHERE: LazyLock<IntCounter> = LazyLock::new(|| {
    register_int_counter!(
        "martlet_sbi_fabric_elsewhere_total",
        "Requests passed to the next binding"
    )
    .expect("each metric has one name")
});

fn counters(name: &str, help: &str, label: &str) -> IntCounterVec {
    register_int_counter_vec!(name, help, &[label])
        .expect("each metric has one name and is registered once")
}
