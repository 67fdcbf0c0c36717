//! The counters of datapaths as metrics.
use crate::counters::{Counters, DropReason};
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{IntCounterVec, Opts};
use std::sync::{Arc, Mutex, Once, PoisonError, Weak};

/// The counters of all datapaths of this process, summed at each scrape.
static DATAPATHS: Mutex<Vec<Weak<Counters>>> = Mutex::new(Vec::new());

/// Exports the counters of a datapath while it exists.
pub fn show(counters: &Arc<Counters>) {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        if let Err(error) = prometheus::register(Box::new(Packets::new())) {
            tracing::error!(%error, "packet counters not registered as metrics");
        }
    });
    let mut all = DATAPATHS.lock().unwrap_or_else(PoisonError::into_inner);
    all.retain(|counters| counters.strong_count() > 0);
    all.push(Arc::downgrade(counters));
}

struct Packets {
    events: IntCounterVec,
    drops: IntCounterVec,
    unmarked: IntCounterVec,
}

impl Packets {
    fn new() -> Self {
        let vec = |name: &str, help: &str, label: &str| {
            IntCounterVec::new(Opts::new(name, help), &[label]).expect("valid constants")
        };
        Packets {
            events: vec(
                "martlet_upf_datapath_total",
                "Packets and bytes that the datapath processed",
                "what",
            ),
            drops: vec("martlet_upf_dropped_packets_total", "Packets not forwarded", "reason"),
            unmarked: vec(
                "martlet_upf_unmarked_packets_total",
                "Uplink G-PDUs without a QFI, matched as the default QoS flow's",
                "peer",
            ),
        }
    }
}

impl Collector for Packets {
    fn desc(&self) -> Vec<&Desc> {
        [self.events.desc(), self.drops.desc(), self.unmarked.desc()].concat()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let mut all = DATAPATHS.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|counters| counters.strong_count() > 0);
        let alive: Vec<Arc<Counters>> = all.iter().filter_map(Weak::upgrade).collect();
        drop(all);
        self.events.reset();
        self.drops.reset();
        self.unmarked.reset();
        for counters in alive {
            for (name, value) in counters.named() {
                self.events.with_label_values(&[name]).inc_by(value);
            }
            for reason in DropReason::ALL {
                self.drops.with_label_values(&[reason.name()]).inc_by(counters.drops(reason).get());
            }
            for (peer, packets) in counters.unmarked_peers.all() {
                self.unmarked.with_label_values(&[&peer.to_string()]).inc_by(packets);
            }
        }
        [self.events.collect(), self.drops.collect(), self.unmarked.collect()].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_exported_while_their_datapath_exists() {
        let value = |reason: &str| {
            let families = prometheus::gather();
            let family =
                families.iter().find(|f| f.name() == "martlet_upf_dropped_packets_total")?;
            let metric = family
                .get_metric()
                .iter()
                .find(|m| m.get_label().iter().any(|l| l.value() == reason))?;
            Some(metric.get_counter().get_value())
        };
        let counters = Arc::new(Counters::default());
        show(&counters);
        let before = value("gate").unwrap();
        counters.dropped(DropReason::Gate);
        assert_eq!(value("gate"), Some(before + 1.0));
    }
}
