//! The SBI problems of store failures.
use martlet_sbi::Problem;
use martlet_store::StoreError;
use prometheus::{IntCounter, register_int_counter};
use std::sync::LazyLock;

static FAILURES: LazyLock<IntCounter> = LazyLock::new(|| {
    register_int_counter!(
        "martlet_udr_store_failures_total",
        "Failed calls of the subscriber database"
    )
    .expect("registered once")
});

/// 500. The details are only logged, since they may describe the machine.
pub fn of_store(error: StoreError) -> Problem {
    FAILURES.inc();
    tracing::error!(%error, "subscriber database failed");
    Problem::system_failure("the subscriber database failed")
}

/// 500 for a value that cannot be serialised or parsed.
pub fn of_json(error: serde_json::Error) -> Problem {
    of_store(StoreError::Corrupt(error))
}
