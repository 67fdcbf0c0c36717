//! The AMF's metrics.
use martlet_sbi::trace;
use prometheus::{
    HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, register_histogram_vec,
    register_int_counter, register_int_counter_vec, register_int_gauge, register_int_gauge_vec,
};
use std::sync::LazyLock;
use std::time::Instant;

static PROCEDURES: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Procedures that ended, by their kind and result";
    register_int_counter_vec!("martlet_amf_procedures_total", help, &["procedure", "result"])
        .expect("registered once")
});

static PROCEDURE_SECONDS: LazyLock<HistogramVec> = LazyLock::new(|| {
    let buckets = prometheus::exponential_buckets(100e-6, 2.2, 16).expect("constants that fit");
    let help = "Time of procedures that went well";
    register_histogram_vec!("martlet_amf_procedure_seconds", help, &["procedure"], buckets)
        .expect("registered once")
});

static NAS_ERRORS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "NAS messages that were not acted on, by the reason";
    register_int_counter_vec!("martlet_amf_nas_errors_total", help, &["reason"])
        .expect("registered once")
});

static NGAP_ERRORS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "NGAP messages that were wrong, by the cause";
    register_int_counter_vec!("martlet_amf_ngap_errors_total", help, &["reason"])
        .expect("registered once")
});

static OVERLOADS: LazyLock<IntCounter> = LazyLock::new(|| {
    let help = "Times that gNBs were asked to keep signalling away";
    register_int_counter!("martlet_amf_overloads_total", help).expect("registered once")
});

static RESETS: LazyLock<IntCounter> = LazyLock::new(|| {
    let help = "NG resets by the AMF";
    register_int_counter!("martlet_amf_ng_resets_total", help).expect("registered once")
});

static TAKEN_OVER: LazyLock<IntCounter> = LazyLock::new(|| {
    let help = "Registered UEs that another AMF of the set took over while this one ran";
    register_int_counter!("martlet_amf_ues_taken_over_total", help).expect("registered once")
});

static DROPPED: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Messages dropped because a limit was reached";
    register_int_counter_vec!("martlet_amf_dropped_total", help, &["what"])
        .expect("registered once")
});

static PROCEDURES_AT_WORK: LazyLock<IntGaugeVec> = LazyLock::new(|| {
    let help = "Procedures at work, by their kind";
    register_int_gauge_vec!("martlet_amf_procedures_at_work", help, &["procedure"])
        .expect("registered once")
});

static PROCEDURES_WAITING: LazyLock<IntGaugeVec> = LazyLock::new(|| {
    let help = "Procedures that wait for their turn, by their kind";
    register_int_gauge_vec!("martlet_amf_procedures_waiting", help, &["procedure"])
        .expect("registered once")
});

static PROCEDURES_LIMIT: LazyLock<IntGaugeVec> = LazyLock::new(|| {
    let help = "Procedures that may be at work at the same time, by their kind";
    register_int_gauge_vec!("martlet_amf_procedures_limit", help, &["procedure"])
        .expect("registered once")
});

static GNBS: LazyLock<IntGauge> = LazyLock::new(|| {
    register_int_gauge!("martlet_amf_gnbs", "gNBs that are set up").expect("registered once")
});
static UES: LazyLock<IntGauge> = LazyLock::new(|| {
    register_int_gauge!("martlet_amf_ues", "UE contexts").expect("registered once")
});
static REGISTERED: LazyLock<IntGauge> = LazyLock::new(|| {
    register_int_gauge!("martlet_amf_ues_registered", "UEs registered").expect("registered once")
});
static CONNECTED: LazyLock<IntGauge> = LazyLock::new(|| {
    register_int_gauge!("martlet_amf_ues_connected", "UEs with an N2 connection")
        .expect("registered once")
});

/// A procedure at work. It counts once, when it ends.
#[must_use]
pub(crate) struct Procedure {
    name: &'static str,
    started: Instant,
    span: trace::Active,
}

impl Procedure {
    /// A procedure that starts now.
    pub fn start(name: &'static str) -> Self {
        Procedure { name, started: Instant::now(), span: trace::Active::procedure(name) }
    }

    /// It ended well.
    pub fn succeeded(self) {
        PROCEDURES.with_label_values(&[self.name, "ok"]).inc();
        PROCEDURE_SECONDS
            .with_label_values(&[self.name])
            .observe(self.started.elapsed().as_secs_f64());
        self.span.ended(Ok(()));
    }

    /// It ended for this reason, one of a fixed set of words.
    pub fn failed(self, result: &str) {
        PROCEDURES.with_label_values(&[self.name, result]).inc();
        self.span.ended(Err(result));
    }
}

/// A NAS message was not acted on.
pub(crate) fn nas_error(reason: &str) {
    NAS_ERRORS.with_label_values(&[reason]).inc();
}

/// An NGAP message was wrong.
pub(crate) fn ngap_error(reason: &str) {
    NGAP_ERRORS.with_label_values(&[reason]).inc();
}

/// gNBs are asked to keep signalling away.
pub(crate) fn overloads() {
    OVERLOADS.inc();
}

/// The AMF resets connections of a gNB.
pub(crate) fn ngap_reset() {
    RESETS.inc();
}

/// Another AMF took over a UE.
pub(crate) fn taken_over() {
    TAKEN_OVER.inc();
}

/// Something was dropped because a limit was reached.
pub(crate) fn dropped(what: &str) {
    DROPPED.with_label_values(&[what]).inc();
}

/// gNBs that are set up.
pub(crate) fn gnbs(change: i64) {
    GNBS.add(change);
}

/// UE contexts.
pub(crate) fn ues(change: i64) {
    UES.add(change);
}

/// UEs registered.
pub(crate) fn registered(change: i64) {
    REGISTERED.add(change);
}

/// UEs with an N2 connection.
pub(crate) fn connected(change: i64) {
    CONNECTED.add(change);
}

/// Procedures of a kind at work.
pub(crate) fn procedures_at_work(kind: &str, change: i64) {
    PROCEDURES_AT_WORK.with_label_values(&[kind]).add(change);
}

/// Procedures of a kind that wait for their turn.
pub(crate) fn procedures_waiting(kind: &str, change: i64) {
    PROCEDURES_WAITING.with_label_values(&[kind]).add(change);
}

/// Procedures of a kind that may be at work.
pub(crate) fn procedures_limit(kind: &str, limit: usize) {
    PROCEDURES_LIMIT.with_label_values(&[kind]).set(limit as i64);
}
