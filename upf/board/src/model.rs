//! Thermal model of a board: *T(next) − T = a + b · load + c · T* over equal spans, fitted online
//! by recursive least squares with forgetting.
type Vector = [f64; 3];

/// The model.
#[derive(Debug, Clone)]
pub struct Model {
    /// Seconds of a span.
    span: f64,
    /// a, b, c.
    fit: Vector,
    /// How little is known of them.
    doubt: [Vector; 3],
    believed: Vector,
    spans: u64,
}

/// Each span counts so much less than the next.
const FORGET: f64 = 0.995;
/// What is not seen for long is doubted, but not without an end.
const MOST_DOUBT: f64 = 1000.0;
/// Of what is believed before anything was seen, in units of the noise of a sensor with steps of
/// half a kelvin.
const DOUBT: f64 = 30.0;

impl Model {
    /// Before anything was seen: it takes `time_constant` seconds, load warms by `rise` kelvin, and
    /// idle is `idle` °C.
    pub fn new(span: f64, time_constant: f64, rise: f64, idle: f64) -> Self {
        let share = 1.0 - (-span / time_constant).exp();
        // In units of 100 °C, so that all three are of one size.
        let fit = [share * idle / 100.0, share * rise / 100.0, -share];
        let doubt =
            std::array::from_fn(|i| std::array::from_fn(|j| if i == j { DOUBT } else { 0.0 }));
        Model { span, fit, doubt, believed: fit, spans: 0 }
    }

    /// Learns from a span that began at one temperature and ended at another, in °C, with a mean
    /// load of 0 to 1.
    pub fn learn(&mut self, from: f64, to: f64, load: f64) {
        let x: Vector = [1.0, load, from / 100.0];
        let doubted: Vector = std::array::from_fn(|i| dot(&self.doubt[i], &x));
        let weight = 1.0 / (FORGET + dot(&x, &doubted));
        let error = (to - from) / 100.0 - dot(&self.fit, &x);
        for (fit, doubted) in self.fit.iter_mut().zip(doubted) {
            *fit += doubted * weight * error;
        }
        let forget =
            if self.doubt.iter().enumerate().map(|(i, row)| row[i]).sum::<f64>() < MOST_DOUBT {
                FORGET
            } else {
                1.0
            };
        for (i, row) in self.doubt.iter_mut().enumerate() {
            for (j, value) in row.iter_mut().enumerate() {
                *value = (*value - doubted[i] * weight * doubted[j]) / forget;
            }
        }
        self.spans += 1;
        let [_, b, c] = self.fit;
        // Heat finds a way out within a day and not at once, and load warms.
        if b > 1e-4 && (-0.95..=-self.span / 86_400.0).contains(&c) {
            self.believed = self.fit;
        }
    }

    /// Spans learnt from.
    pub fn spans(&self) -> u64 {
        self.spans
    }

    /// Seconds in which 63 % of a change are done.
    pub fn time_constant(&self) -> f64 {
        -self.span / (1.0 + self.believed[2]).ln()
    }

    /// Kelvin by which full load warms in the end.
    pub fn rise(&self) -> f64 {
        -100.0 * self.believed[1] / self.believed[2]
    }

    /// °C without load, in the end.
    pub fn idle(&self) -> f64 {
        -100.0 * self.believed[0] / self.believed[2]
    }

    /// Of a difference to the end, the share that is left after so many seconds.
    fn left(&self, seconds: f64) -> f64 {
        (1.0 + self.believed[2]).powf(seconds / self.span)
    }

    /// °C in so many seconds, at a load of 0 to 1.
    pub fn predict(&self, now: f64, load: f64, seconds: f64) -> f64 {
        let end = self.idle() + self.rise() * load;
        end + (now - end) * self.left(seconds)
    }

    /// The load, 0 to 1, at which it will have a temperature in so many seconds.
    pub fn load_for(&self, now: f64, target: f64, seconds: f64) -> f64 {
        let left = self.left(seconds);
        let end = (target - now * left) / (1.0 - left);
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

    /// A board under loads that change; the model has begun with another one.
    fn learnt(step: f64) -> (Model, SimulatedBoard) {
        let mut board =
            SimulatedBoard::new(BoardConfig { throttle: 200.0, step, ..BoardConfig::default() });
        let mut model = Model::new(10.0, 60.0, 60.0, 40.0);
        for n in 0..600 {
            let load = [0.1, 0.8, 0.4, 1.0, 0.0][n / 12 % 5];
            let from = board.sensor();
            board.pass(10.0, load);
            model.learn(from, board.sensor(), load);
        }
        (model, board)
    }

    #[test]
    fn it_finds_the_board_that_it_is_on() {
        let (model, mut board) = learnt(0.0);
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
    fn a_sensor_of_half_a_kelvin_is_enough() {
        let (model, mut board) = learnt(0.487);
        let due = model.predict(board.sensor(), 0.9, 60.0);
        board.pass(60.0, 0.9);
        assert!((board.temperature() - due).abs() < 1.0, "{due} and {}", board.temperature());
    }

    #[test]
    fn what_is_no_such_system_is_not_believed() {
        let mut model = Model::new(10.0, 150.0, 35.0, 50.0);
        for n in 0..200 {
            // The more load, the colder.
            let load = f64::from(n % 2);
            model.learn(60.0, 60.0 - 5.0 * load, load);
        }
        assert!(model.rise() > 0.0 && model.time_constant() > 0.0);
        assert!(model.predict(60.0, 1.0, 60.0).is_finite());
        // Nothing happens for days.
        let mut model = Model::new(10.0, 150.0, 35.0, 50.0);
        for _ in 0..100_000 {
            model.learn(50.0, 50.0, 0.0);
        }
        assert!((model.predict(50.0, 0.0, 60.0) - 50.0).abs() < 0.5);
        assert!((model.rise() - 35.0).abs() < 10.0, "{}", model.rise());
    }
}
