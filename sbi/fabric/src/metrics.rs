//! Prometheus metrics of service calls over the fabric.
use prometheus::{IntCounter, IntCounterVec, register_int_counter, register_int_counter_vec};
use std::sync::LazyLock;

const REGISTERED_ONCE: &str = "each metric is registered once";

/// Requests sent again after a failure, by reason.
pub(crate) static RETRIES: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Requests sent again after a failure, by reason";
    register_int_counter_vec!("martlet_sbi_fabric_retries_total", help, &["reason"])
        .expect(REGISTERED_ONCE)
});
/// Requests passed to the next binding.
pub(crate) static FALLBACKS: LazyLock<IntCounter> = LazyLock::new(|| {
    let help = "Requests passed to the next binding, because no process of the fabric serves them";
    register_int_counter!("martlet_sbi_fabric_fallbacks_total", help).expect(REGISTERED_ONCE)
});
