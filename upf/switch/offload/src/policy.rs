//! Selects the sessions to offload at each sample, from the bytes that each has transferred since
//! the last one. No I/O, no clock.
use martlet_upf_config::{OffloadPolicy, SwitchConfig};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// A sample of a session.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    pub seid: u64,
    /// Bytes since the last sample, on either path.
    pub bytes: u64,
    /// Whether the session is on the switch.
    pub on_switch: bool,
    /// Whether policy and switch allow offloading it.
    pub eligible: bool,
}

/// The moves to make.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Decision {
    /// Sessions to withdraw, before any others are offloaded.
    pub off: Vec<u64>,
    /// Sessions to offload, the fastest first.
    pub on: Vec<u64>,
}

/// The history of a session.
#[derive(Debug, Clone, Copy)]
struct History {
    /// Continuously hot since.
    hot: Option<Instant>,
    /// Continuously cold since.
    cold: Option<Instant>,
    /// Time of the last move.
    moved: Option<Instant>,
    /// Smoothed rate in bytes per second.
    rate: u64,
    /// Consecutive failed attempts to move it.
    tries: u8,
}

/// Attempts without a pause.
const TRIES: u8 = 5;

/// The configuration and the history of all sessions.
pub(super) struct Policy {
    by_heat: bool,
    max: usize,
    /// Bytes per second.
    hot: u64,
    cold: u64,
    hot_for: Duration,
    cold_for: Duration,
    stay: Duration,
    displace: u64,
    history: HashMap<u64, History>,
    last: Option<Instant>,
}

impl Policy {
    pub fn new(config: &SwitchConfig) -> Self {
        let bytes = |kbps: u64| kbps.saturating_mul(125);
        let by_heat = config.policy == OffloadPolicy::Hot;
        Policy {
            by_heat,
            max: config.sessions,
            hot: bytes(config.hot_kbps),
            cold: bytes(config.cold_kbps),
            hot_for: Duration::from_millis(config.hot_ms),
            cold_for: Duration::from_millis(config.cold_ms),
            stay: Duration::from_millis(config.stay_ms),
            displace: config.displace.max(1),
            history: HashMap::new(),
            last: None,
        }
    }

    /// Removes the history of a session.
    pub fn forget(&mut self, seid: u64) {
        self.history.remove(&seid);
    }

    /// N4 changed a session, which left the switch for that: it may return at once.
    pub fn released(&mut self, seid: u64) {
        if let Some(history) = self.history.get_mut(&seid) {
            history.moved = None;
        }
    }

    /// A move failed: the session is treated as if it had just moved.
    pub fn failed(&mut self, seid: u64, now: Instant) {
        if let Some(history) = self.history.get_mut(&seid) {
            (history.moved, history.tries) = (Some(now), 0);
        }
    }

    /// A move failed for a temporary reason: it is decided again at the next sample, unless the
    /// session has used its attempts.
    pub fn again(&mut self, seid: u64, now: Instant) {
        let hot = now.checked_sub(self.hot_for);
        let Some(history) = self.history.get_mut(&seid) else { return };
        history.tries += 1;
        if history.tries > TRIES {
            return self.failed(seid, now);
        }
        (history.moved, history.hot) = (None, hot);
    }

    /// A move succeeded.
    pub fn arrived(&mut self, seid: u64) {
        if let Some(history) = self.history.get_mut(&seid) {
            history.tries = 0;
        }
    }

    /// The rate of a session in bytes per second.
    pub fn rate(&self, seid: u64) -> u64 {
        self.history.get(&seid).map_or(0, |history| history.rate)
    }

