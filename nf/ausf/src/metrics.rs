//! The AUSF's metrics.
use martlet_sbi::Problem;
use prometheus::{IntCounterVec, register_int_counter_vec};
use std::sync::LazyLock;

static AUTHENTICATIONS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Authentication steps by result";
    register_int_counter_vec!("martlet_ausf_authentications_total", help, &["step", "result"])
        .expect("registered once")
});

/// Counts a step with its result: `ok` or the cause of the problem.
pub fn count(step: &str, problem: Option<&Problem>) {
    AUTHENTICATIONS.with_label_values(&[step, problem.map_or("ok", Problem::cause)]).inc();
}

/// Counts a response of a UE that does not match the expected one.
pub fn authentication_failed() {
    AUTHENTICATIONS.with_label_values(&["confirm", "RES* refused"]).inc();
}
