//! Nanoseconds per packet: the programs run on newly generated packets (BPF_PROG_TEST_RUN).
use super::dut::DutThread;
use super::{Rules, UpfArgs};
use crate::progress::Progress;
use crate::stats::{Estimate, median};
use crate::{Figure, Output};
use anyhow::{Context, Result};
use martlet_upf_xdp::Bench;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

/// A measured case: the rules and number of sessions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    pub rules: Rules,
    pub sessions: u32,
}

impl Case {
    /// The name in figures, after the direction.
    pub fn name(&self) -> String {
        match self.rules {
            Rules::Full => format!("{}_sessions", self.sessions),
            other => format!("{}_sessions_{}", self.sessions, other.name()),
        }
    }
}

/// The measured cases: with `many` sessions, with `max`, and with few.
#[derive(Debug, Clone)]
pub(super) struct Cases {
    pub many: u32,
    pub max: u32,
    pub all: Vec<Case>,
}

impl Cases {
    fn new(many: u32, max: u32) -> Self {
        let case = |rules, sessions| Case { rules, sessions };
        let all = vec![
            case(Rules::Full, many),
            case(Rules::Full, 1),
            case(Rules::Full, 1000),
            case(Rules::Full, max),
            case(Rules::Full32, 1),
            case(Rules::Full32, 1000),
            case(Rules::Far, many),
            case(Rules::Qer, many),
            case(Rules::Urr, many),
            case(Rules::Nat, many),
            case(Rules::Far, 1),
            case(Rules::Nat, 1),
        ];
        Cases { many, max, all }
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

/// Length of the UEs' packets in bytes.
const LENGTH: u32 = 64;

/// Measures all cases in a random order each round, so that disturbances affect all alike.
pub(super) fn measure(output: &mut Output, args: &UpfArgs, random: &mut StdRng) -> Result<Cases> {
    // Each session gets about ten packets, so that caches are filled.
    let (rounds, runs) = args.pick((9, 1_000_000), (3, 100_000), (1, 5_000));
    let (many, max) = args.pick((60_000, 100_000), (6000, 10_000), (1100, 1200));
    let cases = Cases::new(many, max);
    let mut progress = Progress::new("rounds", rounds as u64 + cases.all.len() as u64);
    let mut duts = Vec::new();
    for case in &cases.all {
        let dut = DutThread::new(case.rules, case.sessions);
        duts.push(dut.with_context(|| format!("sessions of the case {}", case.name()))?);
        progress.step(&case.name());
    }
    let mut samples = vec![vec![Vec::new(); BENCHES.len()]; cases.all.len()];
    let mut case_order: Vec<usize> = (0..cases.all.len()).collect();
    let mut order: Vec<usize> = (0..BENCHES.len()).collect();
    for round in 0..rounds {
        case_order.shuffle(random);
        for &c in &case_order {
            order.shuffle(random);
            for &b in &order {
                let (case, (bench, variant, direction)) = (cases.all[c], BENCHES[b]);
                let time = duts[c].run(move |dut| {
                    let mut path = dut.path(bench.is_uplink(), LENGTH);
                    // The bare program does not translate addresses.
                    path.translated = case.rules == Rules::Nat
                        && matches!(bench, Bench::NothingDown | Bench::Downlink);
                    let programs = dut.datapath.programs();
                    // A warm-up: the program before has filled the caches with other data.
                    programs.measure(bench, case.sessions, &path, runs / 4)?;
                    programs.measure(bench, case.sessions, &path, runs)
                })??;
                let ns = time.as_nanos() as f64;
                output
                    .row(format_args!("cost,{},{variant},{direction},{round},{ns}", case.name()))?;
                samples[c][b].push(ns);
            }
        }
        progress.step("cost of a packet");
    }
    progress.done();
    for (case, samples) in cases.all.iter().zip(&samples) {
        figures(output, *case, samples)?;
    }
    ratios(output, &cases, &samples)?;
    Ok(cases)
}

fn figures(output: &mut Output, case: Case, samples: &[Vec<f64>]) -> Result<()> {
    for ((_, variant, direction), sample) in BENCHES.iter().zip(samples) {
        let id = format!("ns_per_packet.{variant}.{direction}_{}.median", case.name());
        output.figure(Figure::of(id, "ns", estimate(sample)?));
    }
    for (direction, bare, xdp) in [("uplink", 2, 4), ("downlink", 3, 5)] {
        // Round by round, so that disturbances of both cancel out.
        let id = format!("ns_per_packet.xdp_over_bare.{direction}_{}.median", case.name());
        output.figure(Figure::of(id, "times", estimate(&over(&samples[xdp], &samples[bare]))?));
    }
    Ok(())
}

fn over(these: &[f64], those: &[f64]) -> Vec<f64> {
    these.iter().zip(those).map(|(this, that)| this / that).collect()
}

/// Ratios and differences of cases, round by round.
fn ratios(output: &mut Output, cases: &Cases, samples: &[Vec<Vec<f64>>]) -> Result<()> {
    let at = |rules: Rules, sessions: u32| {
        let found =
            cases.all.iter().position(|case| case.rules == rules && case.sessions == sessions);
        found.map(|n| &samples[n]).context("the case is not measured")
    };
    for (direction, nothing, bare, xdp) in [("uplink", 0, 2, 4), ("downlink", 1, 3, 5)] {
        for sessions in [cases.many, cases.max] {
            let (one, many) = (at(Rules::Full, 1)?, at(Rules::Full, sessions)?);
            for (variant, n) in [("xdp", xdp), ("bare", bare)] {
                let id = format!("ns_per_packet.{variant}_{sessions}_over_1.{direction}.median");
                output.figure(Figure::of(id, "times", estimate(&over(&many[n], &one[n]))?));
            }
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
            // The cost of making packets differs between cases, so it is subtracted.
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
    median(sample).context("no samples")
}
