//! Thermal model of a board: *T(next) − T = a + b · load + c · T* over equal spans, fitted online
//! by recursive least squares with forgetting.
type Vector = [f64; 3];

/// The thermal model.
#[derive(Debug, Clone)]
pub struct Model {
    /// Length of a span in seconds.
    span: f64,
    /// a, b, c.
    fit: Vector,
    /// Covariance of the parameters.
    covariance: [Vector; 3],
    accepted: Vector,
    spans: u64,
}

/// Forgetting factor per span.
const FORGETTING: f64 = 0.995;
/// Bound of the covariance's trace: without excitation it would grow without end.
const MAX_TRACE: f64 = 1000.0;
/// Initial variance of the parameters, relative to the noise of a sensor with steps of half a
/// kelvin.
const INITIAL_VARIANCE: f64 = 30.0;

impl Model {
    /// A model before the first update, from a time constant in seconds, the temperature rise at
    /// full load in kelvin, and the idle temperature in °C.
    pub fn new(span: f64, time_constant: f64, rise: f64, idle: f64) -> Self {
        let share = 1.0 - (-span / time_constant).exp();
        // Temperatures are in units of 100 °C, so that all parameters have one magnitude.
        let fit = [share * idle / 100.0, share * rise / 100.0, -share];
        let covariance = std::array::from_fn(|i| {
            std::array::from_fn(|j| if i == j { INITIAL_VARIANCE } else { 0.0 })
        });
        Model { span, fit, covariance, accepted: fit, spans: 0 }
    }

    /// Updates the fit with a span: temperatures at its begin and end in °C, and the mean load, 0
    /// to 1.
    pub fn update(&mut self, from: f64, to: f64, load: f64) {
        let x: Vector = [1.0, load, from / 100.0];
        let gain: Vector = std::array::from_fn(|i| dot(&self.covariance[i], &x));
        let weight = 1.0 / (FORGETTING + dot(&x, &gain));
        let error = (to - from) / 100.0 - dot(&self.fit, &x);
        for (fit, gain) in self.fit.iter_mut().zip(gain) {
            *fit += gain * weight * error;
        }
        let forget =
            if self.covariance.iter().enumerate().map(|(i, row)| row[i]).sum::<f64>() < MAX_TRACE {
                FORGETTING
            } else {
                1.0
            };
        for (i, row) in self.covariance.iter_mut().enumerate() {
            for (j, value) in row.iter_mut().enumerate() {
                *value = (*value - gain[i] * weight * gain[j]) / forget;
            }
        }
        self.spans += 1;
        let [_, b, c] = self.fit;
        // Accepts only a stable system that load warms, with a time constant of at most a day.
        if b > 1e-4 && (-0.95..=-self.span / 86_400.0).contains(&c) {
            self.accepted = self.fit;
        }
    }

    /// Number of spans in the fit.
    pub fn spans(&self) -> u64 {
        self.spans
    }

    /// The time constant in seconds.
    pub fn time_constant(&self) -> f64 {
        -self.span / (1.0 + self.accepted[2]).ln()
    }

    /// The temperature rise at full load in kelvin, in steady state.
    pub fn rise(&self) -> f64 {
        -100.0 * self.accepted[1] / self.accepted[2]
    }

    /// The steady-state temperature in °C without load.
    pub fn idle(&self) -> f64 {
        -100.0 * self.accepted[0] / self.accepted[2]
    }

    /// The share of a difference to the steady state that remains after some seconds.
    fn remaining(&self, seconds: f64) -> f64 {
        (1.0 + self.accepted[2]).powf(seconds / self.span)
    }

    /// The temperature in °C after some seconds at a load of 0 to 1.
    pub fn predict(&self, now: f64, load: f64, seconds: f64) -> f64 {
        let end = self.idle() + self.rise() * load;
        end + (now - end) * self.remaining(seconds)
    }

    /// The load, 0 to 1, that results in a temperature after some seconds.
    pub fn load_for(&self, now: f64, target: f64, seconds: f64) -> f64 {
        let remaining = self.remaining(seconds);
        let end = (target - now * remaining) / (1.0 - remaining);
        ((end - self.idle()) / self.rise()).clamp(0.0, 1.0)
    }
}

fn dot(a: &Vector, b: &Vector) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BoardConfig, SimulatedBoard};

    /// A model fitted to a board under changing loads. Its initial parameters differ from the
    /// board's.
    fn fitted(step: f64) -> (Model, SimulatedBoard) {
        let mut board =
            SimulatedBoard::new(BoardConfig { throttle: 200.0, step, ..BoardConfig::default() });
        let mut model = Model::new(10.0, 60.0, 60.0, 40.0);
        for n in 0..600 {
            let load = [0.1, 0.8, 0.4, 1.0, 0.0][n / 12 % 5];
            let from = board.sensor();
            board.pass(10.0, load);
            model.update(from, board.sensor(), load);
        }
        (model, board)
    }

    #[test]
    fn the_fit_converges_to_the_board() {
        let (model, mut board) = fitted(0.0);
        assert!((model.time_constant() - 150.0).abs() < 3.0, "{}", model.time_constant());
        assert!((model.rise() - 34.5).abs() < 0.5, "{}", model.rise());
        assert!((model.idle() - 50.0).abs() < 0.5, "{}", model.idle());
        let due = model.predict(board.temperature(), 0.6, 60.0);
        board.pass(60.0, 0.6);
        assert!((board.temperature() - due).abs() < 0.3, "{due}");
        board.pass(300.0, 0.2);
        let load = model.load_for(board.temperature(), 62.0, 60.0);
        board.pass(60.0, load);
        assert!((board.temperature() - 62.0).abs() < 0.3, "{}", board.temperature());
    }

    #[test]
    fn a_sensor_with_steps_of_half_a_kelvin_suffices() {
        let (model, mut board) = fitted(0.487);
        let due = model.predict(board.sensor(), 0.9, 60.0);
        board.pass(60.0, 0.9);
        assert!((board.temperature() - due).abs() < 1.0, "{due} and {}", board.temperature());
    }

    #[test]
    fn an_implausible_fit_is_not_accepted() {
        let mut model = Model::new(10.0, 150.0, 35.0, 50.0);
        for n in 0..200 {
            // Load cools.
            let load = f64::from(n % 2);
            model.update(60.0, 60.0 - 5.0 * load, load);
        }
        assert!(model.rise() > 0.0 && model.time_constant() > 0.0);
        assert!(model.predict(60.0, 1.0, 60.0).is_finite());
        // A long time without excitation.
        let mut model = Model::new(10.0, 150.0, 35.0, 50.0);
        for _ in 0..100_000 {
            model.update(50.0, 50.0, 0.0);
        }
        assert!((model.predict(50.0, 0.0, 60.0) - 50.0).abs() < 0.5);
        assert!((model.rise() - 35.0).abs() < 10.0, "{}", model.rise());
    }
}
