//! The CPU that the thread of a process runs on.
//!
//! Processes that answer one another in turn respond fastest on a shared CPU: the woken one runs as
//! soon as the other sleeps, within one or two microseconds and with warm caches. Waking an idle
//! CPU takes ten times as long, and longer still on a virtual machine. On the shared CPU wakeups
//! are [deferred](crate::wakeup). The scheduling policy stays unchanged: `SCHED_BATCH` would save
//! the same switches, but makes the processes wait for unrelated ones of any priority, for
//! milliseconds. If one CPU is not enough, the threads spread over all CPUs for a while.
use crate::wakeup;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::cell::{Cell, RefCell};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// Interval between checks of how long the thread waited for its CPU.
const CHECK_INTERVAL: Duration = Duration::from_millis(4);
/// A longer interval contains idle time, so it does not reflect the present load.
const MAX_CHECK_INTERVAL: Duration = Duration::from_millis(40);
/// Share of the time, in percent, that a thread may wait for its CPU. A thread that takes turns
/// with others waits for about a third; one on an overloaded CPU waits for most of the time.
const MAX_WAIT_PERCENT: u32 = 50;
/// How long a thread may use all CPUs after that. Doubles each time that returning did not help.
const SPREAD_MIN: Duration = Duration::from_millis(250);
const SPREAD_MAX: Duration = Duration::from_secs(8);

/// Where a thread runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Placement {
    SharedCpu,
    AllCpus,
}

/// Decides when a thread changes its placement.
struct AffinityPolicy {
    checked: Instant,
    /// Total time that the thread had waited for a CPU at the last check.
    waited: Duration,
    /// End of the time on all CPUs, while the thread is spread.
    spread_until: Option<Instant>,
    next_spread: Duration,
}

impl AffinityPolicy {
    fn new(now: Instant, waited: Duration) -> Self {
        AffinityPolicy { checked: now, waited, spread_until: None, next_spread: SPREAD_MIN }
    }

    /// The new placement, if it changes. `waited` yields the total time that the thread has waited
    /// for a CPU; it is called only when a check is due.
    fn decide(
        &mut self,
        now: Instant,
        waited: impl FnOnce() -> Option<Duration>,
    ) -> Option<Placement> {
        let elapsed = now.saturating_duration_since(self.checked);
        match self.spread_until {
            Some(until) if now < until => return None,
            None if elapsed < CHECK_INTERVAL => return None,
            _ => {}
        }
        let waited = waited()?;
        let lost = waited.saturating_sub(self.waited);
        (self.checked, self.waited) = (now, waited);
        if self.spread_until.take().is_some() {
            return Some(Placement::SharedCpu);
        }
        if elapsed > MAX_CHECK_INTERVAL {
            self.next_spread = SPREAD_MIN;
            return None;
        }
        if lost * 100 <= elapsed * MAX_WAIT_PERCENT {
            return None;
        }
        self.spread_until = Some(now + self.next_spread);
        self.next_spread = (self.next_spread * 2).min(SPREAD_MAX);
        Some(Placement::AllCpus)
    }
}

/// The CPUs of the current thread.
struct ThreadAffinity {
    all: CpuSet,
    shared: CpuSet,
    /// `/proc/thread-self/schedstat`.
    statistics: File,
    policy: AffinityPolicy,
}

thread_local! {
    static AFFINITY: RefCell<Option<ThreadAffinity>> = const { RefCell::new(None) };
    static ON_SHARED_CPU: Cell<bool> = const { Cell::new(false) };
}

/// Whether the current thread runs on the shared CPU.
pub fn is_on_shared_cpu() -> bool {
    ON_SHARED_CPU.get()
}

/// Moves the current thread to the shared CPU. Does nothing if there is only one CPU, or if the
/// kernel does not report how long a thread waits.
pub fn move_to_shared_cpu() {
    if AFFINITY.with_borrow(Option::is_none) {
        let affinity = ThreadAffinity::new();
        AFFINITY.set(affinity.filter(|affinity| affinity.apply(Placement::SharedCpu)));
    }
}

