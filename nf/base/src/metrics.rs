//! Metrics of the SBI, for every network function and binding.
use martlet_sbi::{Exchange, Tap};
use prometheus::{
    Histogram, HistogramVec, IntCounter, IntCounterVec, register_histogram_vec,
    register_int_counter_vec,
};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::LazyLock;

static REQUESTS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let labels = &["nf", "api", "operation", "status"];
    register_int_counter_vec!("martlet_sbi_requests_total", "SBI requests served", labels)
        .expect("registered once")
});

static SECONDS: LazyLock<HistogramVec> = LazyLock::new(|| {
    let buckets = prometheus::exponential_buckets(10e-6, 2.5, 14).expect("valid constants");
    let labels = &["nf", "api", "operation"];
    register_histogram_vec!(
        "martlet_sbi_request_seconds",
        "Duration of served SBI requests",
        labels,
        buckets
    )
    .expect("registered once")
});

/// Counts the requests that a network function serves.
pub struct SbiMetrics {
    /// Label `nf`.
    pub nf: &'static str,
}

/// The counters of an exchange.
type Counters = (IntCounter, Histogram);

thread_local! {
    /// By function, operation (address of its declaration) and status, since a lookup by labels
    /// takes longer than counting. It has as many entries as the metrics.
    static KNOWN: RefCell<HashMap<(&'static str, usize, u16), Counters>> = RefCell::default();
}

impl SbiMetrics {
    fn counted(&self, api: &str, name: &str, status: u16) -> Counters {
        let text = match status {
            200 => "200",
            201 => "201",
            204 => "204",
            other => &other.to_string(),
        };
        let counter = REQUESTS.with_label_values(&[self.nf, api, name, text]);
        (counter, SECONDS.with_label_values(&[self.nf, api, name]))
    }
}

impl Tap for SbiMetrics {
    fn exchanged(&self, exchange: &Exchange<'_>) {
        let count = |(counter, seconds): &Counters| {
            counter.inc();
            seconds.observe(exchange.duration.as_secs_f64());
        };
        let Some(operation) = exchange.operation else {
            // Unknown paths share a label, so that a scan cannot exhaust the memory.
            return count(&self.counted("unknown", "unknown", exchange.status));
        };
        let key = (self.nf, std::ptr::from_ref(operation) as usize, exchange.status);
        KNOWN.with_borrow_mut(|known| {
            count(
                known.entry(key).or_insert_with(|| {
                    self.counted(operation.api, operation.name, exchange.status)
                }),
            );
        });
    }
}
