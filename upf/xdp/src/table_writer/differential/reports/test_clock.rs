//! The test's own time, for packets that pass by the machine's clock.
use martlet_pfcp::ie::UpFunctionFeatures;
use martlet_upf_datapath::counters::Counters;
use martlet_upf_datapath::{Buffered, Change, Datapath, DatapathError, EventSender, Usage};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The steps in which packets pass: when each began, by the machine's clock and by the test's.
pub(super) struct Steps {
    /// A tick of the programs' clock.
    tick: Duration,
    begun: Vec<(Instant, Instant)>,
    ended: Instant,
}

impl Steps {
    pub(super) fn new(tick: Duration) -> Steps {
        Steps { tick, begun: Vec::new(), ended: Instant::now() }
    }

    /// Begins a step, as soon as the programs' clock tells its packets from those before.
    pub(super) fn begin(&mut self, now: Instant) {
        std::thread::sleep((self.ended + 4 * self.tick).saturating_duration_since(Instant::now()));
        self.begun.push((Instant::now(), now));
    }

    /// Ends a step, when its packets have passed.
    pub(super) fn end(&mut self) {
        self.ended = Instant::now();
    }

    /// The time of a packet by the test's clock. Times of the programs are exact to a tick.
    fn time(&self, packet: Instant) -> Instant {
        let before = self.begun.iter().rfind(|(begun, _)| *begun <= packet + 2 * self.tick);
        before.map_or(packet, |(_, now)| *now)
    }
}

/// A datapath whose packets have times by the test's clock.
pub(super) struct Timed {
    pub(super) datapath: Arc<Mutex<dyn Datapath>>,
    pub(super) steps: Arc<Mutex<Steps>>,
}

impl Timed {
    fn with<T>(&self, act: impl FnOnce(&mut dyn Datapath) -> T) -> T {
        act(&mut *self.datapath.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn time(&self, packet: Option<Instant>) -> Option<Instant> {
        let steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        packet.map(|packet| steps.time(packet))
    }
}

impl Datapath for Timed {
    fn name(&self) -> &'static str {
        self.with(|datapath| datapath.name())
    }
    fn features(&self) -> UpFunctionFeatures {
        self.with(|datapath| datapath.features())
    }
    fn apply(&mut self, change: &Change<'_>) -> Result<(), DatapathError> {
        self.with(|datapath| datapath.apply(change))
    }
    fn remove(&mut self, seid: u64) -> Vec<Usage> {
        self.with(|datapath| datapath.remove(seid))
    }
    fn take_usage(&mut self, seid: u64, urrs: &[u32]) -> Vec<Usage> {
        self.with(|datapath| datapath.take_usage(seid, urrs))
    }
    fn forwarded(&self, seid: u64) -> [u64; 2] {
        self.with(|datapath| datapath.forwarded(seid))
    }
    fn last_activity(&self, seid: u64) -> Option<Instant> {
        self.time(self.with(|datapath| datapath.last_activity(seid)))
    }
    fn last_packet(&self, seid: u64, urr: u32) -> Option<Instant> {
        self.time(self.with(|datapath| datapath.last_packet(seid, urr)))
    }
    fn buffered(&self, seid: u64) -> Buffered {
        self.with(|datapath| datapath.buffered(seid))
    }
    fn events(&self) -> EventSender {
        self.with(|datapath| datapath.events())
    }
    fn counters(&self) -> Arc<Counters> {
        self.with(|datapath| datapath.counters())
    }
}
