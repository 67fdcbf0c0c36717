//! The UDM's metrics.
use martlet_sbi::Problem;
use prometheus::{IntCounterVec, register_int_counter_vec};
use std::sync::LazyLock;

static VECTORS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Requests for authentication vectors by result";
    register_int_counter_vec!("martlet_udm_vectors_total", help, &["result"])
        .expect("registered once")
});

/// Counts a request for a vector with its result: `ok` or the cause of the problem.
pub fn vector<T>(outcome: &Result<T, Problem>) {
    VECTORS.with_label_values(&[outcome.as_ref().err().map_or("ok", Problem::cause)]).inc();
}
