//! The UDM's metrics.
use martlet_sbi::Problem;
use prometheus::{IntCounterVec, register_int_counter_vec};
use std::sync::LazyLock;

static VECTORS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Authentication vectors asked for, by outcome";
    register_int_counter_vec!("martlet_udm_vectors_total", help, &["result"])
        .expect("registered once")
});

/// Counts a vector that was made, or the cause for which it was not.
pub fn vector<T>(outcome: &Result<T, Problem>) {
    VECTORS.with_label_values(&[outcome.as_ref().err().map_or("ok", Problem::cause)]).inc();
}
