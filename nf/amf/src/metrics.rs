//! The AMF's metrics.
use martlet_sbi::trace;
use prometheus::{
    HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, register_histogram_vec,
    register_int_counter, register_int_counter_vec, register_int_gauge, register_int_gauge_vec,
};
use std::sync::LazyLock;
use std::time::Instant;

static PROCEDURES: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Completed procedures by procedure and result";
    register_int_counter_vec!("martlet_amf_procedures_total", help, &["procedure", "result"])
        .expect("registered once")
});

static PROCEDURE_SECONDS: LazyLock<HistogramVec> = LazyLock::new(|| {
    let buckets = prometheus::exponential_buckets(100e-6, 2.2, 16).expect("constants that fit");
    let help = "Duration of successful procedures, seconds";
    register_histogram_vec!("martlet_amf_procedure_seconds", help, &["procedure"], buckets)
        .expect("registered once")
});

static NAS_ERRORS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Discarded NAS messages by reason";
    register_int_counter_vec!("martlet_amf_nas_errors_total", help, &["reason"])
        .expect("registered once")
});

static NGAP_ERRORS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Faulty NGAP messages by reason";
    register_int_counter_vec!("martlet_amf_ngap_errors_total", help, &["reason"])
        .expect("registered once")
});

static ASSOCIATIONS_REFUSED: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "N2 associations and NG setups that the AMF refused, by reason";
    register_int_counter_vec!("martlet_amf_associations_refused_total", help, &["reason"])
        .expect("registered once")
});

static PROBES: LazyLock<IntCounter> = LazyLock::new(|| {
    let help = "Probes of associations whose gNB identity another association claimed";
    register_int_counter!("martlet_amf_gnb_probes_total", help).expect("registered once")
});

static OVERLOADS: LazyLock<IntCounter> = LazyLock::new(|| {
    let help = "Overload periods (OVERLOAD START sent to the gNBs)";
    register_int_counter!("martlet_amf_overloads_total", help).expect("registered once")
});

static CUT_OFFS: LazyLock<IntCounter> = LazyLock::new(|| {
    register_int_counter!(
        "martlet_amf_cut_offs_total",
        "How often this AMF closed its associations since it could not renew its lease"
    )
    .expect("registered once")
});

static RESETS: LazyLock<IntCounter> = LazyLock::new(|| {
    let help = "NG RESET messages sent";
    register_int_counter!("martlet_amf_ng_resets_total", help).expect("registered once")
});

static TAKEN_OVER: LazyLock<IntCounter> = LazyLock::new(|| {
    let help = "Registered UEs that another AMF of the set took over while this one ran";
    register_int_counter!("martlet_amf_ues_taken_over_total", help).expect("registered once")
});

static REBALANCED: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Registered UEs moved to and from other AMFs of the set by load re-balancing";
    register_int_counter_vec!("martlet_amf_ues_rebalanced_total", help, &["direction"])
        .expect("registered once")
});

static DROPPED: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help = "Messages dropped at a limit, by kind";
    register_int_counter_vec!("martlet_amf_dropped_total", help, &["what"])
        .expect("registered once")
});

static PROCEDURES_RUNNING: LazyLock<IntGaugeVec> = LazyLock::new(|| {
    let help = "Running procedures by kind";
    register_int_gauge_vec!("martlet_amf_procedures_running", help, &["procedure"])
        .expect("registered once")
});

static PROCEDURES_WAITING: LazyLock<IntGaugeVec> = LazyLock::new(|| {
    let help = "Procedures waiting for a concurrency slot, by kind";
    register_int_gauge_vec!("martlet_amf_procedures_waiting", help, &["procedure"])
        .expect("registered once")
});

static PROCEDURES_LIMIT: LazyLock<IntGaugeVec> = LazyLock::new(|| {
    let help = "Concurrency limit of procedures by kind";
    register_int_gauge_vec!("martlet_amf_procedures_limit", help, &["procedure"])
        .expect("registered once")
});

