//! Packets of flows that move here wait for those that are still with the native UPF: they are given to user space, which keeps
//! them in their order.
//!
//! When flows are released, what waited of them goes first. Entries that have just been released are marked; while
//! `handing_over` says so, a packet that meets such an entry goes to user space, too, as long as anything given before it has not left.
//! Once nothing is left, and no program runs any more that has seen otherwise, packets pass.
use crate::control::Control;
use crate::fence::Fence;
use crate::frames::{Frame, Frames, Outcome, SLOTS};
use crate::ring::Ring;
use crate::switch::HOLD;
use std::collections::VecDeque;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::{Duration, Instant};

/// After so long what waits goes to the native side: whoever had it wait is gone.
const LONGEST_HOLD: Duration = Duration::from_millis(250);
/// For so long packets of released flows may come faster than they can be handed over; then they may overtake.
const LONGEST_HANDOVER: Duration = Duration::from_millis(500);
/// Frames that are kept: more are lost.
const MOST: usize = 65_536;

/// What waits.
#[derive(Debug)]
pub(crate) struct Holding {
    ring: Ring,
    waiting: VecDeque<Frame>,
    since: Option<Instant>,
    /// Frames that have ever come out of the ring.
    consumed: u64,
    /// Frames for which there was no room.
    pub lost: u64,
}

impl Holding {
    pub fn new(ring: Ring) -> Holding {
        Holding { ring, waiting: VecDeque::new(), since: None, consumed: 0, lost: 0 }
    }

    /// Takes what programs have given.
    pub fn take(&mut self) {
        let (waiting, lost) = (&mut self.waiting, &mut self.lost);
        self.consumed += self.ring.take(|octets| match octets.split_first_chunk::<4>() {
            Some((port, frame)) if waiting.len() < MOST => {
                waiting.push_back(Frame { port: u32::from_be_bytes(*port), past: false, octets: frame.to_vec() });
            }
            _ => *lost += 1,
        });
        self.since = if self.waiting.is_empty() { None } else { self.since.or_else(|| Some(Instant::now())) };
    }

    /// Has all that waits go where the pipeline says now, or past it. What has to wait still is kept, in its order.
    fn send(&mut self, frames: &Frames, past: bool) {
        let mut kept = VecDeque::new();
        while !self.waiting.is_empty() {
            let n = self.waiting.len().min(SLOTS);
            let mut some: Vec<Frame> = self.waiting.drain(..n).collect();
            some.iter_mut().for_each(|frame| frame.past = past);
            match frames.send(&some) {
                Ok(outcomes) => {
                    let still = some.into_iter().zip(outcomes).filter(|(_, outcome)| *outcome == Outcome::Out(HOLD));
                    kept.extend(still.map(|(frame, _)| frame));
                }
                Err(error) => {
                    tracing::warn!(%error, frames = n, "packets that waited are lost");
                    self.lost += n as u64;
                }
            }
        }
        self.waiting = kept;
        if self.waiting.is_empty() {
            self.since = None;
        }
    }

    /// What nobody came for goes to the native side; so does what follows.
    pub fn look(&mut self, frames: &Frames) {
        self.take();
        if let Some(since) = self.since
            && since.elapsed() >= LONGEST_HOLD
        {
            self.send(frames, true);
            // The next ones do not wait anew.
            self.since = Some(since);
        }
    }

    /// Whether anything waits, or may come to.
    pub fn waits(&self) -> bool {
        self.since.is_some()
    }

    /// All that waits goes to the native side: the switch ends.
    pub fn give_back(&mut self, frames: &Frames) {
        self.take();
        self.send(frames, true);
    }

    /// Has `change` release flows, and what waited of them go before all that comes later.
    pub fn release<T>(
        &mut self,
        control: &Control,
        fence: &Fence,
        frames: &Frames,
        change: impl FnOnce() -> Result<T, String>,
    ) -> Result<T, String> {
        // Nothing that was given is done with before it has been sent.
        control.taken().store(u64::MAX, Release);
        control.handing_over().store(1, Release);
        let outcome = fence.wait().and_then(|()| change());
        let end = Instant::now() + LONGEST_HANDOVER;
        loop {
            self.take();
            self.send(frames, false);
            control.taken().store(self.consumed, Release);
            let all = || control.given().load(Acquire) == self.consumed;
            // No program that runs then has seen anything before it.
            if all() && fence.wait().is_ok() && all() {
                break;
            }
            if Instant::now() > end {
                tracing::warn!(
                    "packets of flows that moved came faster than those that had waited could leave: some may be overtaken"
                );
                break;
            }
        }
        control.handing_over().store(0, Release);
        outcome
    }
}
