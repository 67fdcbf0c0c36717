//! Nanoseconds for each packet, by running the programs on packets that are made anew each time.
use super::bed::BedThread;
use super::{Rules, UpfArgs};
use crate::progress::Progress;
use crate::stats::{Estimate, median};
use crate::{Figure, Output};
use anyhow::{Context, Result};
use martlet_upf_xdp::Bench;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

/// Sessions of a kind, and how many of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    pub rules: Rules,
    pub sessions: u32,
}

impl Case {
    /// As it is called in figures, after the direction.
    pub fn name(&self) -> String {
        match self.rules {
            Rules::Full => format!("{}_sessions", self.sessions),
            other => format!("{}_sessions_{}", self.sessions, other.name()),
        }
    }
}

/// What is measured: with `many` sessions, with `most`, and with few.
#[derive(Debug, Clone)]
pub(super) struct Cases {
    pub many: u32,
    pub most: u32,
    pub all: Vec<Case>,
}

impl Cases {
    fn new(many: u32, most: u32) -> Self {
        let case = |rules, sessions| Case { rules, sessions };
        let all = vec![
            case(Rules::Full, many),
            case(Rules::Full, 1),
            case(Rules::Full, 1000),
            case(Rules::Full, most),
            case(Rules::Full32, 1),
            case(Rules::Full32, 1000),
            case(Rules::Far, many),
            case(Rules::Qer, many),
            case(Rules::Urr, many),
            case(Rules::Nat, many),
            case(Rules::Far, 1),
            case(Rules::Nat, 1),
        ];
        Cases { many, most, all }
    }
}

const BENCHES: [(Bench, &str, &str); 6] = [
    (Bench::NothingUp, "nothing", "uplink"),
    (Bench::NothingDown, "nothing", "downlink"),
    (Bench::BareUplink, "bare", "uplink"),
    (Bench::BareDownlink, "bare", "downlink"),
    (Bench::Uplink, "xdp", "uplink"),
    (Bench::Downlink, "xdp", "downlink"),
];

/// Octets of the measured packets of UEs.
const LENGTH: u32 = 64;

/// Measures all cases, in an order that is another one each round: what disturbs the machine
/// disturbs all alike.
pub(super) fn measure(output: &mut Output, args: &UpfArgs, random: &mut StdRng) -> Result<Cases> {
    // Each session has its turn some ten times, so that what fits into caches is there.
    let (rounds, runs) = args.pick((9, 1_000_000), (3, 100_000), (1, 5_000));
    let (many, most) = args.pick((60_000, 100_000), (6000, 10_000), (1100, 1200));
    let cases = Cases::new(many, most);
    let mut progress = Progress::new("rounds", rounds as u64 + cases.all.len() as u64);
    let mut beds = Vec::new();
    for case in &cases.all {
        let made = BedThread::new(case.rules, case.sessions);
        beds.push(made.with_context(|| format!("sessions of the case {}", case.name()))?);
        progress.step(&case.name());
    }
    let mut taken = vec![vec![Vec::new(); BENCHES.len()]; cases.all.len()];
    let mut turns: Vec<usize> = (0..cases.all.len()).collect();
    let mut order: Vec<usize> = (0..BENCHES.len()).collect();
    for round in 0..rounds {
        turns.shuffle(random);
        for &c in &turns {
            order.shuffle(random);
            for &b in &order {
                let (case, (bench, variant, direction)) = (cases.all[c], BENCHES[b]);
                let time = beds[c].run(move |bed| {
                    let mut path = bed.path(bench.is_uplink(), LENGTH);
                    // The bare program knows no public addresses.
                    path.translated = case.rules == Rules::Nat
                        && matches!(bench, Bench::NothingDown | Bench::Downlink);
                    let programs = bed.datapath.programs();
                    // What ran before has left other things in the caches.
                    programs.measure(bench, case.sessions, &path, runs / 4)?;
                    programs.measure(bench, case.sessions, &path, runs)
                })??;
                let ns = time.as_nanos() as f64;
                output
                    .row(format_args!("cost,{},{variant},{direction},{round},{ns}", case.name()))?;
                taken[c][b].push(ns);
            }
        }
        progress.step("what a packet costs");
    }
    progress.done();
    for (case, taken) in cases.all.iter().zip(&taken) {
        figures(output, *case, taken)?;
    }
    ratios(output, &cases, &taken)?;
    Ok(cases)
}

fn figures(output: &mut Output, case: Case, taken: &[Vec<f64>]) -> Result<()> {
    for ((_, variant, direction), sample) in BENCHES.iter().zip(taken) {
        let id = format!("ns_per_packet.{variant}.{direction}_{}.median", case.name());
        output.figure(Figure::of(id, "ns", estimate(sample)?));
    }
    for (direction, bare, xdp) in [("uplink", 2, 4), ("downlink", 3, 5)] {
        // Round by round, so that what disturbs both does not count.
        let id = format!("ns_per_packet.xdp_over_bare.{direction}_{}.median", case.name());
        output.figure(Figure::of(id, "times", estimate(&over(&taken[xdp], &taken[bare]))?));
    }
    Ok(())
}

fn over(these: &[f64], those: &[f64]) -> Vec<f64> {
    these.iter().zip(those).map(|(this, that)| this / that).collect()
}

/// Figures of several cases, round by round.
fn ratios(output: &mut Output, cases: &Cases, taken: &[Vec<Vec<f64>>]) -> Result<()> {
    let at = |rules: Rules, sessions: u32| {
        let found =
            cases.all.iter().position(|case| case.rules == rules && case.sessions == sessions);
        found.map(|n| &taken[n]).context("a case that is measured")
    };
    for (direction, nothing, bare, xdp) in [("uplink", 0, 2, 4), ("downlink", 1, 3, 5)] {
        let (one, many) = (at(Rules::Full, 1)?, at(Rules::Full, cases.most)?);
        for (variant, n) in [("xdp", xdp), ("bare", bare)] {
            let id = format!("ns_per_packet.{variant}_{}_over_1.{direction}.median", cases.most);
            output.figure(Figure::of(id, "times", estimate(&over(&many[n], &one[n]))?));
        }
        for sessions in [1, 1000] {
            let (one, many) = (at(Rules::Full, sessions)?, at(Rules::Full32, sessions)?);
            let id = format!("ns_per_packet.pdrs32_over_1.{direction}_{sessions}_sessions.median");
            output.figure(Figure::of(id, "times", estimate(&over(&many[xdp], &one[xdp]))?));
        }
        let all = [
            ("qer", Rules::Qer, cases.many),
            ("urr", Rules::Urr, cases.many),
            ("nat", Rules::Nat, cases.many),
            ("nat", Rules::Nat, 1),
        ];
        for (name, rules, sessions) in all {
            let far = at(Rules::Far, sessions)?;
            // What making the packets costs is not the same everywhere.
            let with = at(rules, sessions)?;
            let net = |of: &Vec<Vec<f64>>| {
                of[xdp].iter().zip(&of[nothing]).map(|(a, b)| a - b).collect::<Vec<_>>()
            };
            let more: Vec<f64> =
                net(with).iter().zip(net(far)).map(|(with, without)| with - without).collect();
            let id = format!("ns_per_packet.cost_of_{name}.{direction}_{sessions}_sessions.median");
            output.figure(Figure::of(id, "ns", estimate(&more)?));
        }
    }
    Ok(())
}

fn estimate(sample: &[f64]) -> Result<Estimate> {
    median(sample).context("nothing was measured")
}
