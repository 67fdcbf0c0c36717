//! The board under the UPF: its sensors among the metrics, a simulated one where there is none, and
//! the thermal governor.
mod metrics;
mod simulated;
mod task;

pub(crate) use task::{Shared, run};

use martlet_board::{Reading, Sensors};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Whoever asks sooner gets the last reading again.
const FRESH: Duration = Duration::from_millis(200);

/// Sensors that several look at.
pub(crate) struct Board(Mutex<(Sensors, Reading, Option<Instant>)>);

impl Board {
    /// The board with its sensors below a root; it is among the metrics for as long as somebody
    /// keeps it.
    pub fn new(root: PathBuf) -> Arc<Board> {
        let board = Arc::new(Board(Mutex::new((Sensors::at(root), Reading::default(), None))));
        board.look(Duration::ZERO);
        metrics::show(&board);
        board
    }

    fn look(&self, fresh: Duration) -> Reading {
        let (sensors, last, at) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if at.is_none_or(|at| at.elapsed() >= fresh) {
            let cpu = last.cpu;
            *last = sensors.read();
            // Two readings within one tick of the clock say nothing of the CPU.
            last.cpu = last.cpu.or(cpu);
            *at = Some(Instant::now());
        }
        last.clone()
    }

    /// What its sensors say at this moment.
    pub fn look_now(&self) -> Reading {
        self.look(Duration::ZERO)
    }

    /// What its sensors say.
    pub fn reading(&self) -> Reading {
        self.look(FRESH)
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
