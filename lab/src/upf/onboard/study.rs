//! Points of the study, each some rounds over a wire of its own.
use super::super::Rules;
use super::super::wire::{Round, Wire, with_wire};
use crate::progress::Progress;
use crate::stats::median;
use crate::{Figure, Output};
use anyhow::Result;
use martlet_upf::config::DatapathChoice;
use std::time::Duration;

/// The generator alone, what it costs, and both datapaths.
pub const VARIANTS: [(&str, Option<DatapathChoice>); 3] = [
    ("generator", None),
    ("kernel", Some(DatapathChoice::Kernel)),
    ("xdp", Some(DatapathChoice::Xdp)),
];

/// A study under way.
pub struct Study<'a> {
    /// Where it goes.
    pub output: &'a mut Output,
    /// Rounds of a point.
    pub rounds: u32,
    /// Of a round.
    pub time: Duration,
    /// What is done of it.
    pub progress: Progress,
}

/// Octets of this process in memory.
fn resident() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<f64>().ok())
        .map_or(0.0, |pages| pages * 4096.0)
}

/// The share of one processor that a round took.
pub fn busy(round: &Round) -> f64 {
    (round.cpu.as_secs_f64() / round.wall.as_secs_f64()).min(1.0)
}

impl Study<'_> {
    /// Rounds of one point: their loss, processor time and latency become figures
    /// `WHAT.VARIANT.POINT.median`, and rows.
    pub fn point(
        &mut self,
        point: &str,
        (variant, choice): (&str, Option<DatapathChoice>),
        sessions: u32,
        mut round: impl FnMut(&Wire, Duration) -> Result<Round> + Send,
    ) -> Result<()> {
        let (rounds, time) = (self.rounds, self.time);
        let (all, memory) = with_wire(choice, Rules::Full, sessions, |wire| {
            round(wire, time / 4)?;
            let all: Result<Vec<Round>> = (0..rounds).map(|_| round(wire, time)).collect();
            Ok((all?, resident()))
        })?;
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
        figure("onboard_loss", "%", &|r| Some(r.loss() * 100.0));
        figure("onboard_busy", "%", &|r| Some(busy(r) * 100.0));
        figure("onboard_p99", "us", &p99);
        self.output.figure(Figure::once(
            format!("onboard_memory.{variant}.{point}.median"),
            "MB",
            memory / 1e6,
        ));
        for (n, r) in all.iter().enumerate() {
            self.output.row(format_args!(
                "onboard,{point},{variant},uplink,{n},{},{}",
                r.loss(),
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
