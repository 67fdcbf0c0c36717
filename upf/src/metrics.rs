//! Metrics of the UPF.
use crate::counters::{Counters, DropReason};
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{
    IntCounter, IntCounterVec, IntGauge, Opts, register_int_counter, register_int_counter_vec,
    register_int_gauge,
};
use std::sync::{Arc, LazyLock, Mutex, Once, PoisonError, Weak};

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
pub(crate) fn register() {
    register_vecs();
    LazyLock::force(&N4_REPEATED);
    LazyLock::force(&SESSIONS);
    LazyLock::force(&ASSOCIATIONS);
}

/// The counters of all datapaths of this process, added up when someone asks, so that a packet is
/// counted once only.
static DATAPATHS: Mutex<Vec<Weak<Counters>>> = Mutex::new(Vec::new());

/// Shows the counters of a datapath for as long as it lives.
pub(crate) fn show(counters: &Arc<Counters>) {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        if let Err(error) = prometheus::register(Box::new(Packets::new())) {
            tracing::error!(%error, "the counters of packets are not among the metrics");
        }
    });
    let mut all = DATAPATHS.lock().unwrap_or_else(PoisonError::into_inner);
    all.retain(|counters| counters.strong_count() > 0);
    all.push(Arc::downgrade(counters));
}

struct Packets {
    events: IntCounterVec,
    drops: IntCounterVec,
}

impl Packets {
    fn new() -> Self {
        let vec = |name: &str, help: &str, label: &str| {
            IntCounterVec::new(Opts::new(name, help), &[label]).expect("constants that fit")
        };
        Packets {
            events: vec(
                "martlet_upf_datapath_total",
                "What the datapath has done, in packets or octets",
                "what",
            ),
            drops: vec("martlet_upf_dropped_packets_total", "Packets not forwarded", "reason"),
        }
    }
}

impl Collector for Packets {
    fn desc(&self) -> Vec<&Desc> {
        [self.events.desc(), self.drops.desc()].concat()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let mut all = DATAPATHS.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|counters| counters.strong_count() > 0);
        let alive: Vec<Arc<Counters>> = all.iter().filter_map(Weak::upgrade).collect();
        drop(all);
        self.events.reset();
        self.drops.reset();
        for counters in alive {
            for (name, value) in counters.named() {
                self.events.with_label_values(&[name]).inc_by(value);
            }
            for reason in DropReason::ALL {
                self.drops.with_label_values(&[reason.name()]).inc_by(counters.drops(reason).get());
            }
        }
        [self.events.collect(), self.drops.collect()].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_among_the_metrics_while_their_datapath_lives() {
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
