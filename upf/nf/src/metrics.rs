//! Telemetry of N4 and its datapath as metrics: gathered when somebody asks, so that packets are
//! counted once only.
use martlet_upf_datapath::counters::Count;
use martlet_upf_datapath::telemetry::{CLASSES, upper_end};
use martlet_upf_n4::Watched;
use prometheus::core::{Collector, Desc};
use prometheus::proto::{Bucket, Histogram, Metric, MetricFamily, MetricType};
use prometheus::{IntCounterVec, IntGaugeVec, Opts};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Once, PoisonError, Weak};

type Source = dyn Fn() -> Option<Watched> + Send + Sync;

static SOURCES: Mutex<Vec<Weak<Source>>> = Mutex::new(Vec::new());

/// Shows what a source gives, for as long as the caller keeps what this gives.
pub(crate) fn watch(source: Arc<Source>) -> Arc<Source> {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        if let Err(error) = prometheus::register(Box::new(Export::new())) {
            tracing::error!(%error, "telemetry of the UPF is not among the metrics");
        }
    });
    let mut all = SOURCES.lock().unwrap_or_else(PoisonError::into_inner);
    all.retain(|source| source.strong_count() > 0);
    all.push(Arc::downgrade(&source));
    source
}

struct Export {
    packets: IntCounterVec,
    octets: IntCounterVec,
    session_packets: IntCounterVec,
    session_octets: IntCounterVec,
    session_drops: IntCounterVec,
    session_waiting: IntGaugeVec,
    used: IntGaugeVec,
    most: IntGaugeVec,
    latency: Desc,
}

const LATENCY: &str = "martlet_upf_packet_seconds";
const LATENCY_HELP: &str = "Time that packets took in the datapath, of one in upf.telemetry.sample";

impl Export {
    fn new() -> Self {
        let counters = |name: &str, help: &str, labels: &[&str]| {
            IntCounterVec::new(Opts::new(name, help), labels).expect("constants that fit")
        };
        let gauges = |name: &str, help: &str, labels: &[&str]| {
            IntGaugeVec::new(Opts::new(name, help), labels).expect("constants that fit")
        };
        let session = ["seid", "ue", "direction"];
        Export {
            packets: counters(
                "martlet_upf_packets_total",
                "Packets of UEs that were forwarded",
                &["direction"],
            ),
            octets: counters(
                "martlet_upf_octets_total",
                "Their octets, without tunnel headers",
                &["direction"],
            ),
            session_packets: counters(
                "martlet_upf_session_packets_total",
                "Packets of a session that were forwarded, of the first upf.telemetry.sessions",
                &session,
            ),
            session_octets: counters(
                "martlet_upf_session_octets_total",
                "Octets of a session",
                &session,
            ),
            session_drops: counters(
                "martlet_upf_session_dropped_packets_total",
                "Packets of a session that were not forwarded",
                &["seid", "ue", "reason"],
            ),
            session_waiting: gauges(
                "martlet_upf_session_waiting_packets",
                "Packets that wait for a UE",
                &["seid", "ue"],
            ),
            used: gauges(
                "martlet_upf_table_entries",
                "Places of a table of the datapath in use",
                &["table"],
            ),
            most: gauges(
                "martlet_upf_table_capacity",
                "Places of a table of the datapath",
                &["table"],
            ),
            latency: Desc::new(LATENCY.into(), LATENCY_HELP.into(), vec![], HashMap::new())
                .expect("constants that fit"),
        }
    }

    fn counters(&self) -> [&IntCounterVec; 5] {
        [
            &self.packets,
            &self.octets,
            &self.session_packets,
            &self.session_octets,
            &self.session_drops,
        ]
    }

    fn gauges(&self) -> [&IntGaugeVec; 3] {
        [&self.session_waiting, &self.used, &self.most]
    }

    fn add(&self, watched: &Watched) {
        let counters = &watched.counters;
        for (direction, packets, octets) in [
            ("uplink", &counters.uplink_packets, &counters.uplink_octets),
            ("downlink", &counters.downlink_packets, &counters.downlink_octets),
        ] {
            self.packets.with_label_values(&[direction]).inc_by(packets.get());
            self.octets.with_label_values(&[direction]).inc_by(octets.get());
        }
        for session in &watched.sessions {
            let (seid, ue) = (format!("{:#018x}", session.seid), session.ue.as_str());
            let traffic = &session.traffic;
            for (direction, volume) in [("uplink", traffic.uplink), ("downlink", traffic.downlink)]
            {
                let labels = [seid.as_str(), ue, direction];
                self.session_packets.with_label_values(&labels).inc_by(volume.packets);
                self.session_octets.with_label_values(&labels).inc_by(volume.octets);
            }
            for (reason, packets) in &traffic.drops {
                self.session_drops
                    .with_label_values(&[seid.as_str(), ue, reason.name()])
                    .inc_by(*packets);
            }
            self.session_waiting
                .with_label_values(&[seid.as_str(), ue])
                .set(session.waiting as i64);
        }
        for fill in &watched.tables {
            self.used.with_label_values(&[fill.table]).add(fill.used as i64);
            self.most.with_label_values(&[fill.table]).add(fill.most as i64);
        }
    }
}

/// The times of all datapaths as one histogram, in seconds.
fn histogram(all: &[Watched]) -> MetricFamily {
    let mut histogram = Histogram::default();
    let (mut sum, mut buckets) = (0, Vec::new());
    for class in 0..CLASSES {
        sum += all
            .iter()
            .map(|w| w.counters.latency.classes.get(class).map_or(0, Count::get))
            .sum::<u64>();
        if let Some(end) = upper_end(class) {
            let mut bucket = Bucket::default();
            bucket.set_upper_bound(end as f64 / 1e9);
            bucket.set_cumulative_count(sum);
            buckets.push(bucket);
        }
    }
    histogram.set_sample_count(sum);
    histogram
        .set_sample_sum(all.iter().map(|w| w.counters.latency.sum.get() as f64).sum::<f64>() / 1e9);
    histogram.set_bucket(buckets);
    let mut metric = Metric::default();
    metric.set_histogram(histogram);
    let mut family = MetricFamily::default();
    family.set_name(LATENCY.into());
    family.set_help(LATENCY_HELP.into());
    family.set_field_type(MetricType::HISTOGRAM);
    family.set_metric(vec![metric]);
    family
}

impl Collector for Export {
    fn desc(&self) -> Vec<&Desc> {
        let all = self.counters().into_iter().flat_map(Collector::desc);
        all.chain(self.gauges().into_iter().flat_map(Collector::desc))
            .chain([&self.latency])
            .collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let sources: Vec<Arc<Source>> = {
            let mut all = SOURCES.lock().unwrap_or_else(PoisonError::into_inner);
            all.retain(|source| source.strong_count() > 0);
            all.iter().filter_map(Weak::upgrade).collect()
        };
        let watched: Vec<Watched> = sources.iter().filter_map(|source| source()).collect();
        self.counters().into_iter().for_each(IntCounterVec::reset);
        self.gauges().into_iter().for_each(IntGaugeVec::reset);
        watched.iter().for_each(|watched| self.add(watched));
        let all = self.counters().into_iter().flat_map(Collector::collect);
        all.chain(self.gauges().into_iter().flat_map(Collector::collect))
            .chain([histogram(&watched)])
            .collect()
    }
}
