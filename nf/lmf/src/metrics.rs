//! The LMF's metrics.
use prometheus::{IntCounterVec, IntGauge, register_int_counter_vec, register_int_gauge};
use std::sync::LazyLock;

static REQUESTS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Requests for a position, by how they were carried and their outcome";
    register_int_counter_vec!("martlet_lmf_requests_total", help, &["carrier", "result"])
        .expect("registered once")
});
static REFUSED: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Messages and channels of UEs that were not acted on, by what was wrong";
    register_int_counter_vec!("martlet_lmf_refused_total", help, &["why"]).expect("registered once")
});
static CHANNELS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Channels of UEs that came up, by what protects them";
    register_int_counter_vec!("martlet_lmf_channels_total", help, &["channel"])
        .expect("registered once")
});
static CONNECTIONS: LazyLock<IntGauge> = LazyLock::new(|| {
    register_int_gauge!("martlet_lmf_connections", "UEs with a user plane connection")
        .expect("registered once")
});

/// Counts a request that ended.
pub fn request(carrier: &str, result: &str) {
    REQUESTS.with_label_values(&[carrier, result]).inc();
}

/// Counts something that was refused.
pub fn refused(why: &str) {
    REFUSED.with_label_values(&[why]).inc();
}

/// Counts a channel that came up.
pub fn channel(kind: &str) {
    CHANNELS.with_label_values(&[kind]).inc();
}

/// How many UEs are connected.
pub fn connections(count: usize) {
    CONNECTIONS.set(i64::try_from(count).unwrap_or(i64::MAX));
}