    /// Decides from samples of all sessions.
    pub fn decide(&mut self, now: Instant, samples: &[Sample]) -> Decision {
        let since = self.last.replace(now).map(|last| now.saturating_duration_since(last));
        let mut decision = Decision::default();
        let (mut offloaded, mut candidates) = (Vec::new(), Vec::new());
        let mut on_switch = 0;
        for sample in samples {
            let history = self.history.entry(sample.seid).or_insert(History {
                hot: None,
                cold: None,
                moved: None,
                rate: 0,
                tries: 0,
            });
            let mut hot = false;
            if let Some(since) = since.filter(|since| !since.is_zero()) {
                let rate = (u128::from(sample.bytes) * 1_000_000_000 / since.as_nanos()) as u64;
                history.rate = (history.rate + rate) / 2;
                // The rate applies to the whole interval.
                let began = now - since;
                hot = rate >= self.hot;
                history.hot = hot.then(|| history.hot.unwrap_or(began));
                history.cold = (rate < self.cold).then(|| history.cold.unwrap_or(began));
            }
            let rests =
                history.moved.is_some_and(|moved| now.saturating_duration_since(moved) < self.stay);
            let for_long = |since: Option<Instant>, long| {
                since.is_some_and(|s| now.saturating_duration_since(s) >= long)
            };
            if sample.on_switch {
                let cold = self.by_heat && !rests && for_long(history.cold, self.cold_for);
                if !sample.eligible || cold {
                    decision.off.push(sample.seid);
                    history.moved = Some(now);
                } else {
                    on_switch += 1;
                    if !rests {
                        offloaded.push((history.rate, sample.seid));
                    }
                }
            } else if sample.eligible
                && !rests
                && (!self.by_heat || hot && for_long(history.hot, self.hot_for))
            {
                candidates.push((history.rate, sample.seid));
            }
        }
        candidates.sort_unstable_by_key(|candidate| Reverse(*candidate));
        // The slowest last, where candidates for eviction are taken from.
        offloaded.sort_unstable_by_key(|session| Reverse(*session));
        for (rate, seid) in candidates {
            if on_switch >= self.max {
                let lighter = offloaded
                    .last()
                    .filter(|(other, _)| other.saturating_mul(self.displace) < rate);
                let Some((_, other)) = lighter.copied() else { break };
                offloaded.pop();
                decision.off.push(other);
                self.moved(other, now);
                on_switch -= 1;
            }
            decision.on.push(seid);
            self.moved(seid, now);
            on_switch += 1;
        }
        decision
    }

