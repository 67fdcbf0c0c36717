//! How much load a board may have, and which flows pay for it.
use crate::model::Model;
use serde::{Deserialize, Serialize};

/// Flows by how much they matter: never shaped (with a guaranteed bit rate), shaped first, shaped
/// then.
pub const CLASSES: usize = 3;

/// The thermal governor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GovernorConfig {
    /// Whether it is at work.
    pub enabled: bool,
    /// °C below which the board is to stay: below that of the CPU's own throttling.
    pub set_point: f64,
    /// Prediction horizon in seconds.
    pub window_s: f64,
    /// Seconds between steps.
    pub interval_s: f64,
    /// QFIs of flows that are shaped before others.
    pub lowest: Vec<u8>,
    /// Bits per second that flows of a class keep together, however warm it is.
    pub least_rate: u64,
}

impl Default for GovernorConfig {
    fn default() -> Self {
        GovernorConfig {
            enabled: false,
            set_point: 75.0,
            window_s: 60.0,
            interval_s: 1.0,
            lowest: Vec::new(),
            least_rate: 64_000,
        }
    }
}

/// Input of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seen {
    /// °C.
    pub temperature: f64,
    /// Share of the CPU's time since the last look, 0 to 1.
    pub load: f64,
    /// Bits per second that each class forwarded since then.
    pub rates: [f64; CLASSES],
    /// Whether packets of shaped flows were dropped for it since then.
    pub met: bool,
}

/// Decision for the next interval.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Decision {
    /// Whether packets are processed in batches.
    pub batching: bool,
    /// Bits per second that each class may have; none: as much as there is.
    pub limits: [Option<u64>; CLASSES],
    /// °C in a window, if nothing were done.
    pub predicted: f64,
    /// The load with which it would stay below the set point, 0 to 1.
    pub allowed: f64,
}

impl Decision {
    /// Whether anything is done.
    pub fn acts(&self) -> bool {
        self.batching || self.limits.iter().any(Option::is_some)
    }
}

/// Kelvin below the set point that it aims at: the sensor has steps, and packets come in bursts.
const MARGIN: f64 = 1.0;
/// Of the way to a rate that is allowed, so much is gone at each look: down at once, up slowly.
const UP: f64 = 0.1;
/// Looks without a packet dropped after which a limit is taken away.
const UNMET: u32 = 15;
/// Load that is there without packets, at the least.
const BASE: f64 = 0.02;

/// The governor.
#[derive(Debug)]
pub struct Governor {
    config: GovernorConfig,
    model: Model,
    looks: u32,
    looks_a_span: u32,
    since: Option<f64>,
    load_sum: f64,
    /// The load without packets, as far as it was seen.
    base: f64,
    /// Bits per second of all that may be shaped.
    budget: Option<f64>,
    smooth: Option<(f64, [f64; CLASSES])>,
    unmet: u32,
    batching: bool,
}

impl Governor {
    /// One that knows nothing of its board yet.
    pub fn new(config: GovernorConfig) -> Self {
        let interval = config.interval_s.max(0.001);
        let looks_a_span = ((config.window_s / 6.0) / interval).round().max(1.0) as u32;
        // Before it has learnt, it takes the board for one that warms as much and as fast as a
        // small board may.
        let model =
            Model::new(f64::from(looks_a_span) * interval, 1.5 * config.window_s, 40.0, 50.0);
        Governor {
            config,
            model,
            looks: 0,
            looks_a_span,
            since: None,
            load_sum: 0.0,
            base: 0.1,
            budget: None,
            smooth: None,
            unmet: 0,
            batching: false,
        }
    }

    /// What it has learnt.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Runs one step; call it once per interval.
    pub fn look(&mut self, seen: &Seen) -> Decision {
        self.learn(seen);
        let (load, rates) = self.smoothed(seen);
        let target = self.config.set_point - MARGIN;
        let predicted = self.model.predict(seen.temperature, load, self.config.window_s);
        let allowed = self.model.load_for(seen.temperature, target, self.config.window_s);
        let total: f64 = rates.iter().sum();
        if total < 1000.0 {
            // Nothing to do with packets: what load there is, is somebody else's.
            self.base = self.base * 0.9 + load * 0.1;
        }
        let shaped = self.budget.is_some();
        self.batching = if self.batching { predicted > target - 2.0 } else { predicted > target };
        if predicted > target || shaped {
            // Rates are changed in the proportion in which the load of packets is to change.
            let base = self.base.clamp(BASE, (load - 0.01).max(BASE));
            let of_packets = (load - base).max(0.01);
            let factor = ((allowed - base) / of_packets).clamp(0.0, 4.0);
            let wanted = total * factor;
            let budget = self.budget.unwrap_or(total);
            self.budget =
                Some(if wanted < budget { wanted } else { budget + (wanted - budget) * UP });
        }
        self.unmet = if seen.met { 0 } else { self.unmet + 1 };
        if self.unmet >= UNMET && predicted <= target {
            self.budget = None;
        }
        Decision { batching: self.batching, limits: self.limits(&rates), predicted, allowed }
    }

    /// What each class may have of the budget: those that are shaped first get what others leave.
    fn limits(&self, rates: &[f64; CLASSES]) -> [Option<u64>; CLASSES] {
        let Some(budget) = self.budget else { return [None; CLASSES] };
        let [never, first, then] = *rates;
        let rest = (budget - never).max(0.0);
        let least = self.config.least_rate;
        let of_first = rest - then;
        let limit = |rate: f64| Some((rate as u64).max(least));
        if of_first >= 0.0 && first >= 1000.0 {
            [None, limit(of_first), None]
        } else {
            [None, Some(least), limit(rest)]
        }
    }

