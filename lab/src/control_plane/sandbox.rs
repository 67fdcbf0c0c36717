//! `martlet-lab sandbox`: what the sandbox costs. Two cores run side by side, one with system call
//! filters and Landlock and one without, and rounds alternate between them in random order. The
//! difference is taken of each pair of rounds, so that disturbances of the machine cancel out.
use super::WARM_UP;
use super::metric::Metric;
use super::round;
use super::testbed::Testbed;
use crate::core::{CORES, CoreArgs, CoreSetup, Variant};
use crate::progress::Progress;
use crate::stats::{Estimate, median};
use crate::{Figure, Output, namespace};
use anyhow::{Context, Result, ensure};
use clap::Args;
use rand::seq::SliceRandom;
use rand::{SeedableRng, rngs::StdRng};
use std::path::PathBuf;

/// Measures registrations, other procedures, and the start of a core, with and without the sandbox.
#[derive(Debug, Clone, Args)]
pub struct SandboxArgs {
    /// Folder for raw data and report (lab-results/sandbox-TIME)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Few rounds, in less than a minute
    #[arg(long)]
    pub quick: bool,
    /// Seed for the order of the rounds
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Variants to measure
    #[arg(long, value_delimiter = ',', default_value = "local,fabric,http")]
    pub sbi: Vec<Variant>,
    /// Pairs of rounds for each variant
    #[arg(long)]
    pub rounds: Option<u32>,
    /// Pairs of starts for each variant
    #[arg(long)]
    pub starts: Option<u32>,
    /// The measured core.
    #[command(flatten)]
    pub core: CoreArgs,
}

/// The sandbox of a core.
const SANDBOXES: [(&str, &str); 2] = [
    ("on", "security: { seccomp: kill, landlock: true }\n"),
    ("off", "security: { seccomp: off, landlock: false }\n"),
];

/// Runs the experiment and returns its report.
///
/// # Errors
/// There is no right to make a network namespace, a core does not start, or a procedure fails.
pub fn run(args: &SandboxArgs) -> Result<String> {
    ensure!(!args.sbi.is_empty(), "--sbi must not be empty");
    namespace::enter_new()?;
    let header = "what,sbi,sandbox,pair,latency_us";
    let mut output = Output::create("sandbox", args.out.as_deref(), header)?.short(args.quick);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut lines = Vec::new();
    runtime.block_on(async {
        let mut random = StdRng::seed_from_u64(args.seed);
        for (index, variant) in (0u8..).zip(&args.sbi) {
            let setups = setups(args, *variant, index, &output)?;
            lines.extend(starts(args, *variant, &setups, &mut random, &mut output)?);
            lines.extend(rounds(args, *variant, &setups, &mut random, &mut output).await?);
        }
        anyhow::Ok(())
    })?;
    report(&mut output, args, &lines)?;
    std::fs::remove_dir_all(output.folder().join(CORES))?;
    output.finish()
}

/// A core with the sandbox, and one without.
fn setups(
    args: &SandboxArgs,
    variant: Variant,
    index: u8,
    output: &Output,
) -> Result<[CoreSetup; 2]> {
    let setup = |number: u8, (name, more): (&str, &str)| {
        let name = format!("{}-{name}", variant.name());
        let setup = CoreSetup::prepare(&args.core, number, &name, 1, output.folder())?;
        anyhow::Ok(setup.with(more))
    };
    Ok([setup(2 * index, SANDBOXES[0])?, setup(2 * index + 1, SANDBOXES[1])?])
}

/// What was measured in pairs, with the sandbox and without, in milliseconds.
#[derive(Default)]
struct Pairs {
    on: Vec<f64>,
    off: Vec<f64>,
}

impl Pairs {
    fn add(&mut self, sandbox: usize, value: f64) {
        if sandbox == 0 { self.on.push(value) } else { self.off.push(value) }
    }

