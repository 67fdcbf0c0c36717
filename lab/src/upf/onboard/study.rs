//! Points of the study. Each has several rounds with a new testbed.
use super::super::Rules;
use super::super::links::{MAX_MISSED, Round, Testbed, with_testbed};
use crate::process_usage::resident_kb;
use crate::progress::Progress;
use crate::stats::median;
use crate::{Figure, Output};
use anyhow::Result;
use martlet_upf::config::DatapathChoice;
use std::time::Duration;

/// The generator alone, whose CPU time is subtracted, and both datapaths.
pub const VARIANTS: [(&str, Option<DatapathChoice>); 3] = [
    ("generator", None),
    ("kernel", Some(DatapathChoice::Kernel)),
    ("xdp", Some(DatapathChoice::Xdp)),
];

/// Tries of a round until its load is offered.
const TRIES: u32 = 3;

/// A running study.
pub struct Study<'a> {
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

/// Whether the generator sent the packets that the round is about. Otherwise loss has no meaning:
/// the packets that were not sent cannot be lost.
pub fn is_offered(round: &Round) -> bool {
    round.missed <= MAX_MISSED
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
    /// Runs the rounds of one point and writes their loss, CPU time and latency as figures
    /// `WHAT.VARIANT.POINT.median` and as rows.
    pub fn point(
        &mut self,
        point: &str,
        (variant, choice): (&str, Option<DatapathChoice>),
        sessions: u32,
        mut round: impl FnMut(&Testbed, Duration) -> Result<Round> + Send,
    ) -> Result<()> {
        let (rounds, time) = (self.rounds, self.time);
        let (all, memory) = with_testbed(choice, Rules::Full, sessions, |testbed| {
            round(testbed, time / 4)?;
            let all: Result<Vec<(Round, u32)>> =
                (0..rounds).map(|_| offered(|| round(testbed, time))).collect();
            Ok((all?, resident_kb(std::process::id()) * 1024))
        })?;
        let discarded: u32 = all.iter().map(|(_, discarded)| discarded).sum();
        let all: Vec<Round> = all.into_iter().map(|(round, _)| round).collect();
        if discarded > 0 {
            self.output.figure(Figure::once(
                format!("onboard_discarded.{variant}.{point}"),
                "rounds",
                discarded.into(),
            ));
        }
        let mut figure = |what: &str, unit, of: &dyn Fn(&Round) -> Option<f64>| {
            let values: Vec<f64> = all.iter().filter_map(of).collect();
            if let Some(value) = median(&values) {
                self.output.figure(Figure::of(
                    format!("{what}.{variant}.{point}.median"),
                    unit,
                    value,
                ));
            }
        };
        let p99 = |r: &Round| r.received.quantile(0.99).map(|ns| ns / 1000.0);
        figure("onboard_loss", "%", &|r| is_offered(r).then(|| r.loss() * 100.0));
        figure("onboard_busy", "%", &|r| Some(busy(r) * 100.0));
        figure("onboard_p99", "us", &p99);
        self.output.figure(Figure::once(
            format!("onboard_memory.{variant}.{point}.median"),
            "MB",
            memory as f64 / 1e6,
        ));
        for (n, r) in all.iter().enumerate() {
            self.output.row(format_args!(
                "onboard,{point},{variant},uplink,{n},{},{}",
                if is_offered(r) { r.loss() } else { f64::NAN },
                busy(r)
            ))?;
            let p99 = p99(r).unwrap_or(f64::NAN);
            self.output
                .row(format_args!("onboard_p99,{point},{variant},uplink,{n},{p99},{memory}"))?;
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
    }
}
