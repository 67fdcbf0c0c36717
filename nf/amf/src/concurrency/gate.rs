//! The gate of one kind of procedure: a limit on running ones and a limit on waiting ones, both
//! shared fairly among gNBs.
//!
//! Waiting procedures of a gNB are admitted in order of arrival; the gNBs take turns. When the
//! queue is full, the gNB with the longest queue loses its newest procedure. A procedure that waits
//! for its UE loses its slot to one of a gNB that holds fewer, so a gNB whose UEs do not answer
//! delays its own UEs alone.
use super::Adaptive;
use crate::metrics;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::oneshot;

/// The queue is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Full;

/// The gate.
pub struct Gate(Arc<Inner>);

struct Inner {
    name: &'static str,
    most_waiting: usize,
    state: Mutex<State>,
}

struct State {
    limit: usize,
    adaptive: Option<Adaptive>,
    /// Slots by number.
    slots: BTreeMap<u64, Holder>,
    last_slot: u64,
    /// Waiting procedures by gNB; never an empty queue.
    waiting: BTreeMap<u64, VecDeque<Waiter>>,
    /// Waiting procedures of all gNBs.
    waiters: usize,
    last_waiter: u64,
    /// The gNB that was admitted last.
    served: u64,
}

/// Who holds a slot.
struct Holder {
    gnb: u64,
    /// The procedure waits for its UE.
    idle: bool,
}

struct Waiter {
    number: u64,
    admitted: oneshot::Sender<Slot>,
}

/// A concurrency slot. Dropping it admits the next procedure.
pub struct Slot {
    gate: Arc<Inner>,
    number: u64,
    since: Instant,
}

/// A waiting procedure, removed from the queue when it is cancelled.
struct Waiting {
    gate: Arc<Inner>,
    gnb: u64,
    number: u64,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut state = self.gate.state();
        state.forget(self.gnb, self.number, self.gate.name);
    }
}

impl Gate {
    pub fn new(
        name: &'static str,
        limit: usize,
        most_waiting: usize,
        adaptive: Option<Adaptive>,
    ) -> Self {
        let limit = limit.max(1);
        metrics::procedures_limit(name, limit);
        let state = Mutex::new(State {
            limit,
            adaptive,
            slots: BTreeMap::new(),
            last_slot: 0,
            waiting: BTreeMap::new(),
            waiters: 0,
            last_waiter: 0,
            served: 0,
        });
        Gate(Arc::new(Inner { name, most_waiting, state }))
    }

    /// Waits for a slot for a procedure of a UE of this gNB.
    ///
    /// # Errors
    ///
    /// [`Full`] if the maximum number waits already, and no gNB has more than this one.
    pub async fn enter(&self, gnb: u64) -> Result<Slot, Full> {
        if let Some(number) = self.0.state().take_free(gnb, self.0.name) {
            return Ok(Slot { gate: self.0.clone(), number, since: Instant::now() });
        }
        let (_waiting, admitted) = self.enqueue(gnb)?;
        Inner::admit(&self.0);
        admitted.await.map_err(|_| Full)
    }

    fn enqueue(&self, gnb: u64) -> Result<(Waiting, oneshot::Receiver<Slot>), Full> {
        let mut state = self.0.state();
        let has_slot = state.waiters == 0 && state.idle_slot_for(gnb).is_some();
        if !has_slot && state.waiters >= self.0.most_waiting {
            state.make_room(gnb, self.0.name)?;
        }
        let (sender, receiver) = oneshot::channel();
        state.last_waiter += 1;
        let number = state.last_waiter;
        state.waiting.entry(gnb).or_default().push_back(Waiter { number, admitted: sender });
        state.waiters += 1;
        metrics::procedures_waiting(self.0.name, 1);
        drop(state);
        Ok((Waiting { gate: self.0.clone(), gnb, number }, receiver))
    }

    pub fn status(&self) -> serde_json::Value {
        let state = self.0.state();
        serde_json::json!({
            "limit": state.limit,
            "running": state.slots.len(),
            "waiting": state.waiters,
        })
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits waiting procedures while there are slots for them.
    fn admit(gate: &Arc<Inner>) {
        loop {
            let admitted = gate.state().next(gate.name);
            let Some((number, waiter)) = admitted else { return };
            // If the waiter has disappeared, the slot is dropped and becomes free again.
            let slot = Slot { gate: gate.clone(), number, since: Instant::now() };
            drop(waiter.admitted.send(slot));
        }
    }
}

impl State {
    /// A slot of a procedure that waits for its UE, at a gNB that holds more than this one would.
    fn idle_slot_for(&self, gnb: u64) -> Option<u64> {
        let mut held: BTreeMap<u64, usize> = BTreeMap::new();
        self.slots.values().for_each(|holder| *held.entry(holder.gnb).or_default() += 1);
        let of = |gnb: u64| held.get(&gnb).copied().unwrap_or(0);
        let idle = self.slots.iter().filter(|(_, holder)| holder.idle && holder.gnb != gnb);
        let (max, number) = idle
            .map(|(number, holder)| (of(holder.gnb), *number))
            .max_by_key(|(held, number)| (*held, std::cmp::Reverse(*number)))?;
        (max > of(gnb) + 1).then_some(number)
    }

