//! The offload manager: polls the sessions' traffic, and moves sessions between the paths.
//!
//! A session moves to the switch in three steps, without loss, duplicates or reordering: the switch
//! holds its packets; the native UPF forwards those in flight; the switch releases the held packets
//! by the new rules. A session moves back in one step, since the native path is slower.
use super::policy::Sample;
use super::state::{Known, Path, State};
use martlet_upf_datapath::OpenError;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Sessions moved at a time: N4 waits while tables are written.
const BATCH: usize = 256;
/// Time limit for the native UPF to forward packets in flight. The switch holds packets for 250 ms.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(120);
/// A longer gap between two polls does not count as idle time: the native UPF may have had no CPU
/// either.
const MAX_GAP: Duration = Duration::from_millis(4);
/// Interval of checks of the next hops.
const HOP_INTERVAL: Duration = Duration::from_secs(1);

/// Minimum time since N4's last change of a session before it moves to the switch: procedures
/// change it several times in a row, and each change moves it back.
const SETTLED_AFTER: Duration = Duration::from_millis(30);

/// Signals the manager's thread to end.
#[derive(Default)]
struct StopSignal {
    end: Mutex<bool>,
    changed: Condvar,
}

/// The manager's thread, which ends when this is dropped.
pub(super) struct Manager {
    stop: Arc<StopSignal>,
    thread: Option<JoinHandle<()>>,
}

pub(super) fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Manager {
    pub fn start(state: &Arc<Mutex<State>>) -> Result<Manager, OpenError> {
        let stop = Arc::<StopSignal>::default();
        let (state, stop_in_thread) = (state.clone(), stop.clone());
        let thread = std::thread::Builder::new()
            .name("upf-offload".into())
            .spawn(move || run(&state, &stop_in_thread));
        let thread = thread.map_err(OpenError::Threads)?;
        Ok(Manager { stop, thread: Some(thread) })
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        *self.stop.end.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl StopSignal {
    /// Waits for a time; returns false at the end.
    fn wait(&self, time: Duration) -> bool {
        let end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(end, time, |end| !*end);
        !*waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

fn run(state: &Mutex<State>, stop: &StopSignal) {
    let sample = lock(state).config.sample();
    let mut hops = Instant::now();
    let mut pause = Duration::ZERO;
    while stop.wait(pause) {
        let began = Instant::now();
        let on = poll(state, &mut hops);
        for chunk in on.chunks(BATCH) {
            move_on(state, chunk);
        }
        // At most half of the time is spent with the lock, for which N4 waits.
        pause = sample.max(began.elapsed());
    }
}

/// Polls all sessions, withdraws those that have to leave the switch, and returns those to offload.
fn poll(state: &Mutex<State>, hops: &mut Instant) -> Vec<u64> {
    let state = &mut *lock(state);
    if !state.connected && !state.connect() {
        return Vec::new();
    }
    state.renew_isolation();
    if !state.poll_all() {
        return Vec::new();
    }
    state.report_thresholds();
    if hops.elapsed() >= HOP_INTERVAL {
        *hops = Instant::now();
        state.renew_hops();
    }
    let mut seids: Vec<u64> = state.known.keys().copied().collect();
    seids.sort_unstable();
    let mut samples = Vec::with_capacity(seids.len());
    for seid in seids {
        let near = state.is_near_quota(seid);
        let forwarded = state.native.forwarded(seid);
        let Some(known) = state.known.get_mut(&seid) else { continue };
        let more = |at: usize| forwarded[at].saturating_sub(known.sampled[at]);
        // Bytes counted after a longer poll interval are spread over its samples.
        let switch_bytes =
            std::mem::take(&mut known.switch_bytes) / u64::from(state.samples_covered);
        let bytes = more(0) + more(1) + switch_bytes;
        known.sampled = forwarded;
        let on_switch = matches!(known.path, Path::Switch(_));
        let settled = on_switch || known.changed.elapsed() >= SETTLED_AFTER;
        samples.push(Sample { seid, bytes, on_switch, eligible: known.wanted && settled && !near });
    }
    let decision = state.policy.decide(Instant::now(), &samples);
    state.withdraw(&decision.off);
    decision.on
}

fn move_on(state: &Mutex<State>, seids: &[u64]) {
    let (held, started) = {
        let state = &mut *lock(state);
        let ready = state.prepare(seids);
        // Sessions without any packet so far have none in flight.
        let (fresh, used): (Vec<u64>, Vec<u64>) =
            ready.into_iter().partition(|seid| state.native.forwarded(*seid) == [0; 2]);
        if !fresh.is_empty() {
            state.activate(&fresh, false);
        }
        let held = if used.is_empty() { used } else { state.hold(used) };
        (held, Instant::now())
    };
    if held.is_empty() {
        return;
    }
    let settle = Duration::from_millis(lock(state).config.settle_ms);
    let mut waiting: Vec<(u64, IdleTime)> =
        held.iter().map(|seid| (*seid, IdleTime::default())).collect();
    let mut quiet = Vec::new();
    while !waiting.is_empty() && started.elapsed() < DRAIN_TIMEOUT {
        let asleep = Instant::now();
        std::thread::sleep(Duration::from_millis(1));
        let state = lock(state);
        let step = asleep.elapsed();
        waiting.retain_mut(|(seid, idle_time)| {
            let finished = idle_time.update(state.native.forwarded(*seid), step) >= settle;
            if finished {
                quiet.push(*seid);
            }
            !finished
        });
    }
    let state = &mut *lock(state);
    let moving =
        |seid: &u64| matches!(state.known.get(seid), Some(Known { path: Path::Moving(_), .. }));
    let still: Vec<u64> = quiet.into_iter().filter(moving).collect();
    // Sessions whose packets the native UPF does not finish return to it in order, and are retried
    // later.
    let busy: Vec<u64> = waiting.iter().map(|(seid, _)| *seid).filter(moving).collect();
    state.withdraw(&busy);
    for seid in busy {
        state.retry(seid, "the native UPF has not forwarded all of its packets in time");
    }
    if !still.is_empty() {
        state.activate(&still, true);
    }
}

/// The time for which the native UPF has forwarded no packet of a session, by timely polls.
#[derive(Debug, Default)]
struct IdleTime {
    seen: [u64; 2],
    lasts: Duration,
}

impl IdleTime {
    /// Adds a poll `step` after the last one. If the machine stalled, the native UPF stalled as
    /// well, so the idle time starts again.
    fn update(&mut self, forwarded: [u64; 2], step: Duration) -> Duration {
        let silent = forwarded == self.seen && step <= MAX_GAP;
        self.seen = forwarded;
        self.lasts = if silent { self.lasts + step } else { Duration::ZERO };
        self.lasts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stalled_machine_is_no_idle_time() {
        let ms = Duration::from_millis;
        let mut idle_time = IdleTime::default();
        assert_eq!(idle_time.update([5, 0], ms(1)), ms(0));
        (1..=9).for_each(|n| assert_eq!(idle_time.update([5, 0], ms(1)), ms(n)));
        assert_eq!(idle_time.update([5, 0], ms(500)), ms(0));
        assert_eq!(idle_time.update([5, 0], ms(2)), ms(2));
        assert_eq!(idle_time.update([5, 1], ms(2)), ms(0));
    }
}
