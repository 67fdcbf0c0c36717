//! Points of the study. Each has several rounds with a new testbed.
use super::super::links::{MAX_MISSED, Round, Testbed};
use super::LENGTH;
use super::board::{BoardSensors, with_share};
use crate::progress::Progress;
use crate::stats::median;
use crate::{Figure, Output};
use anyhow::Result;
use martlet_upf::config::DatapathChoice;
use std::time::{Duration, Instant};

/// The generator alone, whose CPU time is subtracted, and both datapaths.
pub const VARIANTS: [(&str, Option<DatapathChoice>); 3] = [
    ("generator", None),
    ("kernel", Some(DatapathChoice::Kernel)),
    ("xdp", Some(DatapathChoice::Xdp)),
];

/// Tries of a round until its load is offered.
const TRIES: u32 = 3;
/// The longest round while a load is held.
const HELD_AT_ONCE: Duration = Duration::from_secs(10);

/// What a study loads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Machine {
    /// One CPU of this machine, up to its own breaking point. Packets are sent.
    Whole,
    /// The board: this machine, or a share of one CPU. Packets arrive.
    Board(Option<f64>),
}

impl Machine {
    /// The first word of figures and rows.
    pub fn prefix(self) -> &'static str {
        match self {
            Machine::Whole => "onboard",
            Machine::Board(_) => "board",
        }
    }

    /// The share of a CPU that is all of the machine's computing power.
    pub fn share(self) -> Option<f64> {
        match self {
            Machine::Whole => None,
            Machine::Board(share) => share,
        }
    }
}

/// A running study.
pub struct Study<'a> {
    /// What it loads.
    pub machine: Machine,
    /// The sensors of a board.
    pub sensors: Option<BoardSensors>,
    /// How long a load is held before its rounds: a board needs minutes for its temperature.
    pub hold: Duration,
    /// How long the points of each load are held, and the highest load over time.
    pub held: Duration,
    /// Its results.
    pub output: &'a mut Output,
    /// Rounds of each point.
    pub rounds: u32,
    /// Duration of a round.
    pub time: Duration,
    /// Progress in points.
    pub progress: Progress,
}

/// The share of one CPU that a round used.
pub fn busy(round: &Round) -> f64 {
    (round.cpu.as_secs_f64() / round.wall.as_secs_f64()).min(1.0)
}

/// Packets of one round: the sessions of each batch are the first `sessions()`.
pub fn send(
    machine: Machine,
    testbed: &Testbed,
    rate: f64,
    time: Duration,
    sessions: impl FnMut() -> u32,
) -> Result<Round> {
    match machine {
        Machine::Whole => testbed.paced_among(true, LENGTH, rate, time, sessions),
        Machine::Board(_) => testbed.queued(true, LENGTH, rate, time, sessions),
    }
}

/// Whether the generator sent the packets that the round is about. Otherwise loss has no meaning:
/// the packets that were not sent cannot be lost.
pub fn is_offered(round: &Round) -> bool {
    round.sent > 0 && round.missed <= MAX_MISSED
}

/// Runs a round, again while its load is not offered, and returns how often it was discarded. A
/// round whose load is not offered after [`TRIES`] tries has no loss.
pub fn offered(mut round: impl FnMut() -> Result<Round>) -> Result<(Round, u32)> {
    let mut discarded = 0;
    loop {
        let result = round()?;
        let is_offered = is_offered(&result);
        discarded += u32::from(!is_offered);
        if is_offered || discarded == TRIES {
            return Ok((result, discarded));
        }
    }
}

impl Study<'_> {
    /// The share of the machine's computing power that a round used.
    pub fn busy(&self, round: &Round) -> f64 {
        (busy(round) / self.machine.share().unwrap_or(1.0)).min(1.0)
    }

    /// Runs the rounds of one point and writes their loss, CPU time and latency as figures
    /// `WHAT.VARIANT.POINT.median` and as rows.
    pub fn point(
        &mut self,
        point: &str,
        (variant, choice): (&str, Option<DatapathChoice>),
        sessions: u32,
        mut round: impl FnMut(&Testbed, Duration) -> Result<Round> + Send,
    ) -> Result<()> {
        let (rounds, time, hold) = (self.rounds, self.time, self.hold);
        let sensors = &mut self.sensors;
        let (all, shown) = with_share(self.machine.share(), choice, sessions, |testbed, _| {
            round(testbed, time / 4)?;
            let held = Instant::now();
            while held.elapsed() < hold {
                round(testbed, HELD_AT_ONCE.min(hold))?;
            }
            let (mut all, mut shown) = (Vec::new(), Vec::new());
            for _ in 0..rounds {
                all.push(offered(|| round(testbed, time))?);
                shown.extend(sensors.as_mut().and_then(BoardSensors::read));
            }
            Ok((all, shown))
        })?;
        let discarded: u32 = all.iter().map(|(_, discarded)| discarded).sum();
        let all: Vec<Round> = all.into_iter().map(|(round, _)| round).collect();
        let prefix = self.machine.prefix();
        if discarded > 0 {
            self.output.figure(Figure::once(
                format!("{prefix}_discarded.{variant}.{point}"),
                "rounds",
                discarded.into(),
            ));
        }
        let busy: Vec<f64> = all.iter().map(|round| self.busy(round)).collect();
        let mut figure = |what: &str, unit, values: Vec<f64>| {
            if let Some(value) = median(&values) {
                let id = format!("{prefix}_{what}.{variant}.{point}.median");
                self.output.figure(Figure::of(id, unit, value));
            }
        };
        let p99 = |r: &Round| r.received.quantile(0.99).map(|ns| ns / 1000.0);
        let offered = all.iter().filter(|round| is_offered(round));
        figure("loss", "%", offered.map(|round| round.loss() * 100.0).collect());
        figure("busy", "%", busy.iter().map(|busy| busy * 100.0).collect());
        figure("p99", "us", all.iter().filter_map(p99).collect());
        figure("celsius", "C", shown.iter().map(|shown| shown.celsius).collect());
        figure("watts", "W", shown.iter().filter_map(|shown| shown.watts).collect());
        figure("megahertz", "MHz", shown.iter().filter_map(|shown| shown.megahertz).collect());
        for (n, (r, busy)) in all.iter().zip(busy).enumerate() {
            let loss = if is_offered(r) { r.loss() } else { f64::NAN };
            self.output.row(format_args!("{prefix},{point},{variant},uplink,{n},{loss},{busy}"))?;
            let p99 = p99(r).unwrap_or(f64::NAN);
            self.output.row(format_args!("{prefix}_p99,{point},{variant},uplink,{n},{p99},"))?;
        }
        self.progress.step(point);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use martlet_upf_xdp::Received;

    #[test]
    fn a_round_whose_load_is_not_offered_is_repeated_and_has_no_loss() {
        let round = |missed| Round {
            sent: 10,
            received: Received { packets: 10, bytes: 640, latency_classes: Vec::new() },
            wall: Duration::from_secs(1),
            cpu: Duration::ZERO,
            missed,
        };
        let mut shares = [0.5, 0.5, 0.01].into_iter();
        let (found, discarded) = offered(|| Ok(round(shares.next().unwrap()))).unwrap();
        assert!(is_offered(&found) && discarded == 2);
        let (found, discarded) = offered(|| Ok(round(0.2))).unwrap();
        assert!(!is_offered(&found) && discarded == TRIES);
        assert!(!is_offered(&Round { sent: 0, ..round(0.0) }), "nothing was sent");
    }
}
