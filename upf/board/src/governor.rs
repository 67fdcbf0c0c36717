//! The thermal governor: the load that a board may have, and the flows that are shaped for it.
use crate::model::Model;
use serde::{Deserialize, Serialize};

/// Flow classes by priority: never shaped (with a guaranteed bit rate), shaped first, shaped
/// second.
pub const CLASSES: usize = 3;

/// Configuration of the thermal governor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GovernorConfig {
    /// Whether the governor runs.
    pub enabled: bool,
    /// Maximum temperature of the board in °C, below the CPU's own throttling.
    pub set_point: f64,
    /// Prediction horizon in seconds.
    pub window_s: f64,
    /// Seconds between steps.
    pub interval_s: f64,
    /// QFIs of flows that are shaped before others.
    pub lowest: Vec<u8>,
    /// Minimum rate of a shaped class in bits per second, at any temperature.
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
pub struct Sample {
    /// Temperature in °C.
    pub temperature: f64,
    /// CPU utilisation since the last step, 0 to 1.
    pub load: f64,
    /// Bits per second that each class forwarded since the last step.
    pub rates: [f64; CLASSES],
    /// Whether a limit dropped packets since the last step.
    pub limited: bool,
}

/// Decision for the next interval.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Decision {
    /// Whether packets are processed in batches.
    pub batching: bool,
    /// Maximum bits per second of each class; none: unlimited.
    pub limits: [Option<u64>; CLASSES],
    /// Predicted temperature in °C at the end of the window, without intervention.
    pub predicted: f64,
    /// The load, 0 to 1, at which the board stays below the set point.
    pub allowed: f64,
}

impl Decision {
    /// Whether anything is limited or batched.
    pub fn acts(&self) -> bool {
        self.batching || self.limits.iter().any(Option::is_some)
    }
}

/// Distance of the target from the set point in kelvin: the sensor has steps, and traffic has
/// bursts.
const MARGIN_K: f64 = 1.0;
/// Share of the difference to a higher budget that each step adds. A lower budget applies at once.
const RISE: f64 = 0.1;
/// Steps without a dropped packet after which a limit is removed.
const UNLIMITED_STEPS: u32 = 15;
/// Minimum load without packets.
const MIN_BASE_LOAD: f64 = 0.02;

/// The governor.
#[derive(Debug)]
pub struct Governor {
    config: GovernorConfig,
    model: Model,
    steps: u32,
    steps_per_span: u32,
    since: Option<f64>,
    load_sum: f64,
    /// Estimated load without packets.
    base: f64,
    /// Bits per second of all classes together.
    budget: Option<f64>,
    smooth: Option<(f64, [f64; CLASSES])>,
    unlimited_steps: u32,
    batching: bool,
}

impl Governor {
    /// A governor without knowledge of its board.
    pub fn new(config: GovernorConfig) -> Self {
        let interval = config.interval_s.max(0.001);
        let steps_per_span = ((config.window_s / 6.0) / interval).round().max(1.0) as u32;
        // Initial model: the fastest and largest warming that a small board may have.
        let model =
            Model::new(f64::from(steps_per_span) * interval, 1.5 * config.window_s, 40.0, 50.0);
        Governor {
            config,
            model,
            steps: 0,
            steps_per_span,
            since: None,
            load_sum: 0.0,
            base: 0.1,
            budget: None,
            smooth: None,
            unlimited_steps: 0,
            batching: false,
        }
    }

    /// The fitted model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Runs one step; call it once per interval.
    pub fn step(&mut self, sample: &Sample) -> Decision {
        self.update_model(sample);
        let (load, rates) = self.smoothed(sample);
        let target = self.config.set_point - MARGIN_K;
        let predicted = self.model.predict(sample.temperature, load, self.config.window_s);
        let allowed = self.model.load_for(sample.temperature, target, self.config.window_s);
        let total: f64 = rates.iter().sum();
        if total < 1000.0 {
            // Without packets, the load is that of other programs.
            self.base = self.base * 0.9 + load * 0.1;
        }
        let shaped = self.budget.is_some();
        self.batching = if self.batching { predicted > target - 2.0 } else { predicted > target };
        if predicted > target || shaped {
            // Rates change in proportion to the load that packets cause.
            let base = self.base.clamp(MIN_BASE_LOAD, (load - 0.01).max(MIN_BASE_LOAD));
            let of_packets = (load - base).max(0.01);
            let factor = ((allowed - base) / of_packets).clamp(0.0, 4.0);
            let wanted = total * factor;
            let budget = self.budget.unwrap_or(total);
            self.budget =
                Some(if wanted < budget { wanted } else { budget + (wanted - budget) * RISE });
        }
        self.unlimited_steps = if sample.limited { 0 } else { self.unlimited_steps + 1 };
        if self.unlimited_steps >= UNLIMITED_STEPS && predicted <= target {
            self.budget = None;
        }
        Decision { batching: self.batching, limits: self.limits(&rates), predicted, allowed }
    }

