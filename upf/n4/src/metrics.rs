//! Metrics of N4.
use prometheus::{
    IntCounter, IntCounterVec, IntGauge, register_int_counter, register_int_counter_vec,
    register_int_gauge,
};
use std::sync::LazyLock;

macro_rules! counter_vec {
    ($($(#[$meta:meta])* $name:ident = $metric:literal, $help:literal,
        [$($label:literal),*];)*) => {
    $(
        $(#[$meta])*
        pub(crate) static $name: LazyLock<IntCounterVec> = LazyLock::new(|| {
            register_int_counter_vec!($metric, $help, &[$($label),*]).expect("registered once")
        });
    )*

        fn register_vecs() {
            $(LazyLock::force(&$name);)*
        }
    };
}

counter_vec! {
    N4_REQUESTS = "martlet_upf_n4_requests_total", "PFCP requests received", ["message"];
    N4_DROPPED = "martlet_upf_n4_dropped_total", "PFCP messages dropped", ["reason"];
    N4_SESSIONS = "martlet_upf_n4_session_requests_total", "PFCP session requests by outcome",
        ["request", "outcome"];
    N4_REPORTS = "martlet_upf_n4_reports_total", "PFCP session reports sent", ["report"];
    DNS_RESPONSES = "martlet_upf_dns_responses_total",
        "DNS responses to UEs that were used to detect applications", ["outcome"];
    N4_UNANSWERED = "martlet_upf_n4_unanswered_total", "PFCP requests sent that timed out",
        ["request"];
}

pub(crate) static N4_REPEATED: LazyLock<IntCounter> = LazyLock::new(|| {
    register_int_counter!("martlet_upf_n4_repeated_total", "Retransmitted PFCP requests received")
        .expect("registered once")
});
pub(crate) static N4_SHARED_TUNNELS: LazyLock<IntCounter> = LazyLock::new(|| {
    let help = "Tunnels to the access whose far end another session has, too";
    register_int_counter!("martlet_upf_n4_shared_tunnels_total", help).expect("registered once")
});
pub(crate) static SESSIONS: LazyLock<IntGauge> = LazyLock::new(|| {
    register_int_gauge!("martlet_upf_sessions", "PFCP sessions").expect("registered once")
});
pub(crate) static ASSOCIATIONS: LazyLock<IntGauge> = LazyLock::new(|| {
    register_int_gauge!("martlet_upf_associations", "PFCP associations").expect("registered once")
});

/// Registers the metrics of N4 before any lock is held. A scrape holds the registry while it waits
/// for those locks, so registration under a lock would deadlock.
pub fn register() {
    register_vecs();
    LazyLock::force(&N4_REPEATED);
    LazyLock::force(&N4_SHARED_TUNNELS);
    // A former UPF of this process may have ended with sessions.
    SESSIONS.set(0);
    ASSOCIATIONS.set(0);
}
