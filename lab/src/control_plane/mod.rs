//! `martlet lab control-plane`: how long procedures take, for one UE after the other and for many
//! at once, for each way of running the network functions (the experiment of L25GC+, figures 6 to
//! 8).
pub(crate) mod bed;
mod capacity;
mod crowd;
mod figures;
mod idle;
mod report;
mod round;
mod start_up;
mod variant;

pub use crowd::{CrowdArgs, run as run_crowd};
pub use idle::{IdleArgs, run as run_idle};
pub use variant::Variant;

use crate::progress::Progress;
use crate::{CoreArgs, Output, namespace};
use anyhow::{Context, Result, ensure};
use bed::Bed;
use clap::Args;
use rand::seq::SliceRandom;
use rand::{SeedableRng, rngs::StdRng};
use std::path::PathBuf;

/// Measures registration, PDU session establishment and paging, seen by the gNB.
#[derive(Debug, Clone, Args)]
pub struct ControlPlaneArgs {
    /// Folder for raw data, report and plots (lab-results/control-plane-TIME)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Few rounds, in under a minute, for a look
    #[arg(long)]
    pub quick: bool,
    /// Seed for the order of the runs
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Ways of running to compare
    #[arg(long, value_delimiter = ',', default_value = "fabric,local,http")]
    pub sbi: Vec<Variant>,
    /// UEs at once
    #[arg(long, value_delimiter = ',', default_value = "1,4,5,8,16,32,64")]
    pub ues: Vec<u32>,
    /// Rounds of each point
    #[arg(long)]
    pub rounds: Option<u32>,
    #[command(flatten)]
    pub core: CoreArgs,
}

/// All rounds with so many UEs at once on one core.
struct Point {
    variant: Variant,
    ues: u32,
    rounds: Vec<round::Taken>,
}

/// Rounds of a point that are not counted, so that connections and caches are as they stay.
const WARM_UP: u32 = 3;

impl ControlPlaneArgs {
    /// Rounds at a point: single UEs are quick, so there are more of them.
    fn rounds_of(&self, ues: u32) -> u32 {
        self.rounds.unwrap_or(match (self.quick, ues) {
            (true, ..4) => 20,
            (true, _) => 4,
            (false, 1) => 200,
            (false, _) => 30,
        })
    }
}

/// Runs the experiment and returns its report.
///
/// # Errors
/// There is no right to make a network namespace, a core does not start, or a procedure fails.
pub fn run(args: &ControlPlaneArgs) -> Result<String> {
    ensure!(
        !args.sbi.is_empty() && !args.ues.is_empty(),
        "name at least one --sbi and one number of --ues"
    );
    let most = args.ues.iter().copied().max().unwrap_or(1);
    ensure!(
        (1..=250).contains(&most),
        "--ues goes from 1 to 250 at once, and {most} was asked for"
    );
    namespace::enter_a_new_one()?;
    let header = "procedure,sbi,ues,round,subject,latency_us,total_us,core_us";
    let mut output = Output::create("control-plane", args.out.as_deref(), header)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let points = points(args, most, &mut output).await?;
        figures::of_points(&points, &mut output)?;
        figures::compare(&points, &mut output)?;
        start_up::measure(args, &mut output).await?;
        capacity::measure(args, &mut output).await
    })?;
    report::write(&mut output, args)?;
    std::fs::remove_dir_all(output.folder().join(bed::CORES))?;
    output.finish()
}

/// The latencies at every point. The cores of all variants live side by side and take turns, round
/// by round, so that what disturbs the machine disturbs them alike.
async fn points(args: &ControlPlaneArgs, most: u32, output: &mut Output) -> Result<Vec<Point>> {
    let mut beds = Vec::new();
    for (index, variant) in args.sbi.iter().enumerate() {
        let bed = Bed::start(&args.core, *variant, index as u8, most, output.folder()).await;
        beds.push(bed.with_context(|| format!("the core with {}", variant.title()))?);
    }
    let mut random = StdRng::seed_from_u64(args.seed);
    let mut order: Vec<usize> = (0..beds.len()).collect();
    let all: u32 = args.ues.iter().map(|ues| args.rounds_of(*ues) + WARM_UP).sum();
    let mut progress = Progress::new("rounds", u64::from(all));
    let mut points = Vec::new();
    for &ues in &args.ues {
        let mut here: Vec<Point> = beds
            .iter()
            .map(|bed| Point { variant: bed.variant, ues, rounds: Vec::new() })
            .collect();
        for number in 0..args.rounds_of(ues) + WARM_UP {
            order.shuffle(&mut random);
            for &at in &order {
                let bed = &beds[at];
                let round = round::run(bed, ues as usize).await;
                let round =
                    round.with_context(|| format!("{ues} UEs at once, {}", bed.variant.title()))?;
                if number >= WARM_UP {
                    round.write(output, bed.variant, ues, number - WARM_UP)?;
                    here[at].rounds.push(round);
                }
            }
            progress.step(&format!("{ues} UEs at once"));
        }
        points.append(&mut here);
    }
    progress.done();
    for bed in beds {
        bed.stop().await?;
    }
    Ok(points)
}