    /// Divides the budget: the class that is shaped first gets what the others leave.
    fn limits(&self, rates: &[f64; CLASSES]) -> [Option<u64>; CLASSES] {
        let Some(budget) = self.budget else { return [None; CLASSES] };
        let [never, first, then] = *rates;
        let rest = (budget - never).max(0.0);
        let min = self.config.least_rate;
        let of_first = rest - then;
        let limit = |rate: f64| Some((rate as u64).max(min));
        if of_first >= 0.0 && first >= 1000.0 {
            [None, limit(of_first), None]
        } else {
            [None, Some(min), limit(rest)]
        }
    }

    fn update_model(&mut self, sample: &Sample) {
        self.load_sum += sample.load;
        self.steps += 1;
        let Some(from) = self.since else {
            (self.since, self.steps, self.load_sum) = (Some(sample.temperature), 0, 0.0);
            return;
        };
        if self.steps >= self.steps_per_span {
            self.model.update(from, sample.temperature, self.load_sum / f64::from(self.steps));
            (self.since, self.steps, self.load_sum) = (Some(sample.temperature), 0, 0.0);
        }
    }

    fn smoothed(&mut self, sample: &Sample) -> (f64, [f64; CLASSES]) {
        let (load, rates) = self.smooth.unwrap_or((sample.load, sample.rates));
        let mix = |old: f64, new: f64| old * 0.6 + new * 0.4;
        let smooth =
            (mix(load, sample.load), std::array::from_fn(|n| mix(rates[n], sample.rates[n])));
        self.smooth = Some(smooth);
        smooth
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BoardConfig, SimulatedBoard};

    /// Bits per second that cause full load.
    const FULL: f64 = 60e6;

    struct Run {
        hottest: f64,
        throttled_s: f64,
        /// Mean bits per second of each class.
        carried: [f64; CLASSES],
        acted: bool,
    }

    /// Applies a demand per second to a board, with the governor or without.
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
            let limited = (0..CLASSES).any(|n| rates[n] < wanted[n]);
            // Batches save a tenth of the load.
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
                decision =
                    governor.step(&Sample { temperature: board.sensor(), load, rates, limited });
                run.acted |= decision.acts();
            }
        }
        run.throttled_s = board.throttled_s;
        run
    }

    #[test]
    fn the_governor_keeps_a_throttling_board_below_the_set_point() {
        let demand = |_| [5e6, 30e6, 20e6];
        let without = run(false, 3600, demand);
        assert!(without.throttled_s > 60.0 && without.hottest >= 80.0, "{}", without.hottest);
        let with = run(true, 3600, demand);
        assert_eq!(with.throttled_s, 0.0);
        assert!(with.hottest < 75.0, "{}", with.hottest);
        // The board is not cooled below the target, and the classes of higher priority lose
        // nothing.
        assert!(with.hottest > 72.0, "{}", with.hottest);
        assert!(
            (with.carried[0] - 5e6).abs() < 1.0 && with.carried[2] > 19.5e6,
            "{:?}",
            with.carried
        );
        assert!(with.carried[1] > 5e6 && with.carried[1] < 25e6, "{:?}", with.carried);
    }

    #[test]
    fn bursts_stay_below_the_set_point() {
        let demand = |second: u32| {
            if (second / 300).is_multiple_of(2) { [0.0, 60e6, 0.0] } else { [0.0, 2e6, 0.0] }
        };
        let with = run(true, 7200, demand);
        assert!(with.hottest < 75.0, "{}", with.hottest);
        // Without flows of the lowest class, the next class is shaped.
        let with = run(true, 3600, |_| [0.0, 0.0, 60e6]);
        assert!(
            with.hottest < 75.0 && with.carried[2] > 20e6,
            "{} {:?}",
            with.hottest,
            with.carried
        );
    }

    #[test]
    fn a_cool_board_is_not_limited() {
        let with = run(true, 3600, |_| [2e6, 10e6, 10e6]);
        assert!(!with.acted);
        assert!((with.carried[1] - 10e6).abs() < 1.0);
    }

    #[test]
    fn limits_are_removed_from_a_cool_board() {
        let mut governor =
            Governor::new(GovernorConfig { enabled: true, ..GovernorConfig::default() });
        let mut board = SimulatedBoard::new(BoardConfig::default());
        let mut decision = Decision::default();
        for second in 0..3000 {
            let wanted: f64 = if second < 1500 { 60e6 } else { 1e6 };
            let rate = decision.limits[1].map_or(wanted, |limit| wanted.min(limit as f64));
            let load = board.pass(1.0, 0.05 + 0.95 * rate / FULL);
            let sample = Sample {
                temperature: board.sensor(),
                load,
                rates: [0.0, rate, 0.0],
                limited: rate < wanted,
            };
            decision = governor.step(&sample);
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