static GNBS: LazyLock<IntGauge> = LazyLock::new(|| {
    register_int_gauge!("martlet_amf_gnbs", "gNBs with a completed NG setup")
        .expect("registered once")
});
static UES: LazyLock<IntGauge> = LazyLock::new(|| {
    register_int_gauge!("martlet_amf_ues", "UE contexts").expect("registered once")
});
static REGISTERED: LazyLock<IntGauge> = LazyLock::new(|| {
    register_int_gauge!("martlet_amf_ues_registered", "Registered UEs").expect("registered once")
});
static CONNECTED: LazyLock<IntGauge> = LazyLock::new(|| {
    register_int_gauge!("martlet_amf_ues_connected", "UEs with an N2 connection")
        .expect("registered once")
});

/// A running procedure. It is counted once, when it ends.
#[must_use]
pub(crate) struct Procedure {
    name: &'static str,
    started: Instant,
    span: trace::Active,
}

impl Procedure {
    /// Starts the measurement.
    pub fn start(name: &'static str) -> Self {
        Procedure { name, started: Instant::now(), span: trace::Active::procedure(name) }
    }

    /// Counts a success and its duration.
    pub fn succeeded(self) {
        PROCEDURES.with_label_values(&[self.name, "ok"]).inc();
        PROCEDURE_SECONDS
            .with_label_values(&[self.name])
            .observe(self.started.elapsed().as_secs_f64());
        self.span.ended(Ok(()));
    }

    /// Counts a failure with its metrics label.
    pub fn failed(self, result: &str) {
        PROCEDURES.with_label_values(&[self.name, result]).inc();
        self.span.ended(Err(result));
    }
}

/// Counts a discarded NAS message.
pub(crate) fn nas_error(reason: &str) {
    NAS_ERRORS.with_label_values(&[reason]).inc();
}

/// Counts a faulty NGAP message.
pub(crate) fn ngap_error(reason: &str) {
    NGAP_ERRORS.with_label_values(&[reason]).inc();
}

/// Counts an association or an NG setup that the AMF refused.
pub(crate) fn association_refused(reason: &str) {
    ASSOCIATIONS_REFUSED.with_label_values(&[reason]).inc();
}

/// Counts a probe of a gNB.
pub(crate) fn probe() {
    PROBES.inc();
}

/// Counts an OVERLOAD START.
pub(crate) fn overloads() {
    OVERLOADS.inc();
}

/// Counts that the AMF closed all associations because it could not renew its lease.
pub(crate) fn cut_off() {
    CUT_OFFS.inc();
}

/// Counts a UE that load re-balancing moved `out` to another AMF of the set, or `in` from it.
pub(crate) fn rebalanced(direction: &str) {
    REBALANCED.with_label_values(&[direction]).inc();
}

/// Counts an NG RESET sent.
pub(crate) fn ngap_reset() {
    RESETS.inc();
}

/// Counts a UE that another AMF of the set took over.
pub(crate) fn taken_over() {
    TAKEN_OVER.inc();
}

/// Counts a message dropped at a limit.
pub(crate) fn dropped(what: &str) {
    DROPPED.with_label_values(&[what]).inc();
}

/// Changes the number of gNBs.
pub(crate) fn gnbs(change: i64) {
    // Counters that exist before their first event show it as an increase.
    for counter in [&TAKEN_OVER, &OVERLOADS, &CUT_OFFS] {
        LazyLock::force(counter);
    }
    GNBS.add(change);
}

/// Changes the number of UE contexts.
pub(crate) fn ues(change: i64) {
    UES.add(change);
}

/// Changes the number of registered UEs.
pub(crate) fn registered(change: i64) {
    REGISTERED.add(change);
}

/// Changes the number of connected UEs.
pub(crate) fn connected(change: i64) {
    CONNECTED.add(change);
}

/// Changes the number of running procedures.
pub(crate) fn procedures_running(kind: &str, change: i64) {
    PROCEDURES_RUNNING.with_label_values(&[kind]).add(change);
}

/// Changes the number of waiting procedures.
pub(crate) fn procedures_waiting(kind: &str, change: i64) {
    PROCEDURES_WAITING.with_label_values(&[kind]).add(change);
}

/// Sets the concurrency limit of a procedure.
pub(crate) fn procedures_limit(kind: &str, limit: usize) {
    PROCEDURES_LIMIT.with_label_values(&[kind]).set(limit as i64);
}
