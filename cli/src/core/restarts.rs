//! Restarts of functions after crashes: in one process, and of the processes of `up --split`.
use prometheus::{IntCounterVec, IntGaugeVec, register_int_counter_vec, register_int_gauge_vec};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Pause before the second restart of a function. It doubles with each further crash.
const FIRST_BACK_OFF: Duration = Duration::from_millis(100);
/// Maximum pause before a restart.
const MAX_BACK_OFF: Duration = Duration::from_secs(30);
/// A function that ran for this long is restarted at once again.
pub const STABLE: Duration = Duration::from_secs(60);

static RUNNING: LazyLock<IntGaugeVec> = LazyLock::new(|| {
    let help = "Whether a function, or its process with one for each function, runs";
    register_int_gauge_vec!("martlet_process_running", help, &["nf"]).expect("registered once")
});

static RESTARTS: LazyLock<IntCounterVec> = LazyLock::new(|| {
    let help =
        "Restarts of a function, or of its process with one for each function, after a crash";
    register_int_counter_vec!("martlet_process_restarts_total", help, &["nf"])
        .expect("registered once")
});

/// The pause before a restart after this many crashes without a stable time between them. There is
/// none after the first one.
pub fn back_off(crashes: u32) -> Duration {
    let Some(further) = crashes.checked_sub(2) else { return Duration::ZERO };
    FIRST_BACK_OFF.saturating_mul(2u32.saturating_pow(further)).min(MAX_BACK_OFF)
}

/// A function, in a process of its own or not.
#[derive(Debug, Clone, Default)]
struct Function {
    /// The ID of its process while it runs.
    pid: Option<u32>,
    /// Restarts since the start of the core.
    restarts: u64,
    /// How it ended the last time.
    last_exit: Option<String>,
    /// The time from its last end until it served again.
    last_restart: Option<Duration>,
}

/// The functions of a core, and their restarts.
#[derive(Clone, Default)]
pub struct Restarts(Arc<Mutex<BTreeMap<&'static str, Function>>>);

impl Restarts {
    fn functions(&self) -> MutexGuard<'_, BTreeMap<&'static str, Function>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The names and process IDs of the functions that run.
    pub fn pids(&self) -> Vec<(&'static str, u32)> {
        let functions = self.functions();
        functions.iter().filter_map(|(name, function)| Some((*name, function.pid?))).collect()
    }

    /// A function has started.
    pub fn started(&self, name: &'static str, pid: Option<u32>) {
        self.functions().entry(name).or_default().pid = pid;
        RUNNING.with_label_values(&[name]).set(1);
        // A counter that exists from the start shows its first event as an increase.
        RESTARTS.with_label_values(&[name]).inc_by(0);
    }

    /// A function has ended, by itself if there is a text.
    pub fn ended(&self, name: &'static str, crash: Option<&str>) {
        let mut functions = self.functions();
        let function = functions.entry(name).or_default();
        function.pid = None;
        RUNNING.with_label_values(&[name]).set(0);
        if let Some(text) = crash {
            function.last_exit = Some(text.to_string());
            function.restarts += 1;
            RESTARTS.with_label_values(&[name]).inc();
        }
    }

    /// A function serves again, this long after its end.
    pub fn served_again(&self, name: &'static str, after: Duration) {
        self.functions().entry(name).or_default().last_restart = Some(after);
    }

    /// What `martlet status` shows.
    pub fn status(&self) -> Value {
        let functions = self.functions();
        let entry = |(name, function): (&&'static str, &Function)| {
            let state = if function.pid.is_some() { "running" } else { "restarting" };
            let ms = function.last_restart.map(|after| after.as_micros() as f64 / 1000.0);
            json!({
                "name": name,
                "state": state,
                "pid": function.pid,
                "restarts": function.restarts,
                "lastExit": function.last_exit,
                "lastRestartMs": ms,
            })
        };
        functions.iter().map(entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_restart_is_at_once_and_the_pause_doubles_up_to_its_maximum() {
        let pauses: Vec<_> = (1..=6).map(|n| back_off(n).as_millis()).collect();
        assert_eq!(pauses, [0, 100, 200, 400, 800, 1600]);
        assert_eq!((back_off(11), back_off(u32::MAX)), (MAX_BACK_OFF, MAX_BACK_OFF));
    }

    #[test]
    fn a_crash_is_counted_and_a_stop_is_not() {
        let restarts = Restarts::default();
        restarts.started("test-restarts", Some(7));
        restarts.ended("test-restarts", Some("main loop panicked"));
        restarts.started("test-restarts", Some(7));
        restarts.served_again("test-restarts", Duration::from_micros(1500));
        restarts.ended("test-restarts", None);
        let expected = json!([{
            "name": "test-restarts", "state": "restarting", "pid": null, "restarts": 1,
            "lastExit": "main loop panicked", "lastRestartMs": 1.5,
        }]);
        assert_eq!(restarts.status(), expected);
        assert_eq!(RESTARTS.with_label_values(&["test-restarts"]).get(), 1);
        assert_eq!(RUNNING.with_label_values(&["test-restarts"]).get(), 0);
    }
}
