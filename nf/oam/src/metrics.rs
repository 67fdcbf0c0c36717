//! Metrics of the function.
use prometheus::{IntCounterVec, register_int_counter_vec};
use std::sync::LazyLock;

/// Refused requests of the API.
pub static REFUSED: LazyLock<IntCounterVec> = LazyLock::new(|| {
    register_int_counter_vec!(
        "martlet_oam_api_refused_total",
        "Refused requests of the northbound API by HTTP status",
        &["status"]
    )
    .expect("registered once")
});
