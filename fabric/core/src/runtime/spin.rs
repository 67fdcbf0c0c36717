//! Whether a process looks for answers a little while before it sleeps. To be woken costs more than
//! most answers take, but who looks uses a processor that somebody else might need.
use super::place;
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a process looks before it sleeps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spin {
    /// A short while, where this process may use more than one processor, nobody else wants it, and
    /// it has been worth it lately; else not at all.
    #[default]
    Auto,
    /// Not at all.
    Off,
    /// So many microseconds, come what may.
    Micros(u32),
}

/// Longer than this it is cheaper to sleep. A wake-up of another processor takes 20 to 45 µs on
/// virtual machines, and the first answer that is looked for comes from one who has to be woken:
/// who gave up before would never find out that both may stay awake.
const WORTH: Duration = Duration::from_micros(100);
/// How long nobody looks after somebody else took the processor: at first, and at most where that
/// goes on.
const MODEST: Duration = Duration::from_millis(1);
const MOST_MODEST: Duration = Duration::from_millis(50);
/// A process of the fabric uses the processor for less than this before it gives it back. Who takes
/// longer has work of another kind, which would delay us each time that we give the processor away;
/// to be woken is quicker then.
const LONG: Duration = Duration::from_micros(150);
/// To give the processor away takes longer than this only if somebody took it.
const SHARED: Duration = Duration::from_nanos(1200);
/// Times between two moves to another processor.
const SHORTEST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// Successes remembered at most.
const BEST: u8 = 8;
/// Without a success among the last ones, one in so many waits tries again.
const RARELY: u8 = 32;

/// Processors that this process may use.
static PROCESSORS: LazyLock<usize> = LazyLock::new(|| {
    let set = nix::sched::sched_getaffinity(Pid::from_raw(0));
    set.map_or(1, |set| {
        (0..nix::sched::CpuSet::count()).filter(|n| set.is_set(*n).unwrap_or(false)).count()
    })
});

/// What one link finds out holds for all of the process.
static MODESTY: Modesty = Modesty::new();
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

fn micros(at: Instant) -> u64 {
    at.saturating_duration_since(*START).as_micros() as u64
}

/// Until when nobody looks, since somebody else wanted the processor. Once may be chance; who comes
/// again soon is given more.
struct Modesty {
    /// In µs since [`START`].
    until: AtomicU64,
    /// The last pause, in µs.
    pause: AtomicU64,
}

impl Modesty {
    const fn new() -> Self {
        Modesty { until: AtomicU64::new(0), pause: AtomicU64::new(0) }
    }

    fn holds(&self, now: u64) -> bool {
        now < self.until.load(Ordering::Relaxed)
    }

    /// Somebody else took the processor for a good while.
    fn learn(&self, now: u64) {
        let (until, pause) =
            (self.until.load(Ordering::Relaxed), self.pause.load(Ordering::Relaxed));
        let again = now < until + 8 * pause;
        let first = MODEST.as_micros() as u64;
        let pause = if again { (2 * pause).min(MOST_MODEST.as_micros() as u64) } else { first };
        self.pause.store(pause, Ordering::Relaxed);
        self.until.store(now + pause, Ordering::Relaxed);
    }
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

/// Who shares this thread's processor. Two processes that talk with each other are quicker on two
/// processors, and the kernel, which sees them take turns, may leave both on one for seconds.
struct Neighbour {
    in_row: u32,
    /// Moves only after so many turns in a row: not the same number for both.
    patience: u32,
    pause: Duration,
    next: Option<Instant>,
}

impl Neighbour {
    fn new() -> Self {
        Neighbour {
            in_row: 0,
            patience: 16 + std::process::id() % 7 * 8,
            pause: SHORTEST_PAUSE,
            next: None,
        }
    }

    /// The processor was given away for a moment, and somebody took it or not.
    fn seen(&mut self, now: Instant, taken: bool) {
        if !taken {
            self.in_row = 0;
            return;
        }
        self.in_row += 1;
        if self.in_row < self.patience {
            return;
        }
        self.in_row = 0;
        if self.next.is_some_and(|next| now < next) {
            return;
        }
        if self.next.is_some_and(|next| now > next + 8 * self.pause) {
            // The last move held for a good while.
            self.pause = SHORTEST_PAUSE;
        }
        move_away();
        self.next = Some(now + self.pause);
        // Where every processor has its neighbours, moving does not help.
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }
}

/// Asks the kernel for another processor than the present one, without a wish for the time after.
fn move_away() {
    let this = Pid::from_raw(0);
    let (Ok(all), Ok(here)) = (nix::sched::sched_getaffinity(this), nix::sched::sched_getcpu())
    else {
        return;
    };
    let mut others = all;
    if others.unset(here).is_ok() && nix::sched::sched_setaffinity(this, &others).is_ok() {
        let _ = nix::sched::sched_setaffinity(this, &all);
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
    neighbour: Neighbour,
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
        Spinner {
            longest,
            polite,
            look: None,
            experience: [new(), new()],
            neighbour: Neighbour::new(),
        }
    }

    /// There was something to do.
    pub fn worked(&mut self) {
        if let Some((_, expecting)) = self.look.take() {
            let experience = &mut self.experience[usize::from(expecting)];
            experience.good = (experience.good + 1).min(BEST);
        }
    }

    /// There was nothing to do: whether to look again before sleeping. `expecting` says whether an
    /// answer is due.
    pub fn again(&mut self, expecting: bool) -> bool {
        if self.longest.is_zero() {
            return false;
        }
        if self.polite && place::is_together() {
            // The answer comes from one of those who want this processor: it is theirs as soon as
            // this process sleeps.
            return false;
        }
        let now = Instant::now();
        let (until, kind) = match self.look {
            Some(look) => look,
            None => {
                let modest = self.polite && MODESTY.holds(micros(now));
                if modest || self.polite && !self.experience[usize::from(expecting)].promising() {
                    return false;
                }
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
            // Who waits for this processor gets it here and now: most often a process of ours, with
            // our answer.
            let _ = nix::sched::sched_yield();
            let away = now.elapsed();
            if away > LONG {
                MODESTY.learn(micros(now + away));
                self.look = None;
            }
            self.neighbour.seen(now, away > SHARED);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_takes_the_processor_again_and_again_is_given_more_of_it() {
        let modesty = Modesty::new();
        modesty.learn(10_000);
        assert!(modesty.holds(10_999) && !modesty.holds(11_000));
        modesty.learn(12_000);
        assert!(modesty.holds(13_999) && !modesty.holds(14_000), "soon again: twice as long");
        let mut now = 14_000;
        for _ in 0..10 {
            modesty.learn(now);
            now += 1_000;
        }
        assert!(
            modesty.holds(now + 48_000) && !modesty.holds(now + 50_000),
            "but no longer than this"
        );
        modesty.learn(now + 1_000_000);
        assert!(
            modesty.holds(now + 1_000_999) && !modesty.holds(now + 1_001_000),
            "forgotten after a while"
        );
    }
}
