//! Failures of the store as the SBI tells them.
use martlet_sbi::Problem;
use martlet_store::StoreError;
use prometheus::{IntCounter, register_int_counter};
use std::sync::LazyLock;

static FAILURES: LazyLock<IntCounter> = LazyLock::new(|| {
    register_int_counter!("martlet_udr_store_failures_total", "Calls that the store failed")
        .expect("registered once")
});

/// 500; the details stay in the log, since they may tell of the machine.
pub fn of_store(error: StoreError) -> Problem {
    FAILURES.inc();
    tracing::error!(%error, "the store failed");
    Problem::system_failure("the subscriber database failed")
}

/// 500 for a value that does not serialise or parse.
pub fn of_json(error: serde_json::Error) -> Problem {
    of_store(StoreError::Corrupt(error))
}
