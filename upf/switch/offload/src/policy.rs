//! Which sessions are on the switch: a decision made anew at each look, from what each of them has
//! carried since the last. Knows neither the switch nor a clock.
use martlet_upf_config::{OffloadPolicy, SwitchConfig};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// What was seen of a session at one look.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    pub seid: u64,
    /// Bytes that it has carried since the last look, on whichever path.
    pub bytes: u64,
    /// The switch carries it.
    pub on_switch: bool,
    /// The policy lets the switch carry it, and the switch can.
    pub eligible: bool,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Decision {
    /// Off the switch, before anything comes.
    pub off: Vec<u64>,
    /// Onto it, the heaviest first.
    pub on: Vec<u64>,
}

/// What is remembered of a session.
#[derive(Debug, Clone, Copy)]
struct Seen {
    /// Since when it has been hot without a break.
    hot: Option<Instant>,
    /// Since when it has been cold without a break.
    cold: Option<Instant>,
    /// When it moved last.
    moved: Option<Instant>,
    /// Bytes in a second, evened out over some looks.
    rate: u64,
    /// Moves that did not come about, one after the other.
    tries: u8,
}

/// A session is tried again so often at once.
const TRIES: u8 = 5;

/// The rules of the decision, and what it remembers.
pub(super) struct Policy {
    by_heat: bool,
    most: usize,
    /// Bytes in a second.
    hot: u64,
    cold: u64,
    hot_for: Duration,
    cold_for: Duration,
    stay: Duration,
    displace: u64,
    seen: HashMap<u64, Seen>,
    last: Option<Instant>,
}

impl Policy {
    pub fn new(config: &SwitchConfig) -> Self {
        let bytes = |kbps: u64| kbps.saturating_mul(125);
        let by_heat = config.policy == OffloadPolicy::Hot;
        Policy {
            by_heat,
            most: config.sessions,
            hot: bytes(config.hot_kbps),
            cold: bytes(config.cold_kbps),
            hot_for: Duration::from_millis(config.hot_ms),
            cold_for: Duration::from_millis(config.cold_ms),
            stay: Duration::from_millis(config.stay_ms),
            displace: config.displace.max(1),
            seen: HashMap::new(),
            last: None,
        }
    }

    /// Forgets a session.
    pub fn forget(&mut self, seid: u64) {
        self.seen.remove(&seid);
    }

    /// N4 changed a session, which left the switch for it: it may come back at once.
    pub fn released(&mut self, seid: u64) {
        if let Some(seen) = self.seen.get_mut(&seid) {
            seen.moved = None;
        }
    }

    /// A move that was decided did not come about: the session is taken for one that has just
    /// moved.
    pub fn failed(&mut self, seid: u64, now: Instant) {
        if let Some(seen) = self.seen.get_mut(&seid) {
            (seen.moved, seen.tries) = (Some(now), 0);
        }
    }

    /// A move that was decided did not come about, for a reason that passes: the next look decides
    /// anew, but for a session that has had its tries.
    pub fn again(&mut self, seid: u64, now: Instant) {
        let hot = now.checked_sub(self.hot_for);
        let Some(seen) = self.seen.get_mut(&seid) else { return };
        seen.tries += 1;
        if seen.tries > TRIES {
            return self.failed(seid, now);
        }
        (seen.moved, seen.hot) = (None, hot);
    }

    /// A move came about.
    pub fn arrived(&mut self, seid: u64) {
        if let Some(seen) = self.seen.get_mut(&seid) {
            seen.tries = 0;
        }
    }

    /// Bytes in a second that a session carries.
    pub fn rate(&self, seid: u64) -> u64 {
        self.seen.get(&seid).map_or(0, |seen| seen.rate)
    }