/// Changes the placement of the current thread if its load requires it. Cheap; call it after each
/// wakeup.
pub fn update() {
    AFFINITY.with_borrow_mut(|affinity| {
        if let Some(affinity) = affinity
            && let Some(placement) =
                affinity.policy.decide(Instant::now(), || wait_time(&affinity.statistics))
        {
            affinity.apply(placement);
        }
    });
}

impl ThreadAffinity {
    fn new() -> Option<ThreadAffinity> {
        let all = sched_getaffinity(Pid::from_raw(0)).ok()?;
        let mut cpus = (0..CpuSet::count()).filter(|n| all.is_set(*n).unwrap_or(false));
        // The last CPU, because the kernel's own work tends to run on the first.
        let (_first, last) = (cpus.next()?, cpus.next_back()?);
        let mut shared = CpuSet::new();
        shared.set(last).ok()?;
        let statistics = File::open("/proc/thread-self/schedstat").ok()?;
        let policy = AffinityPolicy::new(Instant::now(), wait_time(&statistics)?);
        tracing::debug!(cpu = last, "thread moved to the shared CPU");
        Some(ThreadAffinity { all, shared, statistics, policy })
    }

    fn apply(&self, placement: Placement) -> bool {
        let cpus = if placement == Placement::SharedCpu { &self.shared } else { &self.all };
        let applied = sched_setaffinity(Pid::from_raw(0), cpus).is_ok();
        let shared = applied && placement == Placement::SharedCpu;
        ON_SHARED_CPU.set(shared);
        wakeup::defer_wakeups(shared);
        applied
    }
}

/// Total time that the thread was runnable but waited for a CPU.
fn wait_time(statistics: &File) -> Option<Duration> {
    let mut text = [0; 96];
    let length = statistics.read_at(&mut text, 0).ok()?;
    let text = std::str::from_utf8(&text[..length]).ok()?;
    text.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu_count() -> usize {
        let set = sched_getaffinity(Pid::from_raw(0)).unwrap();
        (0..CpuSet::count()).filter(|n| set.is_set(*n).unwrap()).count()
    }

    #[test]
    fn a_thread_moves_to_the_shared_cpu_and_back() {
        let thread = std::thread::spawn(|| {
            let before = cpu_count();
            move_to_shared_cpu();
            assert_eq!((is_on_shared_cpu(), cpu_count()), (before > 1, 1));
            update();
            if let Some(affinity) = AFFINITY.take() {
                assert!(affinity.apply(Placement::AllCpus) && !is_on_shared_cpu());
                assert_eq!(cpu_count(), before);
            }
        });
        thread.join().unwrap();
    }

    #[test]
    fn a_thread_that_waits_too_long_spreads_and_returns() {
        let start = Instant::now();
        let (at, ms) = (|ms| start + Duration::from_millis(ms), Duration::from_millis);
        let mut policy = AffinityPolicy::new(start, ms(0));
        assert_eq!(policy.decide(at(1), || panic!("too early")), None);
        // Threads that take turns wait for a third of the time.
        assert_eq!(policy.decide(at(6), || Some(ms(2))), None);
        assert_eq!(policy.decide(at(12), || Some(ms(7))), Some(Placement::AllCpus));
        assert_eq!(policy.decide(at(200), || panic!("too early")), None);
        assert_eq!(policy.decide(at(300), || Some(ms(7))), Some(Placement::SharedCpu));
        // Still overloaded: the next spread is longer.
        assert_eq!(policy.decide(at(306), || Some(ms(12))), Some(Placement::AllCpus));
        assert_eq!(policy.decide(at(700), || panic!("too early")), None);
        assert_eq!(policy.decide(at(900), || Some(ms(12))), Some(Placement::SharedCpu));
        // A check after idle time does not count.
        assert_eq!(policy.decide(at(2000), || Some(ms(1000))), None);
        assert_eq!(policy.decide(at(2006), || Some(ms(1006))), Some(Placement::AllCpus));
        assert_eq!(policy.decide(at(2300), || Some(ms(1006))), Some(Placement::SharedCpu));
    }
}
