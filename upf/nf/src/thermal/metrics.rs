//! Board and governor among the metrics.
use super::Board;
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{
    Gauge, GaugeVec, IntCounterVec, Opts, register_gauge, register_gauge_vec,
    register_int_counter_vec,
};
use std::sync::{Arc, LazyLock, Mutex, Once, PoisonError, Weak};

macro_rules! gauges {
    ($($name:ident = $metric:literal, $help:literal;)*) => {$(
        pub(super) static $name: LazyLock<Gauge> =
            LazyLock::new(|| register_gauge!($metric, $help).expect("registered once"));
    )*};
}

gauges! {
    SET_POINT = "martlet_governor_set_point_celsius",
        "Temperature that the governor keeps the board below";
    PREDICTED = "martlet_governor_predicted_celsius",
        "Predicted temperature at the end of the window at the current load";
    ALLOWED = "martlet_governor_allowed_load_ratio",
        "CPU load at which the board stays below the set point";
    BATCHING = "martlet_governor_batching", "1 while packets are processed in batches";
}
pub(super) static LIMIT: LazyLock<GaugeVec> = LazyLock::new(|| {
    let help = "Rate limit of a flow class in bits per second; -1 for no limit";
    register_gauge_vec!("martlet_governor_limit_bits_per_second", help, &["class"])
        .expect("registered once")
});
pub(super) static MODEL: LazyLock<GaugeVec> = LazyLock::new(|| {
    let help = "Thermal model of the board: time constant in seconds, temperature rise at full \
                load in kelvin, idle temperature in degrees Celsius";
    register_gauge_vec!("martlet_governor_model", help, &["parameter"]).expect("registered once")
});
pub(super) static ACTIONS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    register_int_counter_vec!(
        "martlet_governor_actions_total",
        "Actions of the governor",
        &["action"]
    )
    .expect("registered once")
});

/// Classes of flows by how much they matter, in the order of their numbers.
pub(super) const CLASS_NAMES: [&str; 3] = ["guaranteed", "lowest", "other"];

static BOARD: Mutex<Weak<Board>> = Mutex::new(Weak::new());

/// Exports the metrics of a board while it exists; of the last one if there are several.
pub(super) fn show(board: &Arc<Board>) {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        if let Err(error) = prometheus::register(Box::new(Sensed::new())) {
            tracing::error!(%error, "board metrics not registered");
        }
    });
    *BOARD.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(board);
}

struct Sensed {
    cpu: GaugeVec,
    memory: GaugeVec,
    temperature: GaugeVec,
    frequency: GaugeVec,
    power: GaugeVec,
    collecting: Mutex<()>,
}

impl Sensed {
    fn new() -> Self {
        let gauge = |name: &str, help: &str, labels: &[&str]| {
            GaugeVec::new(Opts::new(name, help), labels).expect("constants that fit")
        };
        Sensed {
            cpu: gauge("martlet_board_cpu_ratio", "CPU time in use, 0 to 1", &[]),
            memory: gauge("martlet_board_memory_bytes", "Memory of the board in bytes", &["kind"]),
            temperature: gauge(
                "martlet_board_temperature_celsius",
                "Temperatures of the board",
                &["sensor"],
            ),
            frequency: gauge("martlet_board_frequency_hertz", "CPU frequencies", &["cpu"]),
            power: gauge("martlet_board_power_watts", "Power draw of the board", &["sensor"]),
            collecting: Mutex::new(()),
        }
    }

    fn all(&self) -> [&GaugeVec; 5] {
        [&self.cpu, &self.memory, &self.temperature, &self.frequency, &self.power]
    }
}

impl Collector for Sensed {
    fn desc(&self) -> Vec<&Desc> {
        self.all().into_iter().flat_map(Collector::desc).collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        // One scrape at a time: a concurrent one would find the readings taken.
        let _one = self.collecting.lock().unwrap_or_else(PoisonError::into_inner);
        let board = BOARD.lock().unwrap_or_else(PoisonError::into_inner).upgrade();
        self.all().into_iter().for_each(GaugeVec::reset);
        if let Some(reading) = board.map(|board| board.reading()) {
            if let Some(share) = reading.cpu {
                self.cpu.with_label_values::<&str>(&[]).set(share);
            }
            if let Some((all, available)) = reading.memory {
                self.memory.with_label_values(&["all"]).set(all as f64);
                self.memory.with_label_values(&["available"]).set(available as f64);
            }
            let of = [
                (&self.temperature, &reading.temperatures),
                (&self.frequency, &reading.frequencies),
                (&self.power, &reading.power),
            ];
            for (gauge, values) in of {
                for (name, value) in values {
                    gauge.with_label_values(&[name.as_str()]).set(*value);
                }
            }
        }
        self.all().into_iter().flat_map(Collector::collect).collect()
    }
}
