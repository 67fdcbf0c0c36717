//! Traffic shaping for the thermal governor.
use super::bucket::Bucket;
use super::egress::Egress;
use super::forwarder::{Forwarder, lock};
use martlet_board::governor::CLASSES;
use martlet_upf_datapath::Shaping;
use martlet_upf_datapath::counters::Count;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Batching interval of a thread.
const GATHER: Duration = Duration::from_micros(500);

/// Limits set by the thermal governor.
#[derive(Default)]
pub(super) struct Shaper {
    /// QFIs that are shaped first.
    pub lowest: Vec<u8>,
    /// Some class has a limit.
    on: AtomicBool,
    buckets: Mutex<[Option<Bucket>; CLASSES]>,
    batching: AtomicBool,
    pub bytes: [Count; CLASSES],
}

impl Shaper {
    /// Whether a packet of a class conforms; takes its tokens.
    pub fn admits(&self, class: usize, bytes: usize, now: Instant) -> bool {
        if !self.on.load(Ordering::Relaxed) {
            return true;
        }
        let mut buckets = lock(&self.buckets);
        let Some(Some(bucket)) = buckets.get_mut(class) else { return true };
        let has = bucket.has(bytes, now);
        if has {
            bucket.take(bytes);
        }
        has
    }

    /// Waits for the batching interval if batching is enabled.
    pub fn gather(&self) {
        if self.batching.load(Ordering::Relaxed) {
            std::thread::sleep(GATHER);
        }
    }
}

impl<O: Egress> Forwarder<O> {
    /// See [`Datapath::shape`](martlet_upf_datapath::Datapath::shape).
    pub fn shape(&self, shaping: &Shaping) {
        let now = Instant::now();
        let mut buckets = lock(&self.shaper.buckets);
        for (bucket, limit) in buckets.iter_mut().zip(shaping.limits) {
            if bucket.as_ref().map(Bucket::rate) != limit {
                let burst = self.limits.mbr_burst();
                // Limits change often: refilling the bucket each time would void the limit.
                *bucket = limit.map(|rate| match bucket.take() {
                    Some(before) => before.at_rate(rate, burst, now),
                    None => Bucket::new(rate, burst, now),
                });
            }
        }
        self.shaper.on.store(buckets.iter().any(Option::is_some), Ordering::Relaxed);
        self.shaper.batching.store(shaping.batching, Ordering::Relaxed);
    }
}
