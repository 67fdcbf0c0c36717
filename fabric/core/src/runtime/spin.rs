//! Whether a process polls for a while before it sleeps. A wakeup costs more than most responses
//! take, but polling occupies a CPU that another process might need.
use super::cpu_affinity;
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a process polls before it sleeps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spin {
    /// Up to 100 µs while the process may use more than one CPU, no other process waits for the
    /// CPU, and polling has succeeded lately; else not at all.
    #[default]
    Auto,
    /// Not at all.
    Off,
    /// Always this number of microseconds.
    Micros(u32),
}

/// Maximum time of polling with [`Spin::Auto`]. A wakeup of another CPU takes 20 to 45 µs on
/// virtual machines, and the first response comes from a process that has to be woken. A shorter
/// limit would never reach the state in which both processes stay awake.
const MAX_POLL: Duration = Duration::from_micros(100);
/// How long no link polls after another process took the CPU: the first time, and at most.
const BACKOFF_MIN: Duration = Duration::from_millis(1);
const BACKOFF_MAX: Duration = Duration::from_millis(50);
/// A process of the fabric returns a yielded CPU sooner than this. If it takes longer, other work
/// runs on the CPU, which would delay this process at each yield; sleeping is faster then.
const FOREIGN_WORK: Duration = Duration::from_micros(150);
/// A yield takes longer than this only if another thread ran.
const YIELD_TAKEN: Duration = Duration::from_nanos(1200);
/// Interval between two moves to another CPU.
const MOVE_INTERVAL_MIN: Duration = Duration::from_millis(2);
const MOVE_INTERVAL_MAX: Duration = Duration::from_secs(2);
/// Upper limit of the success score.
const MAX_SCORE: u8 = 8;
/// With a score of 0, polling is tried once in so many waits.
const RETRY_INTERVAL: u8 = 32;

/// Number of CPUs that this process may use.
static CPUS: LazyLock<usize> = LazyLock::new(|| {
    let set = nix::sched::sched_getaffinity(Pid::from_raw(0));
    set.map_or(1, |set| {
        (0..nix::sched::CpuSet::count()).filter(|n| set.is_set(*n).unwrap_or(false)).count()
    })
});

/// Shared by all links of the process.
static BACKOFF: Backoff = Backoff::new();
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

fn micros(at: Instant) -> u64 {
    at.saturating_duration_since(*START).as_micros() as u64
}

/// Suspends polling while another process needs the CPU. The time doubles if that repeats soon.
struct Backoff {
    /// In µs since [`START`].
    until: AtomicU64,
    /// The last back-off, in µs.
    last: AtomicU64,
}

impl Backoff {
    const fn new() -> Self {
        Backoff { until: AtomicU64::new(0), last: AtomicU64::new(0) }
    }

    fn is_active(&self, now: u64) -> bool {
        now < self.until.load(Ordering::Relaxed)
    }

    /// Another process used the CPU for longer than [`FOREIGN_WORK`].
    fn extend(&self, now: u64) {
        let (until, last) = (self.until.load(Ordering::Relaxed), self.last.load(Ordering::Relaxed));
        let repeated = now < until + 8 * last;
        let max = BACKOFF_MAX.as_micros() as u64;
        let next = if repeated { (2 * last).min(max) } else { BACKOFF_MIN.as_micros() as u64 };
        self.last.store(next, Ordering::Relaxed);
        self.until.store(now + next, Ordering::Relaxed);
    }
}

/// Whether polling has succeeded lately, for one kind of waiting.
struct History {
    score: u8,
    skipped: u8,
}

impl History {
    fn should_poll(&mut self) -> bool {
        if self.score > 0 {
            return true;
        }
        self.skipped = (self.skipped + 1) % RETRY_INTERVAL;
        self.skipped == 0
    }
}

/// Moves this thread away from a CPU that it shares with another busy thread. Two processes that
/// communicate are faster on two CPUs, but the kernel sees them alternate and may leave both on one
/// for seconds.
struct CpuPlacement {
    taken_in_row: u32,
    /// Number of taken yields in a row before a move. Differs between processes, so that only one
    /// of two moves.
    threshold: u32,
    interval: Duration,
    next_move: Option<Instant>,
}

impl CpuPlacement {
    fn new() -> Self {
        CpuPlacement {
            taken_in_row: 0,
            threshold: 16 + std::process::id() % 7 * 8,
            interval: MOVE_INTERVAL_MIN,
            next_move: None,
        }
    }

