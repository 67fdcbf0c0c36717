//! What the tasks of the board share.
use super::Board;
use super::metrics::CLASS_NAMES;
use martlet_board::Decision;
use martlet_board::governor::CLASSES;
use martlet_upf_n4::N4;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The governor's view of the datapath, and its state for other tasks.
pub(crate) struct Shared {
    pub n4: Weak<Mutex<N4>>,
    pub board: Arc<Board>,
    pub batching: AtomicBool,
    pub decision: Mutex<Option<(Decision, f64)>>,
    pub throttled_ms: AtomicU64,
}

impl Shared {
    /// Bytes that each class has forwarded.
    pub fn bytes(&self) -> [u64; CLASSES] {
        let n4 = self.n4.upgrade();
        n4.map_or([0; CLASSES], |n4| {
            n4.lock().unwrap_or_else(PoisonError::into_inner).class_bytes()
        })
    }

    pub fn set_throttled(&self, seconds: f64) {
        self.throttled_ms.store((seconds * 1000.0) as u64, Ordering::Relaxed);
    }

    /// Milliseconds that a simulated board throttled.
    #[cfg(test)]
    pub fn throttled_ms(&self) -> u64 {
        self.throttled_ms.load(Ordering::Relaxed)
    }

    /// The governor's state for status and metrics.
    pub fn top(&self) -> Value {
        let Some((decision, set_point)) =
            *self.decision.lock().unwrap_or_else(PoisonError::into_inner)
        else {
            return Value::Null;
        };
        let limits: serde_json::Map<String, Value> = CLASS_NAMES
            .iter()
            .zip(decision.limits)
            .filter_map(|(name, limit)| Some((name.to_string(), limit?.into())))
            .collect();
        let state = match decision.acts() {
            true => {
                format!("acts, {:.1} °C ahead, set point {set_point:.1} °C", decision.predicted)
            }
            false => {
                format!("rests, {:.1} °C ahead, set point {set_point:.1} °C", decision.predicted)
            }
        };
        json!({
            "state": state, "predicted": decision.predicted, "setPoint": set_point,
                "allowedLoad": decision.allowed,
            "batching": decision.batching, "limits": limits,
            "simulatedThrottledMs": self.throttled_ms.load(Ordering::Relaxed),
        })
    }
}
