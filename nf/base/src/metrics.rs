//! Metrics of the SBI, the same for every network function and binding.
use martlet_sbi::{Exchange, Tap};
use prometheus::{HistogramVec, IntCounterVec, register_histogram_vec, register_int_counter_vec};
use std::sync::LazyLock;

static REQUESTS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let labels = &["nf", "api", "operation", "status"];
    register_int_counter_vec!("martlet_sbi_requests_total", "SBI requests served", labels).expect("registered once")
});

static SECONDS: LazyLock<HistogramVec> = LazyLock::new(|| {
    let buckets = prometheus::exponential_buckets(10e-6, 2.5, 14).expect("constants that fit");
    let labels = &["nf", "api", "operation"];
    register_histogram_vec!("martlet_sbi_request_seconds", "Time to serve an SBI request", labels, buckets)
        .expect("registered once")
});

/// Counts what a network function serves.
pub struct SbiMetrics {
    /// Label `nf`.
    pub nf: &'static str,
}

impl Tap for SbiMetrics {
    fn exchanged(&self, exchange: &Exchange<'_>) {
        // Paths that match no operation share one label, so that a scan cannot fill the memory.
        let (api, name) = exchange.operation.map_or(("unknown", "unknown"), |o| (o.api, o.name));
        let status = match exchange.status {
            200 => "200",
            201 => "201",
            204 => "204",
            other => &other.to_string(),
        };
        REQUESTS.with_label_values(&[self.nf, api, name, status]).inc();
        SECONDS.with_label_values(&[self.nf, api, name]).observe(exchange.took.as_secs_f64());
    }
}
