//! The offload manager: looks at what sessions carry, and moves them.
//!
//! A session moves onto the switch in three steps, so that no packet of it is lost, doubled or
//! overtaken: its packets wait at the switch; the native UPF finishes those that it has; the switch
//! goes on with those that wait, by their rules. Off the switch it moves in one, since the native
//! path is the longer one.
use super::policy::Sample;
use super::state::{Known, Place, State};
use martlet_upf_datapath::OpenError;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Sessions that move at a time: N4 waits while tables are written.
const AT_A_TIME: usize = 256;
/// How long the native UPF may take to finish what it has of a session. The switch holds packets
/// for 250 ms.
const LONGEST_DRAIN: Duration = Duration::from_millis(120);
/// Silence of the native UPF says nothing where this thread was kept from looking for longer: so
/// was the UPF, then.
const LATE: Duration = Duration::from_millis(4);
/// Neighbours are looked at again after this time.
const HOPS: Duration = Duration::from_secs(1);

/// How long N4 has to leave a session alone before it moves onto the switch: procedures change it
/// some times in a row, and each change takes it off again.
const CHANGED: Duration = Duration::from_millis(30);

/// What tells the manager that it is to end.
#[derive(Default)]
struct Bell {
    end: Mutex<bool>,
    changed: Condvar,
}

/// The manager's thread; it ends with this.
pub(super) struct Manager {
    bell: Arc<Bell>,
    thread: Option<JoinHandle<()>>,
}

pub(super) fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Manager {
    pub fn start(state: &Arc<Mutex<State>>) -> Result<Manager, OpenError> {
        let bell = Arc::<Bell>::default();
        let (state, its_bell) = (state.clone(), bell.clone());
        let thread = std::thread::Builder::new()
            .name("upf-offload".into())
            .spawn(move || run(&state, &its_bell));
        let thread = thread.map_err(|error| OpenError::Threads(error.to_string()))?;
        Ok(Manager { bell, thread: Some(thread) })
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        *self.bell.end.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.bell.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Bell {
    /// Waits for a time; false at the end.
    fn wait(&self, time: Duration) -> bool {
        let end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(end, time, |end| !*end);
        !*waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

fn run(state: &Mutex<State>, bell: &Bell) {
    let sample = lock(state).config.sample();
    let mut hops = Instant::now();
    let mut pause = Duration::ZERO;
    while bell.wait(pause) {
        let began = Instant::now();
        let on = look(state, &mut hops);
        for chunk in on.chunks(AT_A_TIME) {
            move_on(state, chunk);
        }
        // It looks half of the time at most: N4 waits while a look has the sessions.
        pause = sample.max(began.elapsed());
    }
}

/// Looks at all sessions, takes off what is to go, and gives what is to come.
fn look(state: &Mutex<State>, hops: &mut Instant) -> Vec<u64> {
    let state = &mut *lock(state);
    if !state.connected && !state.connect() {
        return Vec::new();
    }
    if !state.settle_all() {
        return Vec::new();
    }
    state.tell_thresholds();
    if hops.elapsed() >= HOPS {
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
        let more = |at: usize| forwarded[at].saturating_sub(known.seen[at]);
        // What was carried in a rest did not come at once.
        let carried = std::mem::take(&mut known.carried) / u64::from(state.spread);
        let bytes = more(0) + more(1) + carried;
        known.seen = forwarded;
        let on_switch = matches!(known.place, Place::Switch(_));
        let settled = on_switch || known.changed.elapsed() >= CHANGED;
        samples.push(Sample { seid, bytes, on_switch, eligible: known.wanted && settled && !near });
    }
    let decision = state.policy.look(Instant::now(), &samples);
    state.take_off(&decision.off);
    decision.on
}

fn move_on(state: &Mutex<State>, seids: &[u64]) {
    let (held, started) = {
        let state = &mut *lock(state);
        let ready = state.prepare(seids);
        // Those that have never had a packet have none under way.
        let (fresh, used): (Vec<u64>, Vec<u64>) =
            ready.into_iter().partition(|seid| state.native.forwarded(*seid) == [0; 2]);
        if !fresh.is_empty() {
            state.put_on(&fresh, false);
        }
        let held = if used.is_empty() { used } else { state.hold(used) };
        (held, Instant::now())
    };
    if held.is_empty() {
        return;
    }
    let settle = Duration::from_millis(lock(state).config.settle_ms);
    let mut waiting: Vec<(u64, Silence)> =
        held.iter().map(|seid| (*seid, Silence::default())).collect();
    let mut quiet = Vec::new();
    while !waiting.is_empty() && started.elapsed() < LONGEST_DRAIN {
        let asleep = Instant::now();
        std::thread::sleep(Duration::from_millis(1));
        let state = lock(state);
        let step = asleep.elapsed();
        waiting.retain_mut(|(seid, silence)| {
            let finished = silence.look(state.native.forwarded(*seid), step) >= settle;
            if finished {
                quiet.push(*seid);
            }
            !finished
        });
    }
    let state = &mut *lock(state);
    let moving =
        |seid: &u64| matches!(state.known.get(seid), Some(Known { place: Place::Moving(_), .. }));
    let still: Vec<u64> = quiet.into_iter().filter(moving).collect();
    // What the native UPF does not come to an end with goes back to it, in order, and is tried
    // again later.
    let busy: Vec<u64> = waiting.iter().map(|(seid, _)| *seid).filter(moving).collect();
    state.take_off(&busy);
    for seid in busy {
        state.retry(seid, "the native UPF does not come to an end with its packets".into());
    }
    if !still.is_empty() {
        state.put_on(&still, true);
    }
}

/// For how long the native UPF has forwarded nothing of a session, by looks that came in time.
#[derive(Debug, Default)]
struct Silence {
    seen: [u64; 2],
    lasts: Duration,
}

impl Silence {
    /// What it has forwarded, `step` after the look before. A machine that stood still has kept the
    /// native UPF from its packets, too: it has to be silent from then on.
    fn look(&mut self, forwarded: [u64; 2], step: Duration) -> Duration {
        let silent = forwarded == self.seen && step <= LATE;
        self.seen = forwarded;
        self.lasts = if silent { self.lasts + step } else { Duration::ZERO };
        self.lasts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_stood_still_is_no_silence() {
        let ms = Duration::from_millis;
        let mut silence = Silence::default();
        assert_eq!(silence.look([5, 0], ms(1)), ms(0));
        (1..=9).for_each(|n| assert_eq!(silence.look([5, 0], ms(1)), ms(n)));
        assert_eq!(silence.look([5, 0], ms(500)), ms(0));
        assert_eq!(silence.look([5, 0], ms(2)), ms(2));
        assert_eq!(silence.look([5, 1], ms(2)), ms(0));
    }
}
