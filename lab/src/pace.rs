//! Packets sent evenly: so many in a second, a few at a time, without bursts. Whoever measures at
//! which rate something begins to lose measures its queues instead, where packets come by the
//! hundred.
use std::time::{Duration, Instant};

/// From one sending to the next, unless packets are further apart than that.
const STEP: Duration = Duration::from_micros(100);
/// What became due while somebody else had the processor is made up for as long as it is no more
/// than this; the rest is missed.
const LATE: Duration = Duration::from_millis(1);

/// A clock that says when how many packets are due.
#[derive(Debug)]
pub struct Pace {
    rate: f64,
    step: Duration,
    time: Duration,
    start: Instant,
    next: Duration,
    /// Until when what was due has been given or missed.
    last: Duration,
    due: f64,
    missed: f64,
}

impl Pace {
    /// So many packets in a second, for a time that begins now.
    pub fn new(rate: f64, time: Duration) -> Pace {
        Pace::in_runs(rate, time, 1)
    }

    /// The same, with so many packets or more at a time.
    pub fn in_runs(rate: f64, time: Duration, packets: u32) -> Pace {
        let step = Duration::try_from_secs_f64(f64::from(packets) / rate)
            .unwrap_or(time)
            .clamp(STEP, time.max(STEP));
        let (next, last) = (step, Duration::ZERO);
        Pace { rate, step, time, start: Instant::now(), next, last, due: 0.0, missed: 0.0 }
    }

    /// Sleeps until packets are due, and gives how many; `None` when the time is over. Threads that
    /// sleep for so short a time need a timer slack below it.
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

    /// What is due at a time since the start.
    fn at(&mut self, now: Duration) -> u32 {
        let now = now.clamp(self.last, self.time);
        self.due += self.rate * (now - self.last).as_secs_f64();
        self.last = now;
        let most = (self.rate * (self.step + LATE).as_secs_f64()).max(1.0);
        if self.due > most {
            self.missed += self.due - most;
            self.due = most;
        }
        while self.next <= now {
            self.next += self.step;
        }
        let packets = self.due as u32;
        self.due -= f64::from(packets);
        packets
    }

    /// The share of the packets that were not sent since the processor was somebody else's for too
    /// long: the rate was not the one that was asked for.
    pub fn missed(&self) -> f64 {
        self.missed / (self.rate * self.time.as_secs_f64()).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(rate: f64, times: impl Iterator<Item = u64>) -> (u32, u32, f64) {
        let mut pace = Pace::new(rate, Duration::from_secs(1));
        let each: Vec<u32> = times.map(|us| pace.at(Duration::from_micros(us))).collect();
        (each.iter().sum(), each.into_iter().max().unwrap_or(0), pace.missed())
    }

    #[test]
    fn packets_are_spread_evenly() {
        // A hundred thousand a second are ten every hundred microseconds.
        assert_eq!(sums(100_000.0, (0..=10_000).map(|n| n * 100)), (100_000, 10, 0.0));
        // Few packets come one at a time.
        assert_eq!(sums(250.0, (0..=250).map(|n| n * 4000)), (250, 1, 0.0));
        // An odd rate is met all the same, and nothing is sent twice.
        let (all, most, missed) = sums(33_333.0, (0..=10_000).map(|n| n * 100));
        assert!(
            (33_332..=33_333).contains(&all) && most <= 4 && missed == 0.0,
            "{all} {most} {missed}"
        );
    }

    #[test]
    fn what_was_missed_is_no_burst() {
        // Nobody had a processor for us for half a second.
        let (all, most, missed) = sums(100_000.0, (0..=2500).chain(7500..=10_000).map(|n| n * 100));
        assert!(most <= 110, "{most}");
        assert!((0.48..0.5).contains(&missed), "{missed}");
        assert!((50_000..52_000).contains(&all), "{all}");
    }

    #[test]
    fn it_ends_with_its_time() {
        let start = Instant::now();
        let mut pace = Pace::new(5000.0, Duration::from_millis(20));
        let mut all = 0;
        while let Some(packets) = pace.wait() {
            all += packets;
        }
        assert!(start.elapsed() >= Duration::from_millis(20));
        assert!(all <= 100 && f64::from(all) >= 99.0 - 100.0 * pace.missed(), "{all} {pace:?}");
    }
}
