//! Metrics.
use prometheus::{IntCounter, IntCounterVec, register_int_counter, register_int_counter_vec};
use std::sync::LazyLock;

#[allow(clippy::expect_used)]
fn counter(name: &str, help: &str) -> IntCounter {
    // Fails only on an invalid or duplicate name, which is a mistake in this file.
    register_int_counter!(name, help).expect("a valid, unique metric name")
}

/// Messages that exceed the limit, by direction (`in`, `out`).
#[allow(clippy::expect_used)]
pub(crate) static TOO_LARGE: LazyLock<IntCounterVec> = LazyLock::new(|| {
    register_int_counter_vec!(
        "martlet_n2_sctp_messages_too_large_total",
        "SCTP messages refused because they exceed the limit",
        &["direction"]
    )
    .expect("a valid, unique metric name")
});
/// Sends that waited for room in the send buffer.
pub(crate) static SEND_WAITS: LazyLock<IntCounter> = LazyLock::new(|| {
    counter("martlet_n2_sctp_send_waits_total", "Sends that waited for room in the send buffer")
});
/// Packets with a wrong CRC32c (user-space stack).
#[cfg(feature = "usrsctp")]
pub(crate) static BAD_CHECKSUMS: LazyLock<IntCounter> = LazyLock::new(|| {
    counter("martlet_n2_sctp_bad_checksums_total", "SCTP packets dropped because of a wrong CRC32c")
});
/// Packets that the raw socket did not accept (user-space stack).
#[cfg(feature = "usrsctp")]
pub(crate) static NOT_SENT: LazyLock<IntCounter> = LazyLock::new(|| {
    counter(
        "martlet_n2_sctp_packets_not_sent_total",
        "SCTP packets that the raw socket did not accept",
    )
});
/// Associations that were refused because too many waited for `accept`.
pub(crate) static NOT_ACCEPTED: LazyLock<IntCounter> = LazyLock::new(|| {
    counter(
        "martlet_n2_sctp_not_accepted_total",
        "Associations refused because too many waited to be accepted",
    )
});
