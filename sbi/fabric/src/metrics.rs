//! Metrics of the fabric.
use prometheus::{IntCounter, IntCounterVec, IntGauge};
use prometheus::{register_int_counter, register_int_counter_vec, register_int_gauge};
use std::sync::LazyLock;

/// Channels open.
pub static CHANNELS: LazyLock<IntGauge> = LazyLock::new(|| {
    register_int_gauge!("martlet_sbi_fabric_channels", "Channels open").expect("each metric has one name")
});
/// Channels closed, by reason.
pub static CLOSED: LazyLock<IntCounterVec> =
    LazyLock::new(|| counters("martlet_sbi_fabric_channels_closed_total", "Channels closed", "reason"));
/// Bells rung: other processes that had to be woken.
pub static BELLS: LazyLock<IntCounter> = LazyLock::new(|| {
    register_int_counter!("martlet_sbi_fabric_bells_total", "Bells rung").expect("each metric has one name")
});

fn counters(name: &str, help: &str, label: &str) -> IntCounterVec {
    register_int_counter_vec!(name, help, &[label]).expect("each metric has one name and is registered once")
}
