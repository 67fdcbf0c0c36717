//! The board of the UPF: its sensors' metrics, a simulated board where it has none, and the thermal
//! governor.
mod metrics;
mod shared;
mod simulated;
mod task;

pub(crate) use shared::Shared;
pub(crate) use task::run;

use martlet_board::{Reading, Sensors};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Within this time, the last reading is returned.
const FRESH: Duration = Duration::from_millis(200);

/// Sensors shared by several readers.
pub(crate) struct Board(Mutex<(Sensors, Reading, Option<Instant>)>);

impl Board {
    /// The board with the sensors below a root folder; its metrics are exported until it is
    /// dropped.
    pub fn new(root: PathBuf) -> Arc<Board> {
        let board = Arc::new(Board(Mutex::new((Sensors::at(root), Reading::default(), None))));
        board.read_unless_fresh(Duration::ZERO);
        metrics::show(&board);
        board
    }

    fn read_unless_fresh(&self, fresh: Duration) -> Reading {
        let (sensors, last, at) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if at.is_none_or(|at| at.elapsed() >= fresh) {
            let cpu = last.cpu;
            *last = sensors.read();
            // Two readings within one clock tick have no CPU load.
            last.cpu = last.cpu.or(cpu);
            *at = Some(Instant::now());
        }
        last.clone()
    }

    /// Reads the sensors now.
    pub fn read_now(&self) -> Reading {
        self.read_unless_fresh(Duration::ZERO)
    }

    /// The sensors' readings.
    pub fn reading(&self) -> Reading {
        self.read_unless_fresh(FRESH)
    }

    /// The same, for `martlet top`.
    pub fn top(&self) -> Value {
        let reading = self.reading();
        json!({
            "cpu": reading.cpu, "memory": reading.memory_used(), "temperature": reading.hottest(),
            "frequency": reading.frequency(), "power": reading.watts(),
        })
    }
}
