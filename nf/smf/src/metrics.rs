//! The SMF's metrics.
use prometheus::{
    HistogramVec, IntCounter, IntCounterVec, IntGauge, register_histogram_vec,
    register_int_counter, register_int_counter_vec, register_int_gauge,
};
use std::sync::LazyLock;
use std::time::Instant;

/// PDU sessions.
pub static SESSIONS: LazyLock<IntGauge> = LazyLock::new(|| {
    register_int_gauge!("martlet_smf_sessions", "PDU sessions").expect("registered once")
});

static PROCEDURES: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let labels = &["procedure", "result"];
    register_int_counter_vec!("martlet_smf_procedures_total", "Procedures by result", labels)
        .expect("registered once")
});
static SECONDS: LazyLock<HistogramVec> = LazyLock::new(|| {
    let buckets = prometheus::exponential_buckets(50e-6, 2.0, 18).expect("constants that fit");
    let help = "Duration of procedures";
    register_histogram_vec!("martlet_smf_procedure_seconds", help, &["procedure"], buckets)
        .expect("registered once")
});
static N4: LazyLock<IntCounterVec> = LazyLock::new(|| {
    register_int_counter_vec!("martlet_smf_n4_total", "Events on N4", &["event"])
        .expect("registered once")
});

/// Counts a procedure and its duration.
pub fn procedure(name: &str, result: &str, started: Instant) {
    // A counter that exists before its first event shows it as an increase.
    LazyLock::force(&TAKEN_OVER);
    PROCEDURES.with_label_values(&[name, result]).inc();
    SECONDS.with_label_values(&[name]).observe(started.elapsed().as_secs_f64());
}

static TAKEN_OVER: LazyLock<IntCounter> = LazyLock::new(|| {
    let help = "Sessions that another SMF of the set took over while this one ran";
    register_int_counter!("martlet_smf_sessions_taken_over_total", help).expect("registered once")
});

/// Another SMF took over a session.
pub fn taken_over() {
    TAKEN_OVER.inc();
}

/// Counts an event on N4.
pub fn n4(event: &str) {
    N4.with_label_values(&[event]).inc();
}
