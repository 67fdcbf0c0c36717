//! The SBI problems of store failures.
use martlet_sbi::Problem;
use martlet_store::StoreError;
use prometheus::{IntCounterVec, IntGauge, register_int_counter_vec, register_int_gauge};
use std::sync::LazyLock;

static FAILURES: LazyLock<IntCounterVec> = LazyLock::new(|| {
    register_int_counter_vec!(
        "martlet_udr_store_failures_total",
        "Failed calls of the subscriber database, by reason: full or other",
        &["reason"]
    )
    .expect("registered once")
});

static WRITABLE: LazyLock<IntGauge> = LazyLock::new(|| {
    register_int_gauge!(
        "martlet_udr_store_writable",
        "Whether the last write to the subscriber database succeeded"
    )
    .expect("registered once")
});

/// Shows whether writes succeed.
pub fn set_writable(writable: bool) {
    // A counter that exists before its first event shows it as an increase.
    for reason in ["full", "other"] {
        FAILURES.with_label_values(&[reason]);
    }
    WRITABLE.set(writable.into());
}

/// Counts a failure, and logs it once a second.
pub fn failed(error: &StoreError) {
    let reason = if error.is_full() { "full" } else { "other" };
    FAILURES.with_label_values(&[reason]).inc();
    if let Some(suppressed) = martlet_log_limit::line("store", reason) {
        tracing::error!(reason, suppressed, %error, "subscriber database failed");
    }
}

/// 500. The details are only logged, since they may describe the machine.
pub fn of_store(error: StoreError) -> Problem {
    failed(&error);
    match error.is_full() {
        true => Problem::new(500, "INSUFFICIENT_RESOURCES")
            .detail("the subscriber database has no room"),
        false => Problem::system_failure("the subscriber database failed"),
    }
}

/// 500 for a value that cannot be serialised or parsed.
pub fn of_json(error: serde_json::Error) -> Problem {
    of_store(StoreError::Corrupt(error))
}
