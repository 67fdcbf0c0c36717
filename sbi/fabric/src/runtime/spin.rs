//! Whether a process looks for answers a little while before it sleeps. To be woken costs more than most answers take,
//! but who looks uses a processor that somebody else might need.
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// How long a process looks before it sleeps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spin {
    /// A short while, where this process may use more than one processor and nobody else wants it; else not at all.
    #[default]
    Auto,
    /// Not at all.
    Off,
    /// So many microseconds, come what may.
    Micros(u32),
}

/// What a wake-up costs at most, nearly always: longer than this it is cheaper to sleep.
const WORTH: Duration = Duration::from_micros(50);
/// How long nobody looks after somebody else wanted the processor.
const MODESTY: Duration = Duration::from_millis(20);
/// A call that gives the processor away for a moment takes longer than this only if somebody else used it.
const WANTED: Duration = Duration::from_micros(5);

/// Processors that this process may use.
static PROCESSORS: LazyLock<usize> = LazyLock::new(|| {
    let set = nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0));
    set.map_or(1, |set| (0..nix::sched::CpuSet::count()).filter(|n| set.is_set(*n).unwrap_or(false)).count())
});

/// The decisions for one link.
pub struct Spinner {
    longest: Duration,
    polite: bool,
    until: Option<Instant>,
    modest_until: Option<Instant>,
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
        Spinner { longest, polite, until: None, modest_until: None }
    }

    /// There was something to do: more may follow.
    pub fn worked(&mut self) {
        self.until = None;
    }

    /// There was nothing to do: whether to look again before sleeping.
    pub fn again(&mut self) -> bool {
        if self.longest.is_zero() {
            return false;
        }
        let now = Instant::now();
        if self.modest_until.is_some_and(|until| now < until) {
            return false;
        }
        let until = *self.until.get_or_insert(now + self.longest);
        if now >= until {
            return false;
        }
        if self.polite {
            // Who waits for this processor gets it here and now. If somebody did, the next ones shall not have to ask.
            let _ = nix::sched::sched_yield();
            if now.elapsed() > WANTED {
                self.modest_until = Some(now + MODESTY);
            }
        }
        true
    }

    /// About to sleep: the next time begins anew.
    pub fn slept(&mut self) {
        self.until = None;
    }
}
