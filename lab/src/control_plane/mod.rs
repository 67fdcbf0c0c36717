//! `martlet-lab control-plane`: latency of procedures for one and for many simultaneous UEs, for
//! each deployment of the network functions. It repeats the experiment of L25GC+, figures 6 to 8.
mod capacity;
mod compare;
mod figures;
mod metric;
mod position;
mod report;
mod round;
mod sandbox;
mod start_up;
pub(crate) mod testbed;

use crate::core::{CORES, CoreArgs, CoreChoice, ExternalArgs, Variant};
use crate::progress::Progress;
use crate::{Figure, Output, RunArgs, namespace};
use anyhow::{Context, Result, ensure};
use clap::Args;
use rand::seq::SliceRandom;
use rand::{SeedableRng, rngs::StdRng};
use round::Latencies;
use testbed::Testbed;

pub use compare::{CompareArgs, run as compare};
pub use metric::Metric;
pub use sandbox::{SandboxArgs, run as sandbox};

/// Measures registration, PDU session establishment, handover and paging, as the gNB sees them.
#[derive(Debug, Clone, Args)]
pub struct ControlPlaneArgs {
    /// Results and length of the run.
    #[command(flatten)]
    pub run: RunArgs,
    /// Deployments of Martlet to compare
    #[arg(long, value_delimiter = ',', default_value = "fabric,local,http")]
    pub sbi: Vec<Variant>,
    /// Procedures to measure [default: all]. Registration is part of every round, and a session of
    /// every other procedure
    #[arg(long, value_enum, value_delimiter = ',')]
    pub procedures: Vec<Metric>,
    /// UEs that register one after the other for memory and CPU time per UE; 0: these are
    /// not measured [default: 1000]
    #[arg(long, value_name = "UES")]
    pub many: Option<u64>,
    /// Numbers of simultaneous UEs
    #[arg(long, value_delimiter = ',', default_value = "1,4,5,8,16,32,64")]
    pub ues: Vec<u32>,
    /// Rounds for each number of UEs
    #[arg(long)]
    pub rounds: Option<u32>,
    /// Also measure one and five simultaneous UEs with this round trip of RRC messages over the
    /// radio, in milliseconds (0: not measured)
    #[arg(long, default_value_t = 0.0, value_name = "MS", value_parser = radio_ms)]
    pub radio_ms: f64,
    /// The measured core.
    #[command(flatten)]
    pub core: CoreArgs,
    /// A core of another vendor.
    #[command(flatten)]
    pub external: ExternalArgs,
}

/// All rounds of one core with one number of simultaneous UEs.
struct Point {
    variant: Variant,
    ues: u32,
    rounds: Vec<round::Latencies>,
}

/// Numbers of simultaneous UEs that are also measured with a delay over the radio.
pub(crate) const RADIO_UES: [u32; 2] = [1, 5];
/// Most rounds with it: they last longer, and differ less.
const RADIO_ROUNDS: u32 = 30;
/// The longest round trip over the radio: UEs repeat their messages after seconds.
const MAX_RADIO_MS: f64 = 1000.0;

/// What is added to the name of a latency that has a delay over the radio.
const RADIO: &str = "_radio";

/// The measured rounds.
struct Points {
    /// Of all points.
    points: Vec<Point>,
    /// Those with a delay over the radio.
    with_radio: Vec<Point>,
    /// Why rounds of another core failed, which were repeated.
    failed: Vec<String>,
}

pub(crate) fn radio_ms(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| format!("{text:?} is no number"))?;
    match (0.0..=MAX_RADIO_MS).contains(&value) {
        true => Ok(value),
        false => Err(format!("between 0 and {MAX_RADIO_MS}")),
    }
}

/// Rounds before each point that are not counted. They open connections and fill caches.
const WARM_UP: u32 = 3;

/// Attempts at a round of another core.
const ATTEMPTS: u32 = 3;

/// Rounds at a point of a run with claims.
fn full_rounds(ues: u32) -> u32 {
    if ues == 1 { 200 } else { 30 }
}

impl ControlPlaneArgs {
    /// Rounds at a point. Rounds with one UE are short, so there are more of them.
    fn rounds_of(&self, ues: u32) -> u32 {
        self.rounds.unwrap_or(match (self.run.quick, ues) {
            (true, ..4) => 20,
            (true, _) => 4,
            (false, _) => full_rounds(ues),
        })
    }

    /// Whether a point has fewer rounds than the promises of SPECIFICATION.md are about.
    fn is_short(&self) -> bool {
        self.ues.iter().any(|ues| self.rounds_of(*ues) < full_rounds(*ues))
    }

    /// UEs that register one after the other.
    fn many(&self) -> u64 {
        self.many.unwrap_or(if self.run.quick { 100 } else { 1000 })
    }