    /// Decides, from samples of all sessions.
    pub fn look(&mut self, now: Instant, samples: &[Sample]) -> Decision {
        let since = self.last.replace(now).map(|last| now.saturating_duration_since(last));
        let mut decision = Decision::default();
        let (mut there, mut candidates) = (Vec::new(), Vec::new());
        let mut on_switch = 0;
        for sample in samples {
            let seen = self.seen.entry(sample.seid).or_insert(Seen {
                hot: None,
                cold: None,
                moved: None,
                rate: 0,
                tries: 0,
            });
            let mut hot = false;
            if let Some(since) = since.filter(|since| !since.is_zero()) {
                let rate = (u128::from(sample.bytes) * 1_000_000_000 / since.as_nanos()) as u64;
                seen.rate = (seen.rate + rate) / 2;
                // It was so all the time since the last look, or it would not have come to this
                // rate.
                let began = now - since;
                hot = rate >= self.hot;
                seen.hot = hot.then(|| seen.hot.unwrap_or(began));
                seen.cold = (rate < self.cold).then(|| seen.cold.unwrap_or(began));
            }
            let rests =
                seen.moved.is_some_and(|moved| now.saturating_duration_since(moved) < self.stay);
            let for_long = |since: Option<Instant>, long| {
                since.is_some_and(|s| now.saturating_duration_since(s) >= long)
            };
            if sample.on_switch {
                let cold = self.by_heat && !rests && for_long(seen.cold, self.cold_for);
                if !sample.eligible || cold {
                    decision.off.push(sample.seid);
                    seen.moved = Some(now);
                } else {
                    on_switch += 1;
                    if !rests {
                        there.push((seen.rate, sample.seid));
                    }
                }
            } else if sample.eligible
                && !rests
                && (!self.by_heat || hot && for_long(seen.hot, self.hot_for))
            {
                candidates.push((seen.rate, sample.seid));
            }
        }
        candidates.sort_unstable_by_key(|candidate| Reverse(*candidate));
        // The lightest last, to be taken from there.
        there.sort_unstable_by_key(|session| Reverse(*session));
        for (rate, seid) in candidates {
            if on_switch >= self.most {
                let lighter =
                    there.last().filter(|(other, _)| other.saturating_mul(self.displace) < rate);
                let Some((_, other)) = lighter.copied() else { break };
                there.pop();
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
        if let Some(seen) = self.seen.get_mut(&seid) {
            (seen.moved, seen.hot, seen.cold) = (Some(now), None, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sessions, what each carries in bits a second, and a clock.
    struct World {
        policy: Policy,
        now: Instant,
        on: Vec<u64>,
        rates: HashMap<u64, u64>,
        eligible: fn(u64) -> bool,
    }

    const STEP: Duration = Duration::from_millis(100);

    impl World {
        fn new(config: SwitchConfig) -> World {
            let policy = Policy::new(&config);
            World {
                policy,
                now: Instant::now(),
                on: vec![],
                rates: HashMap::new(),
                eligible: |_| true,
            }
        }

        fn look(&mut self) -> Decision {
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
            let decision = self.policy.look(self.now, &samples);
            self.on.retain(|seid| !decision.off.contains(seid));
            self.on.extend(&decision.on);
            decision
        }

        fn looks(&mut self, n: usize) -> usize {
            (0..n).filter(|_| self.look() != Decision::default()).count()
        }
    }

    fn config(sessions: usize) -> SwitchConfig {
        SwitchConfig { sessions, ..SwitchConfig::default() }
    }

    #[test]
    fn a_session_that_becomes_hot_is_on_its_way_within_half_a_second() {
        let mut world = World::new(config(10));
        world.rates.insert(1, 1_000_000);
        assert_eq!(world.looks(20), 0);
        world.rates.insert(1, 50_000_000);
        let hot = world.now;
        while world.look().on.is_empty() {
            assert!(world.now - hot < Duration::from_secs(1));
        }
        assert!(world.now - hot <= Duration::from_millis(300), "{:?}", world.now - hot);
    }

    #[test]
    fn a_short_burst_moves_nothing() {
        let mut world = World::new(config(10));
        for _ in 0..50 {
            world.rates.insert(1, 50_000_000);
            world.look();
            world.rates.insert(1, 0);
            assert_eq!(world.looks(2), 0);
        }
        assert!(world.on.is_empty());
    }

    #[test]
    fn it_stays_until_it_has_been_cold_for_long() {
        let mut world = World::new(config(10));
        world.rates.insert(1, 50_000_000);
        world.looks(5);
        assert_eq!(world.on, [1]);
        // Between cold and hot it stays, for ever.
        world.rates.insert(1, 5_000_000);
        assert_eq!(world.looks(600), 0);
        world.rates.insert(1, 100_000);
        assert_eq!(world.looks(49), 0);
        world.looks(3);
        assert!(world.on.is_empty());
    }

    #[test]
    fn a_full_table_has_the_heaviest_and_does_not_flap() {
        let mut world = World::new(config(3));
        for seid in 1..=10 {
            world.rates.insert(seid, 10_000_000 + seid * 1_000_000);
        }
        world.looks(30);
        world.on.sort_unstable();
        assert_eq!(world.on, [8, 9, 10]);
        // What is but a little heavier moves nobody.
        world.rates.insert(1, 30_000_000);
        assert_eq!(world.looks(100), 0);
        // What is much heavier takes the place of the lightest.
        world.rates.insert(1, 90_000_000);
        let before = world.looks(100);
        world.on.sort_unstable();
        assert_eq!((before, &world.on[..]), (1, &[1, 9, 10][..]));
    }

    #[test]
    fn with_another_policy_all_that_may_be_there_is() {
        let mut world = World::new(SwitchConfig { policy: OffloadPolicy::All, ..config(100) });
        world.eligible = |seid| seid % 2 == 0;
        for seid in 1..=20 {
            world.rates.insert(seid, 0);
        }
        world.look();
        assert_eq!(world.on.len(), 10);
        assert_eq!(world.looks(1000), 0, "idle as they are, they stay");
        world.eligible = |_| false;
        world.look();
        assert!(world.on.is_empty());
    }

    #[test]
    fn one_that_failed_is_not_tried_at_once() {
        let mut world = World::new(config(10));
        world.rates.insert(1, 50_000_000);
        world.looks(3);
        assert_eq!(world.on, [1]);
        world.on.clear();
        world.policy.failed(1, world.now);
        assert_eq!(world.looks(9), 0);
        assert_eq!(world.looks(4), 1);
    }

    #[test]
    fn what_passes_is_tried_again_at_once_and_not_for_ever() {
        let mut world = World::new(config(10));
        world.rates.insert(1, 50_000_000);
        world.looks(3);
        for _ in 0..TRIES {
            assert_eq!(world.on, [1]);
            world.on.clear();
            world.policy.again(1, world.now);
            world.look();
        }
        assert_eq!(world.on, [1]);
        world.on.clear();
        world.policy.again(1, world.now);
        assert_eq!(world.looks(9), 0, "it has had its tries");
        assert_eq!(world.looks(4), 1);
        // What came about gives it all of them anew.
        world.policy.arrived(1);
        world.on.clear();
        world.policy.again(1, world.now);
        world.look();
        assert_eq!(world.on, [1]);
    }
}
