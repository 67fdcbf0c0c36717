//! The AUSF's metrics.
use martlet_sbi::Problem;
use prometheus::{IntCounterVec, register_int_counter_vec};
use std::sync::LazyLock;

static AUTHENTICATIONS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Steps of authentications, by their outcome";
    register_int_counter_vec!("martlet_ausf_authentications_total", help, &["step", "result"])
        .expect("registered once")
});

/// Counts a step that ended well, or with a cause.
pub fn count(step: &str, problem: Option<&Problem>) {
    AUTHENTICATIONS.with_label_values(&[step, problem.map_or("ok", Problem::cause)]).inc();
}

/// Counts an answer of a UE that was not the one expected.
pub fn refused() {
    AUTHENTICATIONS.with_label_values(&["confirm", "RES* refused"]).inc();
}
