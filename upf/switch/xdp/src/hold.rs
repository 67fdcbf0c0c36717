//! Packets of flows that move here wait for those that are still with the native UPF: in a queue,
//! in memory that the programs and this process share.
//!
//! When flows are released, what waited of them goes first. Entries that have just been released
//! are marked; while the queue says that a hand-over is under way, a packet that meets such an
//! entry joins the queue, too. A mark is there for one hand-over: in the next, packets of that flow
//! would join the queue as long as the one copy of the tables is met, and overtake themselves by
//! the other. `drain` of `bpf/programs.bpf.c` has the queue's packets go, in their order. The
//! hand-over ends with one step that nobody can join in between (`joined` in `bpf/pipeline.h`),
//! once none is left. Where packets come so fast that some always are, `drain` takes that step
//! itself behind the last one: the kernel runs it such that nothing comes on the same processor
//! meanwhile, which is the one that the packets came on.
use crate::error::XdpError;
use crate::frames::{Frame, Frames, Outcome};
use crate::switch::HOLD;
use crate::switch::waited;
use crate::table::MARKS;
use martlet_bpf::{GracePeriod, Memory};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::{Duration, Instant};

/// After so long what waits goes to the native side: whoever had it wait is gone.
const LONGEST_HOLD: Duration = Duration::from_millis(250);
/// For so long a hand-over waits for a moment in which nothing comes.
const POLITE: Duration = Duration::from_millis(2);
/// Runs of `drain` behind the last frame, for those that come on other processors meanwhile.
const BEHIND: u32 = 32;
/// A hand-over that takes longer is ended: what waits then goes when it can.
const LONGEST_HANDOVER: Duration = Duration::from_secs(1);
/// Frames of the queue, and octets of each (`bpf/ports.h`).
const QUEUE: u64 = 4096;
const SLOT: usize = 2064;
const FRAME: usize = 16;
/// How nice a thread is that hands over: packets wait for it.
const NICE: i32 = -10;

/// The queue.
#[derive(Debug)]
pub(crate) struct Holding {
    words: Memory,
    slots: Memory,
    since: Option<Instant>,
}

impl Holding {
    pub fn new(map: impl Fn(&str, usize) -> Result<Memory, XdpError>) -> Result<Holding, XdpError> {
        Ok(Holding {
            words: map(".data.queue", 40)?,
            slots: map("waiting", QUEUE as usize * SLOT)?,
            since: None,
        })
    }

    /// Twice the frames that ever came, and one more during a hand-over.
    fn joined(&self) -> &AtomicU64 {
        self.words.u64(0)
    }

    fn tail(&self) -> u64 {
        self.joined().load(Acquire) >> 1
    }

    fn head(&self) -> &AtomicU64 {
        self.words.u64(8)
    }

    fn scan(&self) -> &AtomicU64 {
        self.words.u64(16)
    }

    /// A word of a place: length, port, processor, round.
    fn word(&self, n: u64, word: usize) -> &AtomicU32 {
        self.slots.u32((n % QUEUE) as usize * SLOT + 4 * word)
    }

    /// Whether all of a frame has been written.
    fn is_there(&self, n: u64) -> bool {
        self.word(n, 3).load(Acquire) == (n / QUEUE) as u32 + 1
    }

    /// Those that have gone make room.
    fn pass_over(&self) {
        let (mut head, tail) = (self.head().load(Relaxed), self.tail());
        while head < tail && self.is_there(head) && self.word(head, 0).load(Acquire) == 0 {
            head += 1;
        }
        self.head().store(head, Release);
    }

    /// Whether anything waits.
    pub fn waits(&self) -> bool {
        self.head().load(Relaxed) != self.tail()
    }