    fn moved(&mut self, seid: u64, now: Instant) {
        if let Some(history) = self.history.get_mut(&seid) {
            (history.moved, history.hot, history.cold) = (Some(now), None, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sessions with their bit rates, and a clock.
    struct Simulation {
        policy: Policy,
        now: Instant,
        on: Vec<u64>,
        rates: HashMap<u64, u64>,
        eligible: fn(u64) -> bool,
    }

    const STEP: Duration = Duration::from_millis(100);

    impl Simulation {
        fn new(config: SwitchConfig) -> Simulation {
            let policy = Policy::new(&config);
            Simulation {
                policy,
                now: Instant::now(),
                on: vec![],
                rates: HashMap::new(),
                eligible: |_| true,
            }
        }

        fn step(&mut self) -> Decision {
            self.now += STEP;
            let mut seids: Vec<u64> = self.rates.keys().copied().collect();
            seids.sort_unstable();
            let sample = |seid: u64| Sample {
                seid,
                bytes: self.rates[&seid] / 80,
                on_switch: self.on.contains(&seid),
                eligible: (self.eligible)(seid),
            };
            let samples: Vec<Sample> = seids.into_iter().map(sample).collect();
            let decision = self.policy.decide(self.now, &samples);
            self.on.retain(|seid| !decision.off.contains(seid));
            self.on.extend(&decision.on);
            decision
        }

        fn steps(&mut self, n: usize) -> usize {
            (0..n).filter(|_| self.step() != Decision::default()).count()
        }
    }

    fn config(sessions: usize) -> SwitchConfig {
        SwitchConfig { sessions, ..SwitchConfig::default() }
    }

    #[test]
    fn a_hot_session_moves_within_half_a_second() {
        let mut simulation = Simulation::new(config(10));
        simulation.rates.insert(1, 1_000_000);
        assert_eq!(simulation.steps(20), 0);
        simulation.rates.insert(1, 50_000_000);
        let hot = simulation.now;
        while simulation.step().on.is_empty() {
            assert!(simulation.now - hot < Duration::from_secs(1));
        }
        assert!(simulation.now - hot <= Duration::from_millis(300), "{:?}", simulation.now - hot);
    }

    #[test]
    fn a_short_burst_moves_nothing() {
        let mut simulation = Simulation::new(config(10));
        for _ in 0..50 {
            simulation.rates.insert(1, 50_000_000);
            simulation.step();
            simulation.rates.insert(1, 0);
            assert_eq!(simulation.steps(2), 0);
        }
        assert!(simulation.on.is_empty());
    }

    #[test]
    fn a_session_stays_until_it_was_cold_for_long() {
        let mut simulation = Simulation::new(config(10));
        simulation.rates.insert(1, 50_000_000);
        simulation.steps(5);
        assert_eq!(simulation.on, [1]);
        // Between cold and hot it stays.
        simulation.rates.insert(1, 5_000_000);
        assert_eq!(simulation.steps(600), 0);
        simulation.rates.insert(1, 100_000);
        assert_eq!(simulation.steps(49), 0);
        simulation.steps(3);
        assert!(simulation.on.is_empty());
    }

    #[test]
    fn a_full_switch_has_the_fastest_sessions_and_does_not_flap() {
        let mut simulation = Simulation::new(config(3));
        for seid in 1..=10 {
            simulation.rates.insert(seid, 10_000_000 + seid * 1_000_000);
        }
        simulation.steps(30);
        simulation.on.sort_unstable();
        assert_eq!(simulation.on, [8, 9, 10]);
        // A slightly faster session evicts none.
        simulation.rates.insert(1, 30_000_000);
        assert_eq!(simulation.steps(100), 0);
        // A much faster session evicts the slowest.
        simulation.rates.insert(1, 90_000_000);
        let before = simulation.steps(100);
        simulation.on.sort_unstable();
        assert_eq!((before, &simulation.on[..]), (1, &[1, 9, 10][..]));
    }

    #[test]
    fn other_policies_offload_all_eligible_sessions() {
        let mut simulation =
            Simulation::new(SwitchConfig { policy: OffloadPolicy::All, ..config(100) });
        simulation.eligible = |seid| seid % 2 == 0;
        for seid in 1..=20 {
            simulation.rates.insert(seid, 0);
        }
        simulation.step();
        assert_eq!(simulation.on.len(), 10);
        assert_eq!(simulation.steps(1000), 0, "idle sessions stay");
        simulation.eligible = |_| false;
        simulation.step();
        assert!(simulation.on.is_empty());
    }

    #[test]
    fn a_failed_move_is_not_retried_at_once() {
        let mut simulation = Simulation::new(config(10));
        simulation.rates.insert(1, 50_000_000);
        simulation.steps(3);
        assert_eq!(simulation.on, [1]);
        simulation.on.clear();
        simulation.policy.failed(1, simulation.now);
        assert_eq!(simulation.steps(9), 0);
        assert_eq!(simulation.steps(4), 1);
    }

    #[test]
    fn temporary_failures_are_retried_a_limited_number_of_times() {
        let mut simulation = Simulation::new(config(10));
        simulation.rates.insert(1, 50_000_000);
        simulation.steps(3);
        for _ in 0..TRIES {
            assert_eq!(simulation.on, [1]);
            simulation.on.clear();
            simulation.policy.again(1, simulation.now);
            simulation.step();
        }
        assert_eq!(simulation.on, [1]);
        simulation.on.clear();
        simulation.policy.again(1, simulation.now);
        assert_eq!(simulation.steps(9), 0, "the attempts are used");
        assert_eq!(simulation.steps(4), 1);
        // A successful move resets the attempts.
        simulation.policy.arrived(1);
        simulation.on.clear();
        simulation.policy.again(1, simulation.now);
        simulation.step();
        assert_eq!(simulation.on, [1]);
    }
}
