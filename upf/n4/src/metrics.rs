//! Metrics of N4.
use prometheus::{
    IntCounter, IntCounterVec, IntGauge, register_int_counter, register_int_counter_vec,
    register_int_gauge,
};
use std::sync::LazyLock;

macro_rules! counter_vec {
    ($($(#[$meta:meta])* $name:ident = $metric:literal, $help:literal, [$($label:literal),*];)*) => {
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
    N4_DROPPED = "martlet_upf_n4_dropped_total", "PFCP messages that were not acted on", ["reason"];
    N4_SESSIONS = "martlet_upf_n4_session_requests_total", "Session requests by outcome", ["request", "outcome"];
    N4_REPORTS = "martlet_upf_n4_reports_total", "Session reports sent", ["report"];
    NAMES = "martlet_upf_names_total", "Answers of name servers to UEs whose applications are known by names", ["outcome"];
    N4_UNANSWERED = "martlet_upf_n4_unanswered_total", "Requests sent that nobody answered", ["request"];
}

pub(crate) static N4_REPEATED: LazyLock<IntCounter> = LazyLock::new(|| {
    register_int_counter!("martlet_upf_n4_repeated_total", "PFCP requests received again")
        .expect("registered once")
});
pub(crate) static SESSIONS: LazyLock<IntGauge> = LazyLock::new(|| {
    register_int_gauge!("martlet_upf_sessions", "PFCP sessions").expect("registered once")
});
pub(crate) static ASSOCIATIONS: LazyLock<IntGauge> = LazyLock::new(|| {
    register_int_gauge!("martlet_upf_associations", "PFCP associations").expect("registered once")
});

/// Has the metrics registered that N4 and datapaths use, before anybody has a lock of theirs. Who
/// gathers metrics holds the registry while it waits for those locks: one that registered itself at
/// its first use, under such a lock, would wait for the registry for ever.
pub fn register() {
    register_vecs();
    LazyLock::force(&N4_REPEATED);
    LazyLock::force(&SESSIONS);
    LazyLock::force(&ASSOCIATIONS);
}
