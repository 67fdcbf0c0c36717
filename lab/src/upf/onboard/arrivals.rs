//! Frames that arrive at an interface at a constant rate, and wait in its queue. Time alone decides
//! when a frame arrives, so the load is offered in any case: a frame that finds the queue full is
//! lost, as at an interface whose CPU is too slow.
use std::time::{Duration, Instant};

/// Frames that the queue holds: those of the Ethernet interface of a Raspberry Pi 4 (bcmgenet).
pub const QUEUE: u64 = 256;
/// Frames that are taken at once, as by a poll of the kernel (NAPI).
const POLL: u64 = 64;
/// The longest time between two looks at an empty queue, as by an interface that coalesces its
/// interrupts. It is that of [`POLL`] frames at the lowest load of the study: a wake-up of the
/// threads costs a virtual machine as much CPU time as ten frames or more, so the number of
/// wake-ups has to grow with the load. A wake-up every 8 ms would use half of an emulated board's
/// share at any load.
const COALESCING: Duration = Duration::from_millis(50);

/// The queue.
#[derive(Debug)]
pub struct Arrivals {
    rate: f64,
    time: Duration,
    start: Instant,
    taken: u64,
    lost: u64,
}

impl Arrivals {
    /// Frames arrive at a rate per second, from now on, for a time.
    pub fn new(rate: f64, time: Duration) -> Arrivals {
        Arrivals { rate, time, start: Instant::now(), taken: 0, lost: 0 }
    }

    /// Sleeps until there are frames, and takes some; `None` when the time is over and the queue
    /// empty.
    pub fn wait(&mut self) -> Option<u32> {
        loop {
            let now = self.start.elapsed();
            let packets = self.take(now);
            if packets > 0 {
                return Some(packets);
            }
            if now >= self.time {
                return None;
            }
            std::thread::sleep(self.coalescing());
        }
    }

    /// The time in which the frames of one poll arrive, if it is shorter than [`COALESCING`].
    fn coalescing(&self) -> Duration {
        Duration::try_from_secs_f64(POLL as f64 / self.rate).unwrap_or(COALESCING).min(COALESCING)
    }

    /// Takes frames from the queue at a time since the start.
    fn take(&mut self, now: Duration) -> u32 {
        let arrived = (self.rate * now.min(self.time).as_secs_f64()) as u64;
        let mut waiting = arrived - self.taken - self.lost;
        self.lost += waiting.saturating_sub(QUEUE);
        waiting = waiting.min(QUEUE);
        let taken = waiting.min(POLL);
        self.taken += taken;
        taken as u32
    }

    /// All frames that arrived so far, taken or lost.
    pub fn arrived(&self) -> u64 {
        self.taken + self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn frames_that_find_the_queue_full_are_lost() {
        let mut queue = Arrivals::new(10_000.0, at(1000));
        assert_eq!((queue.take(at(0)), queue.take(at(1)), queue.take(at(1))), (0, 10, 0));
        // A hundred milliseconds without the CPU: a thousand frames for a queue of 256.
        let polls: Vec<u32> = (0..5).map(|_| queue.take(at(101))).collect();
        assert_eq!((polls, queue.lost), (vec![64, 64, 64, 64, 0], 744));
        // Nothing arrives after the end.
        while queue.take(at(2000)) > 0 {}
        assert_eq!(queue.arrived(), 10_000);
    }

    #[test]
    fn the_frames_between_two_looks_are_one_poll_at_most() {
        let coalescing = |rate| Arrivals::new(rate, at(1000)).coalescing();
        assert_eq!(coalescing(1_000.0), COALESCING);
        assert_eq!(coalescing(64_000.0), at(1));
        assert_eq!(coalescing(0.0), COALESCING);
    }
}
