//! Packets sent at a constant rate, a few at a time. A loss rate that is measured with bursts shows
//! the length of queues, not the capacity behind them.
use std::time::{Duration, Instant};

/// Least time between two sendings.
const STEP: Duration = Duration::from_micros(100);
/// Packets that become due while this thread is preempted are sent afterwards, up to this time's
/// worth; the rest counts as missed.
const LATE: Duration = Duration::from_millis(1);

/// Computes how many packets are due at a time.
#[derive(Debug)]
pub struct Pacer {
    rate: f64,
    step: Duration,
    time: Duration,
    start: Instant,
    next: Duration,
    /// Time up to which due packets are counted.
    last: Duration,
    due: f64,
    missed: f64,
}

impl Pacer {
    /// A constant rate in packets per second, for a time that begins now.
    pub fn new(rate: f64, time: Duration) -> Pacer {
        Pacer::in_bursts(rate, time, 1)
    }

    /// The same rate in bursts of at least so many packets.
    pub fn in_bursts(rate: f64, time: Duration, packets: u32) -> Pacer {
        let step = Duration::try_from_secs_f64(f64::from(packets) / rate)
            .unwrap_or(time)
            .clamp(STEP, time.max(STEP));
        let (next, last) = (step, Duration::ZERO);
        Pacer { rate, step, time, start: Instant::now(), next, last, due: 0.0, missed: 0.0 }
    }

    /// Sleeps until packets are due and returns their number; `None` when the time is over. The
    /// timer slack of the thread has to be shorter than the step.
    pub fn wait(&mut self) -> Option<u32> {
        loop {
            if self.last >= self.time {
                return None;
            }
            if let Some(left) = self.next.checked_sub(self.start.elapsed()) {
                std::thread::sleep(left);
            }
            let packets = self.at(self.start.elapsed());
            if packets > 0 {
                return Some(packets);
            }
        }
    }

    /// The packets that are due at a time since the start.
    fn at(&mut self, now: Duration) -> u32 {
        let now = now.clamp(self.last, self.time);
        self.due += self.rate * (now - self.last).as_secs_f64();
        self.last = now;
        let max = (self.rate * (self.step + LATE).as_secs_f64()).max(1.0);
        if self.due > max {
            self.missed += self.due - max;
            self.due = max;
        }
        while self.next <= now {
            self.next += self.step;
        }
        let packets = self.due as u32;
        self.due -= f64::from(packets);
        packets
    }

    /// The share of packets that were not sent because the thread was preempted for too long. The
    /// actual rate was lower by this share.
    pub fn missed(&self) -> f64 {
        self.missed / (self.rate * self.time.as_secs_f64()).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(rate: f64, times: impl Iterator<Item = u64>) -> (u32, u32, f64) {
        let mut pace = Pacer::new(rate, Duration::from_secs(1));
        let each: Vec<u32> = times.map(|us| pace.at(Duration::from_micros(us))).collect();
        (each.iter().sum(), each.into_iter().max().unwrap_or(0), pace.missed())
    }

    #[test]
    fn packets_are_evenly_spaced() {
        // A hundred thousand a second are ten every hundred microseconds.
        assert_eq!(sums(100_000.0, (0..=10_000).map(|n| n * 100)), (100_000, 10, 0.0));
        // Few packets come one at a time.
        assert_eq!(sums(250.0, (0..=250).map(|n| n * 4000)), (250, 1, 0.0));
        // A rate that does not divide the time is met too, and nothing is sent twice.
        let (all, max, missed) = sums(33_333.0, (0..=10_000).map(|n| n * 100));
        assert!(
            (33_332..=33_333).contains(&all) && max <= 4 && missed == 0.0,
            "{all} {max} {missed}"
        );
    }

    #[test]
    fn missed_packets_are_not_sent_as_a_burst() {
        // The thread is preempted for half a second.
        let (all, max, missed) = sums(100_000.0, (0..=2500).chain(7500..=10_000).map(|n| n * 100));
        assert!(max <= 110, "{max}");
        assert!((0.48..0.5).contains(&missed), "{missed}");
        assert!((50_000..52_000).contains(&all), "{all}");
    }

    #[test]
    fn it_ends_when_the_time_is_over() {
        let start = Instant::now();
        let mut pace = Pacer::new(5000.0, Duration::from_millis(20));
        let mut all = 0;
        while let Some(packets) = pace.wait() {
            all += packets;
        }
        assert!(start.elapsed() >= Duration::from_millis(20));
        assert!(all <= 100 && f64::from(all) >= 99.0 - 100.0 * pace.missed(), "{all} {pace:?}");
    }
}
