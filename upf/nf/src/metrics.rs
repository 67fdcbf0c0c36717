//! Metrics of N4 and its datapath, collected at each scrape, so that packets are counted only once.
use martlet_upf_datapath::counters::Count;
use martlet_upf_datapath::telemetry::{CLASSES, upper_end};
use martlet_upf_n4::Snapshot;
use prometheus::core::{Collector, Desc};
use prometheus::proto::{Bucket, Histogram, Metric, MetricFamily, MetricType};
use prometheus::{IntCounterVec, IntGaugeVec, Opts};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, Once, PoisonError, Weak};

type Source = dyn Fn() -> Option<Snapshot> + Send + Sync;

static SOURCES: Mutex<Vec<Weak<Source>>> = Mutex::new(Vec::new());

/// Registers a source of metrics until the returned handle is dropped.
pub(crate) fn watch(source: Arc<Source>) -> Arc<Source> {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        if let Err(error) = prometheus::register(Box::new(Export::new())) {
            tracing::error!(%error, "UPF telemetry metrics not registered");
        }
    });
    let mut all = SOURCES.lock().unwrap_or_else(PoisonError::into_inner);
    all.retain(|source| source.strong_count() > 0);
    all.push(Arc::downgrade(&source));
    source
}

struct Export {
    packets: IntCounterVec,
    bytes: IntCounterVec,
    peer_bytes: IntCounterVec,
    network_bytes: IntCounterVec,
    interface_losses: IntCounterVec,
    session_packets: IntCounterVec,
    session_bytes: IntCounterVec,
    session_drops: IntCounterVec,
    session_buffered: IntGaugeVec,
    used: IntGaugeVec,
    max: IntGaugeVec,
    latency: Desc,
}

const DIRECTIONS: [&str; 2] = ["uplink", "downlink"];

const LATENCY: &str = "martlet_upf_packet_seconds";
const LATENCY_HELP: &str =
    "Time that a packet takes in the datapath, sampled by upf.telemetry.sample";

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
                "Forwarded packets of UEs",
                &["direction"],
            ),
            bytes: counters(
                "martlet_upf_bytes_total",
                "Forwarded bytes of UEs without tunnel headers",
                &["direction"],
            ),
            peer_bytes: counters(
                "martlet_upf_peer_bytes_total",
                "Forwarded bytes of UEs by peer, without tunnel headers: side is access for gNBs \
                 and UPFs before this one, core for UPFs behind it",
                &["side", "peer", "direction"],
            ),
            network_bytes: counters(
                "martlet_upf_network_bytes_total",
                "Forwarded bytes of UEs by data network, without tunnel headers",
                &["network", "direction"],
            ),
            interface_losses: counters(
                "martlet_upf_interface_lost_packets_total",
                "Packets that an interface lost after XDP had forwarded them, as the kernel's \
                 tracepoints tell. Reasons: not_accepted (such as a veth whose other end has \
                 neither GRO nor an XDP program), queue_full, interface_down, too_long, exception, \
                 other; cpu_queue_full, of the interface uplink_cpus, for packets before XDP has \
                 processed them (upf.xdp.uplink_cpus)",
                &["interface", "reason"],
            ),
            session_packets: counters(
                "martlet_upf_session_packets_total",
                "Forwarded packets of a session, for the first upf.telemetry.sessions sessions",
                &session,
            ),
            session_bytes: counters(
                "martlet_upf_session_bytes_total",
                "Forwarded bytes of a session",
                &session,
            ),
            session_drops: counters(
                "martlet_upf_session_dropped_packets_total",
                "Dropped packets of a session",
                &["seid", "ue", "reason"],
            ),
            session_buffered: gauges(
                "martlet_upf_session_buffered_packets",
                "Buffered packets of a session",
                &["seid", "ue"],
            ),
            used: gauges(
                "martlet_upf_table_entries",
                "Entries of a datapath table in use",
                &["table"],
            ),
            max: gauges(
                "martlet_upf_table_capacity",
                "Capacity of a datapath table in entries",
                &["table"],
            ),
            latency: Desc::new(LATENCY.into(), LATENCY_HELP.into(), vec![], HashMap::new())
                .expect("constants that fit"),
        }
    }

    fn counters(&self) -> [&IntCounterVec; 8] {
        [
            &self.packets,
            &self.bytes,
            &self.peer_bytes,
            &self.network_bytes,
            &self.interface_losses,
            &self.session_packets,
            &self.session_bytes,
            &self.session_drops,
        ]
    }

    fn gauges(&self) -> [&IntGaugeVec; 3] {
        [&self.session_buffered, &self.used, &self.max]
    }

    fn add(&self, snapshot: &Snapshot) {
        let counters = &snapshot.counters;
        for (direction, packets, bytes) in [
            ("uplink", &counters.uplink_packets, &counters.uplink_bytes),
            ("downlink", &counters.downlink_packets, &counters.downlink_bytes),
        ] {
            self.packets.with_label_values(&[direction]).inc_by(packets.get());
            self.bytes.with_label_values(&[direction]).inc_by(bytes.get());
        }
        let volumes = &snapshot.volumes;
        for (side, peers) in [("access", &volumes.access), ("core", &volumes.upfs)] {
            for (peer, bytes) in peers {
                let peer = peer.to_string();
                for (direction, bytes) in DIRECTIONS.into_iter().zip(bytes) {
                    self.peer_bytes.with_label_values(&[side, &peer, direction]).inc_by(*bytes);
                }
            }
        }
        for (network, bytes) in &volumes.networks {
            for (direction, bytes) in DIRECTIONS.into_iter().zip(bytes) {
                self.network_bytes.with_label_values(&[network, direction]).inc_by(*bytes);
            }
        }
        for loss in &snapshot.interface_losses {
            self.interface_losses
                .with_label_values(&[loss.interface.as_str(), loss.reason])
                .inc_by(loss.packets);
        }
        for session in &snapshot.sessions {
            let (seid, ue) = (format!("{:#018x}", session.seid), session.ue.as_str());
            let traffic = &session.traffic;
            for (direction, volume) in [("uplink", traffic.uplink), ("downlink", traffic.downlink)]
            {
                let labels = [seid.as_str(), ue, direction];
                self.session_packets.with_label_values(&labels).inc_by(volume.packets);
                self.session_bytes.with_label_values(&labels).inc_by(volume.bytes);
            }
            for (reason, packets) in &traffic.drops {
                self.session_drops
                    .with_label_values(&[seid.as_str(), ue, reason.name()])
                    .inc_by(*packets);
            }
            self.session_buffered
                .with_label_values(&[seid.as_str(), ue])
                .set(session.waiting as i64);
        }
        for usage in &snapshot.tables {
            self.used.with_label_values(&[usage.table]).add(usage.used as i64);
            self.max.with_label_values(&[usage.table]).add(usage.capacity as i64);
        }
    }
}

/// The times of all datapaths as one histogram, in seconds.
fn histogram(all: &[Snapshot]) -> MetricFamily {
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
        let snapshot: Vec<Snapshot> = sources.iter().filter_map(|source| source()).collect();
        self.counters().into_iter().for_each(IntCounterVec::reset);
        self.gauges().into_iter().for_each(IntGaugeVec::reset);
        snapshot.iter().for_each(|snapshot| self.add(snapshot));
        let all = self.counters().into_iter().flat_map(Collector::collect);
        all.chain(self.gauges().into_iter().flat_map(Collector::collect))
            .chain([histogram(&snapshot)])
            .collect()
    }
}