    /// The next procedure to admit, with its slot.
    fn next(&mut self, name: &'static str) -> Option<(u64, Waiter)> {
        let after = self.waiting.range(self.served.saturating_add(1)..).map(|(gnb, _)| *gnb);
        let order: Vec<u64> =
            after.chain(self.waiting.range(..=self.served).map(|(gnb, _)| *gnb)).collect();
        let gnb = match self.slots.len() < self.limit {
            true => *order.first()?,
            // Only by taking an idle slot of another gNB.
            false => {
                let (gnb, slot) = order
                    .iter()
                    .find_map(|gnb| self.idle_slot_for(*gnb).map(|slot| (*gnb, slot)))?;
                self.slots.remove(&slot);
                metrics::procedures_running(name, -1);
                gnb
            }
        };
        let queue = self.waiting.get_mut(&gnb)?;
        let waiter = queue.pop_front()?;
        if queue.is_empty() {
            self.waiting.remove(&gnb);
        }
        self.waiters -= 1;
        metrics::procedures_waiting(name, -1);
        Some((self.take(gnb, name), waiter))
    }

    /// A slot, if one is free and no procedure is queued.
    fn take_free(&mut self, gnb: u64, name: &'static str) -> Option<u64> {
        (self.waiters == 0 && self.slots.len() < self.limit).then(|| self.take(gnb, name))
    }

    fn take(&mut self, gnb: u64, name: &'static str) -> u64 {
        self.served = gnb;
        self.last_slot += 1;
        self.slots.insert(self.last_slot, Holder { gnb, idle: false });
        metrics::procedures_running(name, 1);
        self.last_slot
    }

    /// Removes the newest procedure of the gNB with the longest queue, if it is longer than that of
    /// this gNB.
    fn make_room(&mut self, gnb: u64, name: &'static str) -> Result<(), Full> {
        let own = self.waiting.get(&gnb).map_or(0, VecDeque::len);
        let longest = self.waiting.iter().max_by_key(|(_, queue)| queue.len());
        let Some((longest, _)) = longest.filter(|(_, queue)| queue.len() > own + 1) else {
            return Err(Full);
        };
        let longest = *longest;
        let newest = self.waiting.get(&longest).and_then(|queue| queue.back());
        if let Some(number) = newest.map(|waiter| waiter.number) {
            self.forget(longest, number, name);
        }
        Ok(())
    }

