//! Prometheus metrics of the binding.
use prometheus::{IntCounterVec, IntGauge, register_int_counter_vec, register_int_gauge};
use std::sync::LazyLock;

/// Connections opened, by side (`client`, `server`).
pub static CONNECTIONS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    counter("martlet_sbi_http_connections_total", "Connections opened, by side", "side")
});
/// Requests sent again after a failure, by reason.
pub static RETRIES: LazyLock<IntCounterVec> = LazyLock::new(|| {
    counter(
        "martlet_sbi_http_retries_total",
        "Requests sent again after a failure, by reason",
        "reason",
    )
});
/// Refused connections and messages, by reason.
pub static REFUSED: LazyLock<IntCounterVec> = LazyLock::new(|| {
    counter(
        "martlet_sbi_http_refused_total",
        "Connections and messages refused, by reason",
        "reason",
    )
});
/// Bytes of responses that peers have not read.
pub static UNSENT: LazyLock<IntGauge> = LazyLock::new(|| {
    register_int_gauge!(
        "martlet_sbi_http_unsent_bytes",
        "Bytes of responses that consumers have not read yet"
    )
    .expect("each metric has one name and is registered once")
});

fn counter(name: &str, help: &str, label: &str) -> IntCounterVec {
    register_int_counter_vec!(name, help, &[label])
        .expect("each metric has one name and is registered once")
}
