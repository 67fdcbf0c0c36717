//! Prometheus metrics of the fabric, in the default registry.
use prometheus::{IntCounter, IntCounterVec, IntGauge};
use prometheus::{register_int_counter, register_int_counter_vec, register_int_gauge};
use std::sync::LazyLock;

const REGISTERED_ONCE: &str = "each metric is registered once";

/// Open channels.
pub(crate) static CHANNELS: LazyLock<IntGauge> = LazyLock::new(|| {
    register_int_gauge!("martlet_fabric_channels", "Open channels").expect(REGISTERED_ONCE)
});
/// Closed channels by reason.
pub(crate) static CLOSED: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Channels closed, by reason";
    register_int_counter_vec!("martlet_fabric_channels_closed_total", help, &["reason"])
        .expect(REGISTERED_ONCE)
});
/// Connections that are open or being opened.
pub(crate) static CONNECTIONS: LazyLock<IntGauge> = LazyLock::new(|| {
    register_int_gauge!("martlet_fabric_connections", "Connections open or being opened")
        .expect(REGISTERED_ONCE)
});
/// Doorbells signalled.
pub(crate) static WAKEUPS: LazyLock<IntCounter> = LazyLock::new(|| {
    register_int_counter!("martlet_fabric_wakeups_total", "Wakeups of other processes")
        .expect(REGISTERED_ONCE)
});
/// Processes that the manager has admitted.
pub(crate) static MEMBERS: LazyLock<IntGauge> = LazyLock::new(|| {
    register_int_gauge!("martlet_fabric_members", "Processes connected to the manager")
        .expect(REGISTERED_ONCE)
});
/// Refusals by what was refused.
pub(crate) static REFUSED: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Refusals, by what was refused";
    register_int_counter_vec!("martlet_fabric_refused_total", help, &["what"])
        .expect(REGISTERED_ONCE)
});
