//! The LMF's metrics.
use prometheus::{IntCounterVec, IntGauge, register_int_counter_vec, register_int_gauge};
use std::sync::LazyLock;

static REQUESTS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Location requests by carrier of LPP and result";
    register_int_counter_vec!("martlet_lmf_requests_total", help, &["carrier", "result"])
        .expect("registered once")
});
static REJECTED: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Rejected messages and channels by reason";
    register_int_counter_vec!("martlet_lmf_rejected_total", help, &["reason"])
        .expect("registered once")
});
static CHANNELS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Established channels by kind";
    register_int_counter_vec!("martlet_lmf_channels_total", help, &["channel"])
        .expect("registered once")
});
static CONNECTIONS: LazyLock<IntGauge> = LazyLock::new(|| {
    register_int_gauge!("martlet_lmf_connections", "UEs with a user plane connection")
        .expect("registered once")
});

/// Counts a finished location request.
pub fn request(carrier: &str, result: &str) {
    LazyLock::force(&CONNECTIONS);
    REQUESTS.with_label_values(&[carrier, result]).inc();
}

/// Counts a rejected message or channel.
pub fn rejected(reason: &str) {
    REJECTED.with_label_values(&[reason]).inc();
}

/// Counts an established channel.
pub fn channel(kind: &str) {
    CHANNELS.with_label_values(&[kind]).inc();
}

/// Sets the number of connected UEs.
pub fn connections(count: usize) {
    CONNECTIONS.set(i64::try_from(count).unwrap_or(i64::MAX));
}