    /// Removes a waiting procedure.
    fn forget(&mut self, gnb: u64, number: u64, name: &'static str) {
        let Some(queue) = self.waiting.get_mut(&gnb) else { return };
        let Ok(at) = queue.binary_search_by_key(&number, |waiter| waiter.number) else { return };
        queue.remove(at);
        if queue.is_empty() {
            self.waiting.remove(&gnb);
        }
        self.waiters -= 1;
        metrics::procedures_waiting(name, -1);
    }
}

impl Slot {
    /// Marks the procedure as waiting for its UE, or as running again. While it waits, the slot may
    /// go to a procedure of another gNB; this procedure continues without one.
    pub fn set_idle(&self, idle: bool) {
        let mut state = self.gate.state();
        let Some(holder) = state.slots.get_mut(&self.number) else { return };
        holder.idle = idle;
        if idle && state.waiters > 0 {
            drop(state);
            Inner::admit(&self.gate);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let gate = &self.gate;
        let mut state = gate.state();
        if state.slots.remove(&self.number).is_none() {
            // Another procedure has it.
            return;
        }
        metrics::procedures_running(gate.name, -1);
        let (limit, waited_for) = (state.limit, state.waiters > 0);
        if let Some(adaptive) = &mut state.adaptive {
            let after = adaptive.learn(limit, self.since.elapsed(), waited_for);
            if after != limit {
                state.limit = after;
                metrics::procedures_limit(gate.name, after);
            }
        }
        drop(state);
        if waited_for {
            Inner::admit(gate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn procedures_are_admitted_in_order_and_rejected_when_the_queue_is_full() {
        let gate = Arc::new(Gate::new("test_fifo", 2, 2, None));
        let (first, _second) = (gate.enter(1).await.unwrap(), gate.enter(1).await.unwrap());
        let (done, mut order) = tokio::sync::mpsc::unbounded_channel();
        for n in 0..2 {
            let (gate, done) = (gate.clone(), done.clone());
            tokio::spawn(async move {
                let slot = gate.enter(1).await.unwrap();
                done.send(n).unwrap();
                tokio::time::sleep(Duration::from_millis(5)).await;
                drop(slot);
            });
            tokio::task::yield_now().await;
        }
        assert_eq!(gate.status(), serde_json::json!({"limit": 2, "running": 2, "waiting": 2}));
        assert_eq!(gate.enter(1).await.err(), Some(Full));
        drop(first);
        assert_eq!((order.recv().await, order.recv().await), (Some(0), Some(1)));
    }

    #[tokio::test]
    async fn a_cancelled_wait_leaves_the_queue() {
        let gate = Gate::new("test_give_up", 1, 1, None);
        let _slot = gate.enter(1).await.unwrap();
        assert!(tokio::time::timeout(Duration::from_millis(5), gate.enter(1)).await.is_err());
        assert_eq!(gate.status()["waiting"], 0);
    }

    #[tokio::test]
    async fn an_adaptive_gate_gives_all_slots_back() {
        let gate = Gate::new("test_adaptive", 4, 100, Some(Adaptive::new(2)));
        for _ in 0..500 {
            drop(gate.enter(1).await.unwrap());
        }
        assert_eq!(
            (gate.status()["running"].clone(), gate.status()["waiting"].clone()),
            (0.into(), 0.into())
        );
    }

    /// Starts a procedure that waits for a slot, and tells its gNB when it has one.
    fn start(
        gate: &Arc<Gate>,
        gnb: u64,
        admitted_tx: &tokio::sync::mpsc::UnboundedSender<(u64, Result<Slot, Full>)>,
    ) {
        let (gate, admitted_tx) = (gate.clone(), admitted_tx.clone());
        tokio::spawn(async move {
            let entered = gate.enter(gnb).await;
            let _ = admitted_tx.send((gnb, entered));
        });
    }

    #[tokio::test]
    async fn gnbs_take_turns_and_the_longest_queue_loses_its_newest() {
        let gate = Arc::new(Gate::new("test_turns", 1, 4, None));
        let first = gate.enter(1).await.unwrap();
        let (admitted_tx, mut order) = tokio::sync::mpsc::unbounded_channel();
        for gnb in [1, 1, 1, 1, 2, 3] {
            start(&gate, gnb, &admitted_tx);
            tokio::task::yield_now().await;
        }
        // Four may wait: two of gNB 1 have made room.
        for _ in 0..2 {
            let (gnb, entered) = order.recv().await.unwrap();
            assert!(gnb == 1 && entered.is_err());
        }
        drop(first);
        let mut admitted = Vec::new();
        for _ in 0..4 {
            let (gnb, entered) = order.recv().await.unwrap();
            drop(entered.unwrap());
            admitted.push(gnb);
        }
        assert_eq!(admitted, [2, 3, 1, 1]);
        assert_eq!(gate.status(), serde_json::json!({"limit": 1, "running": 0, "waiting": 0}));
    }

    #[tokio::test]
    async fn procedures_that_wait_for_their_ues_lose_slots_to_other_gnbs() {
        let gate = Arc::new(Gate::new("test_idle", 4, 100, None));
        let (admitted_tx, mut order) = tokio::sync::mpsc::unbounded_channel();
        let mut silent = Vec::new();
        for _ in 0..4 {
            let slot = gate.enter(1).await.unwrap();
            slot.set_idle(true);
            silent.push(slot);
        }
        start(&gate, 1, &admitted_tx);
        tokio::task::yield_now().await;
        // A procedure of another gNB has a slot at once, before one of the same gNB.
        let other = gate.enter(2).await.unwrap();
        let another = gate.enter(2).await.unwrap();
        // Both gNBs hold two now: the third of gNB 2 waits.
        assert!(tokio::time::timeout(Duration::from_millis(5), gate.enter(2)).await.is_err());
        assert!(order.try_recv().is_err());
        drop((other, another));
        let (gnb, _slot) = order.recv().await.unwrap();
        assert_eq!(gnb, 1);
        drop(silent);
        assert_eq!(gate.status()["running"], 1, "a slot that was taken is not given back twice");
    }
}