    /// Has frames from `scan` on go, by the program.
    fn go_on(&self, frames: &Frames, past: bool) -> Result<(), String> {
        let pending = (self.tail() - self.scan().load(Acquire)).max(1);
        if !frames.are_sent_by_sockets() {
            // In one batch, the run behind the last frame ends the hand-over.
            let more = if self.words.u32(28).load(Relaxed) != 0 { BEHIND } else { 0 };
            return frames
                .drain(pending as u32 + more)
                .map_err(|error| format!("packets that wait cannot be sent: {error}"));
        }
        for n in self.scan().load(Acquire)..self.tail() {
            if !self.is_there(n) {
                break;
            }
            let length = self.word(n, 0).load(Acquire) as usize;
            let mut octets = vec![0; length.min(SLOT - FRAME)];
            self.slots.read((n % QUEUE) as usize * SLOT + FRAME, &mut octets);
            let frame = Frame { port: self.word(n, 1).load(Acquire), past, octets };
            if length < 14 || !matches!(frames.send_one_by_socket(&frame), Ok(Outcome::Out(HOLD))) {
                self.word(n, 0).store(0, Release);
            }
            self.scan().store(n + 1, Release);
        }
        Ok(())
    }

    fn begin(&self, past: bool) {
        self.pass_over();
        self.words.u32(24).store(past.into(), Release);
        self.words.u32(28).store(0, Release);
        self.scan().store(self.head().load(Relaxed), Release);
    }

    /// All that waits goes to the native side.
    pub fn give_back(&mut self, frames: &Frames) {
        self.begin(true);
        let end = Instant::now() + LONGEST_HOLD;
        while self.scan().load(Acquire) < self.tail() && Instant::now() < end {
            if let Err(error) = self.go_on(frames, true) {
                tracing::warn!(error);
                break;
            }
        }
        self.pass_over();
    }

    /// What nobody came for goes to the native side; so does what follows, until flows are
    /// released.
    pub fn look(&mut self, frames: &Frames) {
        if self.waits() && self.since.get_or_insert_with(Instant::now).elapsed() >= LONGEST_HOLD {
            self.give_back(frames);
        }
    }

    /// Has `change` release flows, with the mark that it is given, and what waited of them go
    /// before all that comes later. The caller has the mark taken off again.
    pub fn release<T>(
        &mut self,
        grace_period: &GracePeriod,
        frames: &Frames,
        change: impl FnOnce(u32) -> Result<T, String>,
    ) -> Result<T, String> {
        let _first = First::go();
        let last = self.words.u32(32);
        let mark = if last.load(Relaxed) == MARKS[0] { MARKS[1] } else { MARKS[0] };
        last.store(mark, Release);
        self.joined().fetch_or(1, AcqRel);
        // No program runs then that has not seen it.
        let outcome = waited(grace_period).and_then(|()| change(mark));
        self.since = None;
        self.begin(false);
        let began = Instant::now();
        loop {
            let (scan, tail) = (self.scan().load(Acquire), self.tail());
            let in_batch = began.elapsed() > POLITE;
            self.words.u32(28).store(in_batch.into(), Release);
            let _there =
                in_batch.then(|| OnProcessor::of(self.word(tail.wrapping_sub(1), 2).load(Acquire)));
            if (scan != tail || in_batch) && self.go_on(frames, false).is_err() {
                break;
            }
            // What has been sent has left. Nobody joins in between, or this does not succeed.
            let scan = self.scan().load(Acquire);
            let ended = self.joined().compare_exchange(scan << 1 | 1, scan << 1, AcqRel, Acquire);
            if ended.is_ok() || self.joined().load(Acquire) & 1 == 0 {
                break;
            }
            if began.elapsed() > LONGEST_HANDOVER {
                tracing::warn!(
                    "packets of flows that moved come faster than those that waited leave: some \
                     are overtaken"
                );
                break;
            }
        }
        self.joined().fetch_and(!1, AcqRel);
        self.pass_over();
        outcome
    }
}

/// This thread goes before others while this is there.
struct First(i32);

impl First {
    fn go() -> First {
        // SAFETY: no memory is involved; 0 is this thread.
        let before = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
        // SAFETY: as above.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, before.min(NICE)) };
        First(before)
    }
}

impl Drop for First {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, self.0) };
    }
}

/// This thread runs on one processor while this is there.
struct OnProcessor(Option<CpuSet>);

impl OnProcessor {
    fn of(processor: u32) -> OnProcessor {
        let this = Pid::from_raw(0);
        let mut one = CpuSet::new();
        let moved = one.set(processor as usize).and_then(|()| {
            let before = sched_getaffinity(this)?;
            sched_setaffinity(this, &one).map(|()| before)
        });
        OnProcessor(moved.ok())
    }
}

impl Drop for OnProcessor {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = sched_setaffinity(Pid::from_raw(0), before);
        }
    }
}
