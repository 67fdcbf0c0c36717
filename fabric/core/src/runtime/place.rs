//! Which processor the thread of a process runs on. Network functions that work one after the other
//! on one request answer soonest where they share a processor: the one that is woken runs as soon
//! as the other sleeps, in a microsecond or two, with its data warm, while to wake an idle
//! processor takes ten times as long and more, above all a virtual one. Who works there rings bells
//! when its turn is over ([`crate::bells`]). How they are scheduled stays as it is (`SCHED_BATCH`
//! would have them wait for strangers, too: milliseconds each time that one of them, of whatever
//! priority, has the processor). Where one processor is not enough for all of them they spread over
//! all, as if nothing had been said.
use crate::bells;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::cell::{Cell, RefCell};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// How often a thread that works looks whether it has to wait for its processor.
const LOOK: Duration = Duration::from_millis(4);
/// A look that comes later than this tells of a pause, and not of the present load.
const STALE: Duration = Duration::from_millis(40);
/// The share of the time, in percent, that a thread may wait for its processor. One that works in
/// turns with others waits for them to finish what they began; one that has others' work before its
/// own waits for most of the time.
const CROWDED: u32 = 50;
/// For how long a thread goes where it likes after that. The pause grows as long as coming back
/// does not help.
const SHORTEST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(8);

/// Where a thread belongs at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Where {
    Together,
    Apart,
}

/// What a thread has seen, and what follows from it.
struct Judgement {
    seen: Instant,
    waited: Duration,
    /// Until when it goes where it likes.
    apart: Option<Instant>,
    pause: Duration,
}

impl Judgement {
    fn new(now: Instant, waited: Duration) -> Self {
        Judgement { seen: now, waited, apart: None, pause: SHORTEST }
    }

    /// Where to go from here, if anywhere; `waited` gives how long the thread has waited for a
    /// processor in all.
    fn pass(&mut self, now: Instant, waited: impl FnOnce() -> Option<Duration>) -> Option<Where> {
        let past = now.saturating_duration_since(self.seen);
        match self.apart {
            Some(until) if now < until => return None,
            None if past < LOOK => return None,
            _ => {}
        }
        let waited = waited()?;
        let lost = waited.saturating_sub(self.waited);
        (self.seen, self.waited) = (now, waited);
        if self.apart.take().is_some() {
            return Some(Where::Together);
        }
        if past > STALE {
            self.pause = SHORTEST;
            return None;
        }
        if lost * 100 <= past * CROWDED {
            return None;
        }
        self.apart = Some(now + self.pause);
        self.pause = (self.pause * 2).min(LONGEST);
        Some(Where::Apart)
    }
}

/// The present thread's processors.
struct Place {
    /// Those that it may use, and the one that all share.
    all: CpuSet,
    home: CpuSet,
    /// Time spent working and waiting for a processor, as the kernel counts it for this thread.
    statistics: File,
    judgement: Judgement,
}

thread_local! {
    static PLACE: RefCell<Option<Place>> = const { RefCell::new(None) };
    static TOGETHER: Cell<bool> = const { Cell::new(false) };
}

/// Whether the present thread shares its processor with the others of the fabric at the moment.
pub fn is_together() -> bool {
    TOGETHER.get()
}

/// Brings the present thread to the processor that all share. Does nothing where there is only one,
/// or where the kernel does not tell how long a thread waits for it.
pub fn come_together() {
    if PLACE.with_borrow(Option::is_none) {
        PLACE.set(Place::new().filter(|place| place.go(Where::Together)));
    }
}

/// Looks whether the present thread is where it should be; cheap, and to be called whenever it was
/// woken.
pub fn look() {
    PLACE.with_borrow_mut(|place| {
        if let Some(place) = place
            && let Some(to) = place.judgement.pass(Instant::now(), || waited(&place.statistics))
        {
            place.go(to);
        }
    });
}

impl Place {
    fn new() -> Option<Place> {
        let all = sched_getaffinity(Pid::from_raw(0)).ok()?;
        let mut processors = (0..CpuSet::count()).filter(|n| all.is_set(*n).unwrap_or(false));
        // The last one: the kernel's own work tends to be on the first.
        let (_first, last) = (processors.next()?, processors.next_back()?);
        let mut home = CpuSet::new();
        home.set(last).ok()?;
        let statistics = File::open("/proc/thread-self/schedstat").ok()?;
        let judgement = Judgement::new(Instant::now(), waited(&statistics)?);
        tracing::debug!(processor = last, "functions share a processor as long as one is enough");
        Some(Place { all, home, statistics, judgement })
    }

    fn go(&self, to: Where) -> bool {
        let processors = if to == Where::Together { &self.home } else { &self.all };
        let gone = sched_setaffinity(Pid::from_raw(0), processors).is_ok();
        let together = gone && to == Where::Together;
        TOGETHER.set(together);
        bells::hold_back(together);
        gone
    }
}

/// How long the thread has waited for a processor although it could have worked.
fn waited(statistics: &File) -> Option<Duration> {
    let mut text = [0; 96];
    let length = statistics.read_at(&mut text, 0).ok()?;
    let text = std::str::from_utf8(&text[..length]).ok()?;
    text.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn processors() -> usize {
        let set = sched_getaffinity(Pid::from_raw(0)).unwrap();
        (0..CpuSet::count()).filter(|n| set.is_set(*n).unwrap()).count()
    }

    #[test]
    fn a_thread_comes_to_the_processor_of_all() {
        let thread = std::thread::spawn(|| {
            let before = processors();
            come_together();
            assert_eq!((is_together(), processors()), (before > 1, 1));
            look();
            if let Some(place) = PLACE.take() {
                assert!(place.go(Where::Apart) && !is_together());
                assert_eq!(processors(), before);
            }
        });
        thread.join().unwrap();
    }

    #[test]
    fn who_has_to_wait_goes_apart_and_comes_back() {
        let start = Instant::now();
        let (at, ms) = (|ms| start + Duration::from_millis(ms), Duration::from_millis);
        let mut judgement = Judgement::new(start, ms(0));
        assert_eq!(judgement.pass(at(1), || panic!("too early")), None);
        // A third of the time is what those wait who work in turns.
        assert_eq!(judgement.pass(at(6), || Some(ms(2))), None);
        assert_eq!(judgement.pass(at(12), || Some(ms(7))), Some(Where::Apart));
        assert_eq!(judgement.pass(at(200), || panic!("too early")), None);
        assert_eq!(judgement.pass(at(300), || Some(ms(7))), Some(Where::Together));
        // Still crowded: the next pause is longer.
        assert_eq!(judgement.pass(at(306), || Some(ms(12))), Some(Where::Apart));
        assert_eq!(judgement.pass(at(700), || panic!("too early")), None);
        assert_eq!(judgement.pass(at(900), || Some(ms(12))), Some(Where::Together));
        // After a rest nothing is known of the present load.
        assert_eq!(judgement.pass(at(2000), || Some(ms(1000))), None);
        assert_eq!(judgement.pass(at(2006), || Some(ms(1006))), Some(Where::Apart));
        assert_eq!(judgement.pass(at(2300), || Some(ms(1006))), Some(Where::Together));
    }
}
