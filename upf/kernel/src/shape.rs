//! Traffic shaping for the thermal governor.
use super::bucket::Bucket;
use super::lock::lock;
use martlet_board::governor::CLASSES;
use martlet_upf_datapath::Shaping;
use martlet_upf_datapath::counters::Count;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Batching interval of a thread.
const BATCHING_INTERVAL: Duration = Duration::from_micros(500);

/// Limits set by the thermal governor.
#[derive(Default)]
pub(super) struct Shaper {
    /// QFIs that are shaped first.
    pub lowest: Vec<u8>,
    /// Whether some class has a limit.
    is_limiting: AtomicBool,
    buckets: Mutex<[Option<Bucket>; CLASSES]>,
    batching: AtomicBool,
    pub bytes: [Count; CLASSES],
}

impl Shaper {
    /// Whether a packet of a class conforms; takes its tokens.
    pub fn admits(&self, class: usize, bytes: usize, now: Instant) -> bool {
        if !self.is_limiting.load(Ordering::Relaxed) {
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

    /// Whether packets are forwarded in batches.
    pub fn is_batching(&self) -> bool {
        self.batching.load(Ordering::Relaxed)
    }

    /// Waits for the batching interval if batching is enabled.
    pub fn wait_for_batch(&self) {
        if self.is_batching() {
            std::thread::sleep(BATCHING_INTERVAL);
        }
    }

    /// Sets the limits. The bucket of a class with an unchanged limit keeps its tokens.
    pub fn set(&self, shaping: &Shaping, burst: Duration, now: Instant) {
        let mut buckets = lock(&self.buckets);
        for (bucket, limit) in buckets.iter_mut().zip(shaping.limits) {
            if bucket.as_ref().map(Bucket::rate) != limit {
                // Limits change often: refilling the bucket each time would void the limit.
                *bucket = limit.map(|rate| match bucket.take() {
                    Some(before) => before.at_rate(rate, burst, now),
                    None => Bucket::new(rate, burst, now),
                });
            }
        }
        self.is_limiting.store(buckets.iter().any(Option::is_some), Ordering::Relaxed);
        self.batching.store(shaping.batching, Ordering::Relaxed);
    }
}
