//! The gate of one kind of procedure: a limit on running ones and a limit on waiting ones.
use super::Adaptive;
use crate::metrics;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The queue is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

/// The gate.
pub struct Gate(Arc<Inner>);

struct Inner {
    name: &'static str,
    /// FIFO.
    slots: Arc<Semaphore>,
    limit: AtomicUsize,
    running: AtomicUsize,
    waiting: AtomicUsize,
    most_waiting: usize,
    adaptive: Option<Mutex<Adaptive>>,
}

/// A concurrency slot. Dropping it admits the next procedure.
pub struct Slot {
    gate: Arc<Inner>,
    since: Instant,
    _permit: OwnedSemaphorePermit,
}

/// A waiting procedure, counted until it is admitted or cancelled.
struct Waiting(Arc<Inner>);

impl Waiting {
    fn new(gate: &Arc<Inner>) -> Result<Self, Full> {
        let take = |n: usize| (n < gate.most_waiting).then_some(n + 1);
        gate.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).map_err(|_| Full)?;
        metrics::procedures_waiting(gate.name, 1);
        Ok(Waiting(gate.clone()))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
        metrics::procedures_waiting(self.0.name, -1);
    }
}

impl Gate {
    pub fn new(
        name: &'static str,
        limit: usize,
        most_waiting: usize,
        adaptive: Option<Adaptive>,
    ) -> Self {
        let limit = limit.clamp(1, Semaphore::MAX_PERMITS);
        metrics::procedures_limit(name, limit);
        Gate(Arc::new(Inner {
            name,
            slots: Arc::new(Semaphore::new(limit)),
            limit: AtomicUsize::new(limit),
            running: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            most_waiting,
            adaptive: adaptive.map(Mutex::new),
        }))
    }

    /// Waits for a slot in order of arrival.
    ///
    /// # Errors
    ///
    /// [`Full`] if the maximum number waits already.
    pub async fn enter(&self) -> Result<Slot, Full> {
        let permit = match self.0.slots.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                let _waiting = Waiting::new(&self.0)?;
                self.0.slots.clone().acquire_owned().await.map_err(|_| Full)?
            }
        };
        self.0.running.fetch_add(1, Ordering::Relaxed);
        metrics::procedures_running(self.0.name, 1);
        Ok(Slot { gate: self.0.clone(), since: Instant::now(), _permit: permit })
    }

    pub fn status(&self) -> serde_json::Value {
        let load = |n: &AtomicUsize| n.load(Ordering::Relaxed);
        let gate = &self.0;
        serde_json::json!({
            "limit": load(&gate.limit),
            "running": load(&gate.running),
            "waiting": load(&gate.waiting),
        })
    }
}

impl Inner {
    /// Adjusts the limit by the duration of a procedure.
    fn learn(&self, slot: &Slot) {
        let Some(adaptive) = &self.adaptive else { return };
        let waited_for = self.waiting.load(Ordering::Relaxed) > 0;
        let before = self.limit.load(Ordering::Relaxed);
        let mut adaptive = adaptive.lock().unwrap_or_else(|e| e.into_inner());
        let after = adaptive.learn(before, slot.since.elapsed(), waited_for);
        match after.checked_sub(before) {
            Some(more) => self.slots.add_permits(more),
            // Running procedures keep their slots: free ones are removed now, the others as
            // procedures end.
            None => {
                let gone = self.slots.forget_permits(before - after);
                self.limit.store(before - gone, Ordering::Relaxed);
                return metrics::procedures_limit(self.name, before - gone);
            }
        }
        self.limit.store(after, Ordering::Relaxed);
        metrics::procedures_limit(self.name, after);
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.gate.learn(self);
        self.gate.running.fetch_sub(1, Ordering::Relaxed);
        metrics::procedures_running(self.gate.name, -1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn procedures_are_admitted_in_order_and_rejected_when_the_queue_is_full() {
        let gate = Arc::new(Gate::new("test_fifo", 2, 2, None));
        let (first, _second) = (gate.enter().await.unwrap(), gate.enter().await.unwrap());
        let (done, mut order) = tokio::sync::mpsc::unbounded_channel();
        for n in 0..2 {
            let (gate, done) = (gate.clone(), done.clone());
            tokio::spawn(async move {
                let slot = gate.enter().await.unwrap();
                done.send(n).unwrap();
                tokio::time::sleep(Duration::from_millis(5)).await;
                drop(slot);
            });
            tokio::task::yield_now().await;
        }
        assert_eq!(gate.status(), serde_json::json!({"limit": 2, "running": 2, "waiting": 2}));
        assert_eq!(gate.enter().await.err(), Some(Full));
        drop(first);
        assert_eq!((order.recv().await, order.recv().await), (Some(0), Some(1)));
    }

    #[tokio::test]
    async fn a_cancelled_wait_leaves_the_queue() {
        let gate = Gate::new("test_give_up", 1, 1, None);
        let _slot = gate.enter().await.unwrap();
        assert!(tokio::time::timeout(Duration::from_millis(5), gate.enter()).await.is_err());
        assert_eq!(gate.status()["waiting"], 0);
    }

    #[tokio::test]
    async fn an_adaptive_gate_has_as_many_slots_as_its_limit() {
        let gate = Gate::new("test_adaptive", 4, 100, Some(Adaptive::new(2)));
        for _ in 0..500 {
            drop(gate.enter().await.unwrap());
        }
        let limit = gate.status()["limit"].as_u64().unwrap() as usize;
        assert_eq!(gate.0.slots.available_permits(), limit, "slots equal the limit");
    }
}
