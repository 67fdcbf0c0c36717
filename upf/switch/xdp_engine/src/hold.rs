//! While a flow moves to the switch, its packets are held until the native UPF has sent its own.
//! The queue is in memory that the programs and this process share.
//!
//! When flows are released, their held packets leave first. Released entries carry a mark. While a
//! release is in progress, a packet that matches a marked entry joins the queue too. A mark is
//! valid for one release: in the next one, packets of that flow would join the queue with one copy
//! of the tables and overtake themselves with the other. `drain` of `bpf/programs.bpf.c` sends the
//! queue in order. Once it is empty, one atomic step ends the release (`joined` in
//! `bpf/pipeline.h`). Where packets arrive faster than that, `drain` takes this step itself after
//! the last packet: the kernel runs it so that its CPU, on which the packets arrive, receives
//! nothing meanwhile.
use crate::error::XdpError;
use crate::frames::{Frame, Frames, Outcome};
use crate::grace_period::wait_for_programs;
use crate::ports::HOLD;
use crate::table::MARKS;
use martlet_bpf::{GracePeriod, Memory};
use martlet_switch_control::TargetError;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::io;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::{Duration, Instant};

/// Timeout after which held packets go to the native side.
const HOLD_TIMEOUT: Duration = Duration::from_millis(250);
/// Time that a release waits for an empty queue.
const RELEASE_TIME: Duration = Duration::from_millis(2);
/// Extra runs of `drain` after the last frame, for packets on other CPUs.
const EXTRA_RUNS: u32 = 32;
/// Time limit of a release.
const MAX_RELEASE_TIME: Duration = Duration::from_secs(1);
/// Frames in the queue, and their size in bytes (`bpf/ports.h`).
const QUEUE: u64 = 4096;
const SLOT: usize = 2064;
const FRAME: usize = 16;
/// Nice value of a releasing thread: packets wait for it.
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

    /// Twice the number of frames so far, plus one during a release.
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

    /// A slot's header word: length, port, CPU, round.
    fn word(&self, n: u64, word: usize) -> &AtomicU32 {
        self.slots.u32((n % QUEUE) as usize * SLOT + 4 * word)
    }

    /// Whether a frame is completely written.
    fn is_there(&self, n: u64) -> bool {
        self.word(n, 3).load(Acquire) == (n / QUEUE) as u32 + 1
    }

    /// Frees the slots of sent frames.
    fn pass_over(&self) {
        let (mut head, tail) = (self.head().load(Relaxed), self.tail());
        while head < tail && self.is_there(head) && self.word(head, 0).load(Acquire) == 0 {
            head += 1;
        }
        self.head().store(head, Release);
    }

    /// Whether anything waits.
    pub fn has_held(&self) -> bool {
        self.head().load(Relaxed) != self.tail()
    }

    /// Sends frames from `scan` on with the program.
    fn send_held(&self, frames: &Frames, bypass: bool) -> io::Result<()> {
        let pending = (self.tail() - self.scan().load(Acquire)).max(1);
        if !frames.are_sent_by_sockets() {
            // In a single batch, the run after the last frame ends the release.
            let more = if self.words.u32(28).load(Relaxed) != 0 { EXTRA_RUNS } else { 0 };
            return frames.drain(pending as u32 + more);
        }
        for n in self.scan().load(Acquire)..self.tail() {
            if !self.is_there(n) {
                break;
            }
            let length = self.word(n, 0).load(Acquire) as usize;
            let mut bytes = vec![0; length.min(SLOT - FRAME)];
            self.slots.read((n % QUEUE) as usize * SLOT + FRAME, &mut bytes);
            let frame = Frame { port: self.word(n, 1).load(Acquire), bypass, bytes };
            if length < 14 || !matches!(frames.send_one_by_socket(&frame), Ok(Outcome::Out(HOLD))) {
                self.word(n, 0).store(0, Release);
            }
            self.scan().store(n + 1, Release);
        }
        Ok(())
    }

    fn begin(&self, bypass: bool) {
        self.pass_over();
        self.words.u32(24).store(bypass.into(), Release);
        self.words.u32(28).store(0, Release);
        self.scan().store(self.head().load(Relaxed), Release);
    }

    /// Sends all held packets to the native side.
    pub fn release_to_native(&mut self, frames: &Frames) {
        self.begin(true);
        let end = Instant::now() + HOLD_TIMEOUT;
        while self.scan().load(Acquire) < self.tail() && Instant::now() < end {
            if let Err(error) = self.send_held(frames, true) {
                tracing::warn!(%error, "held packets cannot be sent");
                break;
            }
        }
        self.pass_over();
    }

    /// Packets that timed out go to the native side, and later ones too, until flows are released.
    pub fn check_timeout(&mut self, frames: &Frames) {
        if self.has_held() && self.since.get_or_insert_with(Instant::now).elapsed() >= HOLD_TIMEOUT
        {
            self.release_to_native(frames);
        }
    }

    /// Runs `change`, which releases flows with the given mark, and sends their held packets before
    /// any later ones. The caller removes the mark afterwards.
    pub fn release<T>(
        &mut self,
        grace_period: &GracePeriod,
        frames: &Frames,
        change: impl FnOnce(u32) -> Result<T, TargetError>,
    ) -> Result<T, TargetError> {
        let _priority = HighPriority::raise();
        let last = self.words.u32(32);
        let mark = if last.load(Relaxed) == MARKS[0] { MARKS[1] } else { MARKS[0] };
        last.store(mark, Release);
        self.joined().fetch_or(1, AcqRel);
        // After this, every running program has seen it.
        let outcome = wait_for_programs(grace_period).and_then(|()| change(mark));
        self.since = None;
        self.begin(false);
        let began = Instant::now();
        loop {
            let (scan, tail) = (self.scan().load(Acquire), self.tail());
            let in_batch = began.elapsed() > RELEASE_TIME;
            self.words.u32(28).store(in_batch.into(), Release);
            let _pinned =
                in_batch.then(|| OnCpu::of(self.word(tail.wrapping_sub(1), 2).load(Acquire)));
            if (scan != tail || in_batch) && self.send_held(frames, false).is_err() {
                break;
            }
            // All sent frames have left. The step fails if a frame joined in between.
            let scan = self.scan().load(Acquire);
            let ended = self.joined().compare_exchange(scan << 1 | 1, scan << 1, AcqRel, Acquire);
            if ended.is_ok() || self.joined().load(Acquire) & 1 == 0 {
                break;
            }
            if began.elapsed() > MAX_RELEASE_TIME {
                tracing::warn!("packets arrive faster than held ones leave: some are reordered");
                break;
            }
        }
        self.joined().fetch_and(!1, AcqRel);
        self.pass_over();
        outcome
    }
}

/// Raises this thread's priority while it lives.
struct HighPriority(i32);

impl HighPriority {
    fn raise() -> HighPriority {
        // SAFETY: no memory is passed; 0 means this thread.
        let before = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
        // SAFETY: as above.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, before.min(NICE)) };
        HighPriority(before)
    }
}

impl Drop for HighPriority {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, self.0) };
    }
}

/// Pins this thread to one CPU while it lives.
struct OnCpu(Option<CpuSet>);

impl OnCpu {
    fn of(cpu: u32) -> OnCpu {
        let this = Pid::from_raw(0);
        let mut one = CpuSet::new();
        let moved = one.set(cpu as usize).and_then(|()| {
            let before = sched_getaffinity(this)?;
            sched_setaffinity(this, &one).map(|()| before)
        });
        OnCpu(moved.ok())
    }
}

impl Drop for OnCpu {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = sched_setaffinity(Pid::from_raw(0), before);
        }
    }
}