    /// A line of the report, and the figures.
    fn summarise(&self, what: &str, variant: Variant, output: &mut Output) -> Result<Line> {
        let differences: Vec<f64> =
            self.on.iter().zip(&self.off).map(|(on, off)| on - off).collect();
        let of = |sample: &[f64]| median(sample).context("no samples");
        let (on, off, difference) = (of(&self.on)?, of(&self.off)?, of(&differences)?);
        let id = |statistic: &str| format!("{what}.{}.{statistic}", variant.name());
        output.figure(Figure::of(id("on.p50"), "ms", on));
        output.figure(Figure::of(id("off.p50"), "ms", off));
        output.figure(Figure::of(id("difference.p50"), "ms", difference));
        Ok(Line { what: what.into(), variant, on, off, difference })
    }
}

/// A line of the report.
struct Line {
    what: String,
    variant: Variant,
    on: Estimate,
    off: Estimate,
    difference: Estimate,
}

/// Starts both cores in turn.
fn starts(
    args: &SandboxArgs,
    variant: Variant,
    setups: &[CoreSetup; 2],
    random: &mut StdRng,
    output: &mut Output,
) -> Result<Vec<Line>> {
    let count = args.starts.unwrap_or(if args.quick { 3 } else { 30 });
    let mut progress = Progress::new("starts", u64::from(count));
    let (mut pairs, mut order) = (Pairs::default(), [0, 1]);
    for pair in 0..count {
        order.shuffle(random);
        for sandbox in order {
            let core = setups[sandbox].start(variant)?;
            let ready = core.ready.as_secs_f64() * 1e3;
            core.stop()?;
            pairs.add(sandbox, ready);
            let (name, _) = SANDBOXES[sandbox];
            output.row(format_args!(
                "start,{},{name},{pair},{:.1}",
                variant.name(),
                ready * 1e3
            ))?;
        }
        progress.step(variant.title());
    }
    progress.done();
    if count == 0 { Ok(Vec::new()) } else { Ok(vec![pairs.summarise("start", variant, output)?]) }
}

/// Runs pairs of rounds with one UE.
async fn rounds(
    args: &SandboxArgs,
    variant: Variant,
    setups: &[CoreSetup; 2],
    random: &mut StdRng,
    output: &mut Output,
) -> Result<Vec<Line>> {
    let count = args.rounds.unwrap_or(if args.quick { 40 } else { 500 });
    let mut progress = Progress::new("rounds", u64::from(count + WARM_UP));
    let testbeds =
        [Testbed::of(&setups[0], variant, 1).await?, Testbed::of(&setups[1], variant, 1).await?];
    let (mut metrics, mut order) = (Metric::ALL.map(|metric| (metric, Pairs::default())), [0, 1]);
    for pair in 0..count + WARM_UP {
        order.shuffle(random);
        for sandbox in order {
            let latencies = round::run(&testbeds[sandbox], 1).await?;
            if pair < WARM_UP {
                continue;
            }
            for (metric, pairs) in &mut metrics {
                for latency in latencies.of(*metric) {
                    pairs.add(sandbox, latency.latency);
                    let (what, (name, _)) = (metric.name(), SANDBOXES[sandbox]);
                    let (sbi, pair) = (variant.name(), pair - WARM_UP);
                    let microseconds = latency.latency * 1e3;
                    output.row(format_args!("{what},{sbi},{name},{pair},{microseconds:.1}"))?;
                }
            }
        }
        progress.step(variant.title());
    }
    progress.done();
    for testbed in testbeds {
        testbed.stop().await?;
    }
    let lines =
        metrics.iter().map(|(metric, pairs)| pairs.summarise(metric.name(), variant, output));
    lines.collect()
}

fn report(output: &mut Output, args: &SandboxArgs, lines: &[Line]) -> Result<()> {
    let mut text = format!(
        "{} Each value is a median in milliseconds; `difference` is the median of the differences \
         of pairs, with its 95 % interval. Promised: at most 2 % of a registration, and 1.5 times \
         the start.\n\n| what | SBI | on | off | difference | % of off |\n\
         | --- | --- | --- | --- | --- | --- |\n",
        if args.quick { "Few rounds." } else { "" }
    );
    for Line { what, variant, on, off, difference } in lines {
        text += &format!(
            "| {what} | {} | {:.3} | {:.3} | {:+.3} ({:+.3} to {:+.3}) | {:+.1} |\n",
            variant.name(),
            on.value,
            off.value,
            difference.value,
            difference.low,
            difference.high,
            100.0 * difference.value / off.value
        );
    }
    output.text(&text);
    Ok(())
}