    /// Records a yield; `taken`: another thread ran.
    fn record_yield(&mut self, now: Instant, taken: bool) {
        if !taken {
            self.taken_in_row = 0;
            return;
        }
        self.taken_in_row += 1;
        if self.taken_in_row < self.threshold {
            return;
        }
        self.taken_in_row = 0;
        if self.next_move.is_some_and(|next| now < next) {
            return;
        }
        if self.next_move.is_some_and(|next| now > next + 8 * self.interval) {
            // The last move was effective.
            self.interval = MOVE_INTERVAL_MIN;
        }
        move_to_other_cpu();
        self.next_move = Some(now + self.interval);
        // If all CPUs are shared, moving does not help.
        self.interval = (self.interval * 2).min(MOVE_INTERVAL_MAX);
    }
}

/// Makes the kernel move this thread to another CPU, without restricting it afterwards.
fn move_to_other_cpu() {
    let this = Pid::from_raw(0);
    let (Ok(all), Ok(current)) = (nix::sched::sched_getaffinity(this), nix::sched::sched_getcpu())
    else {
        return;
    };
    let mut others = all;
    if others.unset(current).is_ok() && nix::sched::sched_setaffinity(this, &others).is_ok() {
        let _ = nix::sched::sched_setaffinity(this, &all);
    }
}

/// Decides for one link whether to poll or to sleep.
pub struct Spinner {
    max_poll: Duration,
    adaptive: bool,
    /// While polling: when it ends, and whether a response is expected.
    polling: Option<(Instant, bool)>,
    /// For waiting in general, and for waiting for a response.
    history: [History; 2],
    placement: CpuPlacement,
}

impl Spinner {
    /// A spinner with a configuration.
    pub fn new(spin: &Spin) -> Self {
        let (max_poll, adaptive) = match spin {
            Spin::Off => (Duration::ZERO, true),
            Spin::Auto if *CPUS < 2 => (Duration::ZERO, true),
            Spin::Auto => (MAX_POLL, true),
            Spin::Micros(micros) => (Duration::from_micros((*micros).into()), false),
        };
        let new = || History { score: MAX_SCORE / 2, skipped: 0 };
        Spinner {
            max_poll,
            adaptive,
            polling: None,
            history: [new(), new()],
            placement: CpuPlacement::new(),
        }
    }

    /// Frames were received.
    pub fn record_work(&mut self) {
        if let Some((_, expecting)) = self.polling.take() {
            let history = &mut self.history[usize::from(expecting)];
            history.score = (history.score + 1).min(MAX_SCORE);
        }
    }

    /// No frame was received: whether to poll again instead of sleeping. `expecting` tells whether
    /// a response is outstanding.
    pub fn should_poll(&mut self, expecting: bool) -> bool {
        if self.max_poll.is_zero() {
            return false;
        }
        if self.adaptive && cpu_affinity::is_on_shared_cpu() {
            // The responding process needs this CPU.
            return false;
        }
        let now = Instant::now();
        let (until, kind) = match self.polling {
            Some(polling) => polling,
            None => {
                let suspended = self.adaptive && BACKOFF.is_active(micros(now));
                if suspended || self.adaptive && !self.history[usize::from(expecting)].should_poll()
                {
                    return false;
                }
                *self.polling.insert((now + self.max_poll, expecting))
            }
        };
        if now >= until {
            self.polling = None;
            let history = &mut self.history[usize::from(kind)];
            history.score = history.score.saturating_sub(1);
            return false;
        }
        if self.adaptive {
            // Let a thread that waits for this CPU run: it is often the responding process.
            let _ = nix::sched::sched_yield();
            let away = now.elapsed();
            if away > FOREIGN_WORK {
                BACKOFF.extend(micros(now + away));
                self.polling = None;
            }
            self.placement.record_yield(now, away > YIELD_TAKEN);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn back_off_doubles_up_to_its_maximum_and_resets_after_a_while() {
        let backoff = Backoff::new();
        backoff.extend(10_000);
        assert!(backoff.is_active(10_999) && !backoff.is_active(11_000));
        backoff.extend(12_000);
        assert!(backoff.is_active(13_999) && !backoff.is_active(14_000), "doubled");
        let mut now = 14_000;
        for _ in 0..10 {
            backoff.extend(now);
            now += 1_000;
        }
        assert!(backoff.is_active(now + 48_000) && !backoff.is_active(now + 50_000), "maximum");
        let later = now + 1_000_000;
        backoff.extend(later);
        assert!(backoff.is_active(later + 999) && !backoff.is_active(later + 1_000), "reset");
    }
}
