//! `martlet lab upf`: what a packet costs in the `xdp` datapath, beside programs that do the least.
mod bed;
mod report;

use crate::progress::Progress;
use crate::stats::{Estimate, median};
use crate::{Figure, Output, namespace};
use anyhow::{Context, Result};
use bed::Bed;
use clap::Args;
use martlet_upf_xdp::Bench;
use rand::seq::SliceRandom;
use rand::{SeedableRng, rngs::StdRng};
use std::path::PathBuf;

/// Measures what a packet costs, by sessions, rules, and size.
#[derive(Debug, Clone, Args)]
pub struct UpfArgs {
    /// Folder for raw data, report and plots (lab-results/upf-TIME)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Few rounds, in under a minute, for a look
    #[arg(long)]
    pub quick: bool,
    /// Seed for the order of the runs
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// What rules the sessions have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    /// One PDR each way, with a FAR.
    Far,
    /// And a QER with a maximum bit rate.
    Qer,
    /// One PDR with a FAR, and a URR with a volume threshold.
    Urr,
    /// One PDR each way, with FAR, QER and two URRs.
    Full,
    /// The same, behind 31 PDRs with filters that do not match.
    Full32,
}

impl Rules {
    fn pdrs(self) -> u32 {
        if self == Rules::Full32 { 32 } else { 1 }
    }

    fn has_qer(self) -> bool {
        matches!(self, Rules::Qer | Rules::Full | Rules::Full32)
    }

    fn urrs(self) -> impl Iterator<Item = u32> {
        match self {
            Rules::Far | Rules::Qer => 1..1,
            Rules::Urr => 1..2,
            Rules::Full | Rules::Full32 => 1..3,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Rules::Far => "far",
            Rules::Qer => "qer",
            Rules::Urr => "urr",
            Rules::Full => "full",
            Rules::Full32 => "pdrs32",
        }
    }
}

/// Sessions of a kind, and how many of them.
#[derive(Debug, Clone, Copy)]
struct Case {
    rules: Rules,
    sessions: u32,
}

impl Case {
    /// As it is called in figures, after the direction.
    fn name(&self) -> String {
        match self.rules {
            Rules::Full => format!("{}_sessions", self.sessions),
            other => format!("{}_sessions_{}", self.sessions, other.name()),
        }
    }
}

const CASES: [Case; 9] = [
    Case { rules: Rules::Full32, sessions: 1 },
    Case { rules: Rules::Full, sessions: 60_000 },
    Case { rules: Rules::Full, sessions: 1 },
    Case { rules: Rules::Full, sessions: 1000 },
    Case { rules: Rules::Full32, sessions: 1000 },
    Case { rules: Rules::Full, sessions: 100_000 },
    Case { rules: Rules::Far, sessions: 60_000 },
    Case { rules: Rules::Qer, sessions: 60_000 },
    Case { rules: Rules::Urr, sessions: 60_000 },
];

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

/// Runs the experiment and returns its report.
///
/// # Errors
/// There is no right to make a network namespace or to load programs, or a program does not forward.
pub fn run(args: &UpfArgs) -> Result<String> {
    namespace::enter_a_new_one()?;
    bed::links()?;
    let mut output = Output::create("upf", args.out.as_deref(), "case,variant,direction,round,ns")?;
    let (rounds, runs) = if args.quick { (5, 100_000) } else { (30, 1_000_000) };
    let mut random = StdRng::seed_from_u64(args.seed);
    let mut progress = Progress::new("rounds", CASES.len() as u64 * rounds);
    for case in CASES {
        let bed = Bed::new(case.rules, case.sessions)?;
        let programs = bed.datapath.programs();
        let mut taken: [Vec<f64>; BENCHES.len()] = Default::default();
        let mut order: Vec<usize> = (0..BENCHES.len()).collect();
        for round in 0..rounds {
            order.shuffle(&mut random);
            for &at in &order {
                let (bench, variant, direction) = BENCHES[at];
                let path = bed.path(bench.is_uplink(), LENGTH);
                let time = programs.measure(bench, case.sessions, &path, runs)?;
                let ns = time.as_nanos() as f64;
                output.row(format_args!("{},{variant},{direction},{round},{ns}", case.name()))?;
                taken[at].push(ns);
            }
            progress.step(&case.name());
        }
        figures(&mut output, case, &taken)?;
    }
    progress.done();
    report::write(&mut output)?;
    output.finish()
}

fn figures(output: &mut Output, case: Case, taken: &[Vec<f64>; BENCHES.len()]) -> Result<()> {
    for ((_, variant, direction), sample) in BENCHES.iter().zip(taken) {
        let id = format!("ns_per_packet.{variant}.{direction}_{}.median", case.name());
        output.figure(Figure::of(id, "ns", estimate(sample)?));
    }
    for (direction, bare, xdp) in [("uplink", 2, 4), ("downlink", 3, 5)] {
        // Round by round, so that what disturbs both does not count.
        let ratios: Vec<f64> = taken[xdp].iter().zip(&taken[bare]).map(|(xdp, bare)| xdp / bare).collect();
        let id = format!("ns_per_packet.xdp_over_bare.{direction}_{}.median", case.name());
        output.figure(Figure::of(id, "times", estimate(&ratios)?));
    }
    Ok(())
}

fn estimate(sample: &[f64]) -> Result<Estimate> {
    median(sample).context("nothing was measured")
}
