//! Whether a process looks for answers a little while before it sleeps. To be woken costs more than most answers take,
//! but who looks uses a processor that somebody else might need.
use nix::sys::resource::{UsageWho, getrusage};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a process looks before it sleeps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spin {
    /// A short while, where this process may use more than one processor, nobody else wants it, and it has been worth
    /// it lately; else not at all.
    #[default]
    Auto,
    /// Not at all.
    Off,
    /// So many microseconds, come what may.
    Micros(u32),
}

/// Longer than this it is cheaper to sleep: a wake-up of another processor takes some 20 µs.
const WORTH: Duration = Duration::from_micros(50);
/// How long nobody looks after somebody else wanted the processor.
const MODESTY: Duration = Duration::from_millis(10);
/// To give the processor away for a moment takes longer than this if somebody else uses it meanwhile.
const SUSPICIOUS: Duration = Duration::from_micros(1);
/// Successes remembered at most.
const BEST: u8 = 8;
/// Without a success among the last ones, one in so many waits tries again.
const RARELY: u8 = 32;

/// Processors that this process may use.
static PROCESSORS: LazyLock<usize> = LazyLock::new(|| {
    let set = nix::sched::sched_getaffinity(Pid::from_raw(0));
    set.map_or(1, |set| (0..nix::sched::CpuSet::count()).filter(|n| set.is_set(*n).unwrap_or(false)).count())
});

/// Until when this process is modest, in µs since [`START`]: what one link finds out holds for all.
static MODEST_UNTIL: AtomicU64 = AtomicU64::new(0);
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

fn micros(at: Instant) -> u64 {
    at.saturating_duration_since(*START).as_micros() as u64
}

/// How often the kernel took the processor from this thread and gave it to another one.
fn displaced() -> i64 {
    getrusage(UsageWho::RUSAGE_THREAD).map_or(0, |usage| usage.involuntary_context_switches())
}

/// Whether looking has paid off lately, for one kind of waiting.
struct Experience {
    good: u8,
    skipped: u8,
}

impl Experience {
    fn promising(&mut self) -> bool {
        if self.good > 0 {
            return true;
        }
        self.skipped = (self.skipped + 1) % RARELY;
        self.skipped == 0
    }
}

/// The decisions for one link.
pub struct Spinner {
    longest: Duration,
    polite: bool,
    /// When the present look ends, and for which kind of waiting it is.
    look: Option<(Instant, bool)>,
    /// Waiting for anything, and waiting for an answer.
    experience: [Experience; 2],
    displaced: i64,
}

impl Spinner {
    /// As configured.
    pub fn new(spin: &Spin) -> Self {
        let (longest, polite) = match spin {
            Spin::Off => (Duration::ZERO, true),
            Spin::Auto if *PROCESSORS < 2 => (Duration::ZERO, true),
            Spin::Auto => (WORTH, true),
            Spin::Micros(micros) => (Duration::from_micros((*micros).into()), false),
        };
        let new = || Experience { good: BEST / 2, skipped: 0 };
        Spinner { longest, polite, look: None, experience: [new(), new()], displaced: 0 }
    }

    /// There was something to do.
    pub fn worked(&mut self) {
        if let Some((_, expecting)) = self.look.take() {
            let experience = &mut self.experience[usize::from(expecting)];
            experience.good = (experience.good + 1).min(BEST);
        }
    }

    /// There was nothing to do: whether to look again before sleeping. `expecting` says whether an answer is due.
    pub fn again(&mut self, expecting: bool) -> bool {
        if self.longest.is_zero() {
            return false;
        }
        let now = Instant::now();
        let (until, kind) = match self.look {
            Some(look) => look,
            None => {
                let modest = self.polite && micros(now) < MODEST_UNTIL.load(Ordering::Relaxed);
                if modest || self.polite && !self.experience[usize::from(expecting)].promising() {
                    return false;
                }
                self.displaced = displaced();
                *self.look.insert((now + self.longest, expecting))
            }
        };
        if now >= until {
            self.look = None;
            let experience = &mut self.experience[usize::from(kind)];
            experience.good = experience.good.saturating_sub(1);
            return false;
        }
        if self.polite {
            // Who waits for this processor gets it here and now. If somebody did, the next ones shall not have to ask.
            let _ = nix::sched::sched_yield();
            if now.elapsed() > SUSPICIOUS && displaced() > self.displaced {
                MODEST_UNTIL.store(micros(now + MODESTY), Ordering::Relaxed);
                self.look = None;
            }
        }
        true
    }
}