    /// What is measured, in the order of figures and plots.
    fn metrics(&self) -> Vec<Metric> {
        let wanted =
            |metric: &Metric| self.procedures.is_empty() || self.procedures.contains(metric);
        Metric::ALL.into_iter().filter(wanted).collect()
    }

    /// With the cores of `--core` as the variants.
    fn with_all_variants(&self) -> ControlPlaneArgs {
        let mut args = self.clone();
        match self.external.choice {
            CoreChoice::Martlet => {}
            CoreChoice::External => args.sbi = vec![Variant::External],
            CoreChoice::Both => args.sbi.push(Variant::External),
        }
        args
    }
}

/// Runs the experiment and returns its report.
///
/// # Errors
/// There is no right to make a network namespace, a core does not start, or a procedure fails.
pub fn run(args: &ControlPlaneArgs) -> Result<String> {
    args.external.check()?;
    let args = &args.with_all_variants();
    ensure!(!args.sbi.is_empty() && !args.ues.is_empty(), "--sbi and --ues must not be empty");
    let max_ues = args.ues.iter().copied().max().unwrap_or(1);
    ensure!(
        (1..=250).contains(&max_ues),
        "--ues {max_ues}: between 1 and 250 simultaneous UEs are possible"
    );
    if args.external.is_isolated() {
        namespace::enter_new()?;
    }
    let header = "procedure,sbi,ues,round,subject,latency_us,total_us,core_us";
    let mut output = Output::create("control-plane", &args.run, header)?.short(args.is_short());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let failed = runtime.block_on(async {
        let Points { points, with_radio, failed } = points(args, max_ues, &mut output).await?;
        figures::of_points(&points, "", &args.metrics(), &mut output)?;
        figures::of_points(&with_radio, RADIO, &args.metrics(), &mut output)?;
        figures::compare(&points, &args.metrics(), &mut output)?;
        if args.metrics().contains(&Metric::Registration) {
            figures::tax(&points, &mut output)?;
        }
        start_up::measure(args, &mut output).await?;
        capacity::measure(args, &mut output).await?;
        // A core of another vendor has no `martlet locate`, and a selection of procedures is not
        // about positions.
        if args.procedures.is_empty() && args.sbi.iter().any(|sbi| *sbi != Variant::External) {
            position(args, &mut output).await;
        }
        anyhow::Ok(failed)
    })?;
    if args.sbi.contains(&Variant::External) {
        let value = failed.len() as f64;
        output.figure(Figure::once("rounds.external.failed", "rounds", value));
    }
    report::write(&mut output, args, &failed)?;
    std::fs::remove_dir_all(output.folder().join(CORES))?;
    output.finish()
}

/// Measures the time of a position. Without it the report has the reason: the UE needs a network
/// namespace with a name.
async fn position(args: &ControlPlaneArgs, output: &mut Output) {
    if let Err(error) = position::measure(args, output).await {
        tracing::warn!(error = format!("{error:#}"), "positions not measured");
        output.text(&format!("A position by E-CID was not measured: {error:#}.\n"));
    }
}

/// Measures the latencies at every point. The cores of all variants run side by side and rounds
/// alternate between them, so that disturbances of the machine affect all of them alike.
async fn points(args: &ControlPlaneArgs, max_ues: u32, output: &mut Output) -> Result<Points> {
    let mut testbeds = Vec::new();
    for (index, variant) in args.sbi.iter().enumerate() {
        let started = Testbed::start(args, *variant, index as u8, max_ues, output.folder()).await;
        testbeds.push(started.with_context(|| format!("the core with {}", variant.title()))?);
    }
    let delayed = || RADIO_UES.into_iter().filter(|ues| args.radio_ms > 0.0 && *ues <= max_ues);
    let radio_rounds = |ues: u32| args.rounds_of(ues).min(RADIO_ROUNDS);
    let rounds = args.ues.iter().map(|ues| args.rounds_of(*ues) + WARM_UP).sum::<u32>()
        + delayed().map(|ues| radio_rounds(ues) + WARM_UP).sum::<u32>();
    let mut run = Run {
        testbeds: &testbeds,
        random: StdRng::seed_from_u64(args.run.seed),
        order: (0..testbeds.len()).collect(),
        progress: Progress::new("rounds", u64::from(rounds)),
        failed: Vec::new(),
        output,
    };
    let (mut points, mut with_radio) = (Vec::new(), Vec::new());
    for &ues in &args.ues {
        points.append(&mut run.point(ues, args.rounds_of(ues), "").await?);
    }
    testbeds.iter().for_each(|testbed| testbed.set_radio(args.radio_ms));
    for ues in delayed() {
        with_radio.append(&mut run.point(ues, radio_rounds(ues), RADIO).await?);
    }
    run.progress.done();
    let failed = run.failed;
    for testbed in testbeds {
        testbed.stop().await?;
    }
    Ok(Points { points, with_radio, failed })
}