    fn learn(&mut self, seen: &Seen) {
        self.load_sum += seen.load;
        self.looks += 1;
        let Some(from) = self.since else {
            (self.since, self.looks, self.load_sum) = (Some(seen.temperature), 0, 0.0);
            return;
        };
        if self.looks >= self.looks_a_span {
            self.model.learn(from, seen.temperature, self.load_sum / f64::from(self.looks));
            (self.since, self.looks, self.load_sum) = (Some(seen.temperature), 0, 0.0);
        }
    }

    fn smoothed(&mut self, seen: &Seen) -> (f64, [f64; CLASSES]) {
        let (load, rates) = self.smooth.unwrap_or((seen.load, seen.rates));
        let mix = |old: f64, new: f64| old * 0.6 + new * 0.4;
        let smooth = (mix(load, seen.load), std::array::from_fn(|n| mix(rates[n], seen.rates[n])));
        self.smooth = Some(smooth);
        smooth
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BoardConfig, SimulatedBoard};

    /// Full load by this many bits per second.
    const FULL: f64 = 60e6;

    struct Run {
        hottest: f64,
        throttled_s: f64,
        /// Mean bits per second of each class.
        carried: [f64; CLASSES],
        acted: bool,
    }

    /// A day's worth of seconds of demands on a board, with the governor or without.
    fn run(governed: bool, seconds: u32, demand: impl Fn(u32) -> [f64; CLASSES]) -> Run {
        let config = GovernorConfig { enabled: true, ..GovernorConfig::default() };
        let mut governor = Governor::new(config);
        let mut board = SimulatedBoard::new(BoardConfig::default());
        let mut decision = Decision::default();
        let mut run = Run { hottest: 0.0, throttled_s: 0.0, carried: [0.0; CLASSES], acted: false };
        for second in 0..seconds {
            let wanted = demand(second);
            let mut rates: [f64; CLASSES] = std::array::from_fn(|n| {
                decision.limits[n].map_or(wanted[n], |limit| wanted[n].min(limit as f64))
            });
            let met = (0..CLASSES).any(|n| rates[n] < wanted[n]);
            // Batches spare a tenth.
            let cost = if decision.batching { 0.9 } else { 1.0 };
            let load = board.pass(1.0, 0.05 + 0.95 * cost * rates.iter().sum::<f64>() / FULL);
            if load >= 1.0 {
                rates = rates.map(|rate| rate * board.capacity());
            }
            for (sum, rate) in run.carried.iter_mut().zip(rates) {
                *sum += rate / f64::from(seconds);
            }
            run.hottest = run.hottest.max(board.temperature());
            if governed {
                decision = governor.look(&Seen { temperature: board.sensor(), load, rates, met });
                run.acted |= decision.acts();
            }
        }
        run.throttled_s = board.throttled_s;
        run
    }

    #[test]
    fn without_it_the_board_throttles_and_with_it_stays_below_the_set_point() {
        let demand = |_| [5e6, 30e6, 20e6];
        let without = run(false, 3600, demand);
        assert!(without.throttled_s > 60.0 && without.hottest >= 80.0, "{}", without.hottest);
        let with = run(true, 3600, demand);
        assert_eq!(with.throttled_s, 0.0);
        assert!(with.hottest < 75.0, "{}", with.hottest);
        // It is not kept cooler than is asked for, and the flows that matter most lose nothing.
        assert!(with.hottest > 72.0, "{}", with.hottest);
        assert!(
            (with.carried[0] - 5e6).abs() < 1.0 && with.carried[2] > 19.5e6,
            "{:?}",
            with.carried
        );
        assert!(with.carried[1] > 5e6 && with.carried[1] < 25e6, "{:?}", with.carried);
    }

    #[test]
    fn bursts_after_quiet_stay_below_it_too() {
        let demand = |second: u32| {
            if (second / 300).is_multiple_of(2) { [0.0, 60e6, 0.0] } else { [0.0, 2e6, 0.0] }
        };
        let with = run(true, 7200, demand);
        assert!(with.hottest < 75.0, "{}", with.hottest);
        // Without a flow of the lowest class, the next one pays.
        let with = run(true, 3600, |_| [0.0, 0.0, 60e6]);
        assert!(
            with.hottest < 75.0 && with.carried[2] > 20e6,
            "{} {:?}",
            with.hottest,
            with.carried
        );
    }

    #[test]
    fn a_cool_board_is_left_alone() {
        let with = run(true, 3600, |_| [2e6, 10e6, 10e6]);
        assert!(!with.acted);
        assert!((with.carried[1] - 10e6).abs() < 1.0);
    }

    #[test]
    fn limits_go_away_when_it_is_cool_again() {
        let mut governor =
            Governor::new(GovernorConfig { enabled: true, ..GovernorConfig::default() });
        let mut board = SimulatedBoard::new(BoardConfig::default());
        let mut decision = Decision::default();
        for second in 0..3000 {
            let wanted: f64 = if second < 1500 { 60e6 } else { 1e6 };
            let rate = decision.limits[1].map_or(wanted, |limit| wanted.min(limit as f64));
            let load = board.pass(1.0, 0.05 + 0.95 * rate / FULL);
            let seen = Seen {
                temperature: board.sensor(),
                load,
                rates: [0.0, rate, 0.0],
                met: rate < wanted,
            };
            decision = governor.look(&seen);
            if second == 1499 {
                assert!(decision.limits[1].is_some() && decision.batching);
            }
        }
        assert_eq!((decision.limits, decision.batching), ([None; 3], false));
        assert!(
            (governor.model().time_constant() - 150.0).abs() < 75.0,
            "{}",
            governor.model().time_constant()
        );
    }
}
