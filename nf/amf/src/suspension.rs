//! Whether this process was suspended, such as with its virtual machine, while a procedure ran.
//!
//! The UE of the procedure may have registered at another AMF meanwhile. A context that is stored
//! is protected by its lease; that of a UE which has just arrived is not stored yet, so that its
//! AMF asks the UDM before it registers there.
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime};

/// Longer pauses are suspensions: a UE finds another AMF within some seconds.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// A moment on two clocks: the first one may stand still while the machine is suspended.
#[derive(Clone, Copy)]
struct Moment(Instant, SystemTime);

impl Moment {
    fn now() -> Moment {
        Moment(Instant::now(), SystemTime::now())
    }

    fn since(self, earlier: Moment) -> Duration {
        // A wall clock that was set back has no elapsed time.
        let wall = self.1.duration_since(earlier.1).unwrap_or_default();
        self.0.saturating_duration_since(earlier.0).max(wall)
    }
}

/// The moments at which the process is known to have run.
#[derive(Default)]
pub(crate) struct Suspension(Mutex<State>);

#[derive(Default)]
struct State {
    /// When it was last known to run; `None` before the first time.
    seen: Option<Moment>,
    /// The end of the last suspension.
    resumed: Option<Instant>,
}

impl Suspension {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The process runs. It calls this several times a second.
    pub fn seen(&self) {
        self.seen_at(Moment::now());
    }

    fn seen_at(&self, now: Moment) {
        let mut state = self.state();
        let seen = state.seen.replace(now);
        if seen.is_some_and(|seen| now.since(seen) > LONGEST_PAUSE) {
            state.resumed = Some(now.0);
        }
    }

    /// Whether it was suspended after this moment.
    pub fn is_since(&self, moment: Instant) -> bool {
        self.is_between(moment, Moment::now())
    }

    fn is_between(&self, moment: Instant, now: Moment) -> bool {
        // The caller may run before the task that calls `seen`.
        if self.state().seen.is_some() {
            self.seen_at(now);
        }
        self.state().resumed.is_some_and(|resumed| resumed > moment)
    }

    /// As if the process had been suspended until a moment.
    #[cfg(test)]
    pub fn resume_at(&self, moment: Instant) {
        self.state().resumed = Some(moment);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_pause_is_a_suspension_of_what_began_before() {
        let suspension = Suspension::default();
        let (start, wall) = (Instant::now(), SystemTime::now());
        let ms = Duration::from_millis;
        let at = |time: u64| Moment(start + ms(time), wall + ms(time));
        let is_since = |time: u64, now: Moment| suspension.is_between(start + ms(time), now);
        assert!(!is_since(0, at(5000)), "it is not watched yet");
        suspension.seen_at(at(5000));
        suspension.seen_at(at(6900));
        assert!(!is_since(0, at(8900)));
        // Nothing was seen for more than two seconds.
        assert!(is_since(8950, at(10_901)));
        suspension.seen_at(at(12_000));
        assert!(is_since(8950, at(12_100)) && !is_since(11_000, at(12_100)));
        // The monotonic clock stood still, and later the wall clock is set back.
        assert!(is_since(12_100, Moment(start + ms(12_200), wall + ms(60_000))));
        assert!(!is_since(12_200, at(12_300)));
    }
}