/// Rounds of all cores.
struct Run<'a> {
    testbeds: &'a [Testbed],
    random: StdRng,
    order: Vec<usize>,
    progress: Progress,
    /// The rounds that failed at another core, with the reasons.
    failed: Vec<String>,
    output: &'a mut Output,
}

impl Run<'_> {
    /// Runs the rounds of one number of UEs. `suffix` is added to the name of each latency.
    async fn point(&mut self, ues: u32, rounds: u32, suffix: &str) -> Result<Vec<Point>> {
        let of = |testbed: &Testbed| Point { variant: testbed.variant, ues, rounds: Vec::new() };
        let mut points: Vec<Point> = self.testbeds.iter().map(of).collect();
        for number in 0..rounds + WARM_UP {
            self.order.shuffle(&mut self.random);
            for &index in &self.order {
                let round = round_of(&self.testbeds[index], ues, &mut self.failed).await?;
                if number >= WARM_UP {
                    let at = (self.testbeds[index].variant, ues, number - WARM_UP);
                    round.write(self.output, suffix, at)?;
                    points[index].rounds.push(round);
                }
            }
            self.progress.step(&format!("{ues} simultaneous UEs"));
        }
        Ok(points)
    }
}

/// Runs a round.
async fn round_of(testbed: &Testbed, ues: u32, failed: &mut Vec<String>) -> Result<Latencies> {
    let count = ues as usize;
    let attempts = if testbed.variant == Variant::External { ATTEMPTS } else { 1 };
    let run = async || {
        let round = round::run(testbed, count).await;
        round.with_context(|| format!("{ues} simultaneous UEs, {}", testbed.variant.title()))
    };
    repeated(attempts, failed, run, async || round::reset(testbed, count).await).await
}

/// What `run` returns. Another core may lose a message at many UEs, which must not end a run of an
/// hour: a failure is noted, and after `reset` the round is run again. Nothing of it counts.
async fn repeated<T>(
    attempts: u32,
    failed: &mut Vec<String>,
    run: impl AsyncFn() -> Result<T>,
    reset: impl AsyncFn() -> Result<()>,
) -> Result<T> {
    for _ in 1..attempts {
        match run().await {
            Ok(result) => return Ok(result),
            Err(error) => {
                let error = format!("{error:#}");
                tracing::warn!(error, "round failed, and is repeated");
                failed.push(error);
                reset().await?;
            }
        }
    }
    run().await
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;
    use clap::Parser;
    use std::cell::Cell;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        args: ControlPlaneArgs,
    }

    fn args(words: &str) -> Result<ControlPlaneArgs, clap::Error> {
        Ok(Program::try_parse_from(["lab"].into_iter().chain(words.split_whitespace()))?.args)
    }

    #[test]
    fn a_run_with_fewer_rounds_than_usual_is_short() {
        let is_short = |words| args(words).unwrap().is_short();
        assert!(!is_short("") && !is_short("--rounds 200") && !is_short("--ues 8 --rounds 30"));
        assert!(is_short("--rounds 30") && is_short("--ues 8 --rounds 29") && is_short("--quick"));
    }

    #[tokio::test]
    async fn a_round_that_fails_at_another_core_is_repeated() {
        let (runs, resets) = (Cell::new(0), Cell::new(0));
        let count = |counter: &Cell<u32>| counter.replace(counter.get() + 1) + 1;
        let reset = async || {
            count(&resets);
            Ok(())
        };
        let second = async || match count(&runs) {
            1 => bail!("a lost message"),
            number => Ok(number),
        };
        let mut failed = Vec::new();
        assert_eq!(repeated(3, &mut failed, second, &reset).await.unwrap(), 2);
        assert_eq!((failed, resets.get()), (vec!["a lost message".to_string()], 1));

        // Not for ever, and not for Martlet.
        for (attempts, noted) in [(3, 2), (1, 0)] {
            runs.set(0);
            let mut failed = Vec::new();
            let never = async || -> Result<()> {
                count(&runs);
                bail!("no answer")
            };
            assert!(repeated(attempts, &mut failed, never, &reset).await.is_err());
            assert_eq!((runs.get(), failed.len()), (attempts, noted));
        }
    }

    #[test]
    fn a_round_trip_over_the_radio_is_of_milliseconds() {
        assert_eq!(args("--radio-ms 12.5").unwrap().radio_ms, 12.5);
        for wrong in ["-1", "20000", "x", "NaN"] {
            assert!(args(&format!("--radio-ms={wrong}")).is_err(), "{wrong}");
        }
    }
}
