//! `martlet-lab control-plane`: latency of procedures for one and for many simultaneous UEs, for
//! each deployment of the network functions. It repeats the experiment of L25GC+, figures 6 to 8.
mod capacity;
mod compare;
mod figures;
mod metric;
mod report;
mod round;
mod sandbox;
mod start_up;
pub(crate) mod testbed;

use crate::core::{CORES, CoreArgs, CoreChoice, ExternalArgs, Variant};
use crate::progress::Progress;
use crate::{Output, RunArgs, namespace};
use anyhow::{Context, Result, ensure};
use clap::Args;
use rand::seq::SliceRandom;
use rand::{SeedableRng, rngs::StdRng};
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
    /// UEs that register one after the other for memory and CPU time per UE [default: 1000]
    #[arg(long, value_name = "UES")]
    pub many: Option<u64>,
    /// Numbers of simultaneous UEs
    #[arg(long, value_delimiter = ',', default_value = "1,4,5,8,16,32,64")]
    pub ues: Vec<u32>,
    /// Rounds for each number of UEs
    #[arg(long)]
    pub rounds: Option<u32>,
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

/// Rounds before each point that are not counted. They open connections and fill caches.
const WARM_UP: u32 = 3;

impl ControlPlaneArgs {
    /// Rounds at a point. Rounds with one UE are short, so there are more of them.
    fn rounds_of(&self, ues: u32) -> u32 {
        self.rounds.unwrap_or(match (self.run.quick, ues) {
            (true, ..4) => 20,
            (true, _) => 4,
            (false, 1) => 200,
            (false, _) => 30,
        })
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
    let mut output = Output::create("control-plane", &args.run, header)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let points = points(args, max_ues, &mut output).await?;
        figures::of_points(&points, &args.metrics(), &mut output)?;
        figures::compare(&points, &args.metrics(), &mut output)?;
        start_up::measure(args, &mut output).await?;
        capacity::measure(args, &mut output).await
    })?;
    report::write(&mut output, args)?;
    std::fs::remove_dir_all(output.folder().join(CORES))?;
    output.finish()
}

/// Measures the latencies at every point. The cores of all variants run side by side and rounds
/// alternate between them, so that disturbances of the machine affect all of them alike.
async fn points(args: &ControlPlaneArgs, max_ues: u32, output: &mut Output) -> Result<Vec<Point>> {
    let mut testbeds = Vec::new();
    for (index, variant) in args.sbi.iter().enumerate() {
        let started = Testbed::start(args, *variant, index as u8, max_ues, output.folder()).await;
        testbeds.push(started.with_context(|| format!("the core with {}", variant.title()))?);
    }
    let mut random = StdRng::seed_from_u64(args.run.seed);
    let mut order: Vec<usize> = (0..testbeds.len()).collect();
    let rounds: u32 = args.ues.iter().map(|ues| args.rounds_of(*ues) + WARM_UP).sum();
    let mut progress = Progress::new("rounds", u64::from(rounds));
    let mut points = Vec::new();
    for &ues in &args.ues {
        let mut at_ues: Vec<Point> = testbeds
            .iter()
            .map(|testbed| Point { variant: testbed.variant, ues, rounds: Vec::new() })
            .collect();
        for number in 0..args.rounds_of(ues) + WARM_UP {
            order.shuffle(&mut random);
            for &index in &order {
                let testbed = &testbeds[index];
                let round = round::run(testbed, ues as usize).await;
                let round = round.with_context(|| {
                    format!("{ues} simultaneous UEs, {}", testbed.variant.title())
                })?;
                if number >= WARM_UP {
                    round.write(output, testbed.variant, ues, number - WARM_UP)?;
                    at_ues[index].rounds.push(round);
                }
            }
            progress.step(&format!("{ues} simultaneous UEs"));
        }
        points.append(&mut at_ues);
    }
    progress.done();
    for testbed in testbeds {
        testbed.stop().await?;
    }
    Ok(points)
}
