//! `martlet-lab compare`: two builds of Martlet against each other. For each variant, a core of
//! each build runs, and rounds alternate between both in random order. Each pair of rounds gives a
//! ratio, so disturbances of the machine cancel out.
use super::WARM_UP;
use super::metric::Metric;
use super::round::{self, Latencies};
use super::testbed::Testbed;
use crate::core::{CORES, CoreArgs, CoreSetup, Variant};
use crate::progress::Progress;
use crate::stats::{Estimate, median};
use crate::{Figure, Output, RunArgs, namespace};
use anyhow::{Context, Result, ensure};
use clap::Args;
use rand::seq::SliceRandom;
use rand::{SeedableRng, rngs::StdRng};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Simultaneous UEs, and pairs of rounds with them.
const POINTS: [(u32, u32); 2] = [(1, 120), (16, 24)];
/// What is compared beside latencies.
const CPU: &str = "cpu";
const MEMORY: &str = "memory";
/// The metrics in the history. The report has all of them.
const IN_HISTORY: [Metric; 4] =
    [Metric::Registration, Metric::PduSession, Metric::Handover, Metric::FirstPacket];

/// Compares two builds: latency of procedures, CPU time and memory.
#[derive(Debug, Clone, Args)]
pub struct CompareArgs {
    /// Results and length of the run.
    #[command(flatten)]
    pub run: RunArgs,
    /// Variants to measure
    #[arg(long, value_delimiter = ',', default_value = "local,fabric,http")]
    pub sbi: Vec<Variant>,
    /// Pairs of rounds for each variant and number of UEs
    #[arg(long)]
    pub rounds: Option<u32>,
    /// The martlet program to compare with
    #[arg(long, value_name = "FILE")]
    pub base: PathBuf,
    /// A Markdown page whose last table gets a row for each variant
    #[arg(long, value_name = "FILE")]
    pub history: Option<PathBuf>,
    /// Label of the rows of the history, such as a date and two commits
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub title: String,
    /// The measured core.
    #[command(flatten)]
    pub core: CoreArgs,
}

/// The ratios of one variant: this build's value over that of the base.
struct Ratios {
    variant: Variant,
    lines: Vec<Line>,
}

/// One ratio. Values are in milliseconds or megabytes.
struct Line {
    what: &'static str,
    /// Simultaneous UEs; 0 for memory.
    ues: u32,
    base: f64,
    value: f64,
    ratio: Estimate,
}

/// Runs the experiment and returns its report.
///
/// # Errors
/// There is no right to make a network namespace, a core does not start, a procedure fails, or the
/// history cannot be written.
pub fn run(args: &CompareArgs) -> Result<String> {
    ensure!(!args.sbi.is_empty(), "--sbi must not be empty");
    ensure!(args.base.is_file(), "--base {} is no file", args.base.display());
    namespace::enter_new()?;
    let header = "what,sbi,ues,build,pair,value";
    let mut output = Output::create("compare", &args.run, header)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut random = StdRng::seed_from_u64(args.run.seed);
    let mut all = Vec::new();
    for (index, variant) in (0u8..).zip(&args.sbi) {
        let measured = measure(args, *variant, index, &mut random, &mut output);
        all.push(runtime.block_on(measured).with_context(|| variant.title().to_string())?);
    }
    report(&mut output, &all);
    if let Some(history) = &args.history {
        append(history, &args.title, &all)?;
    }
    std::fs::remove_dir_all(output.folder().join(CORES))?;
    output.finish()
}

/// This build, and the base: in this order in all pairs.
const BUILDS: [&str; 2] = ["new", "base"];

async fn measure(
    args: &CompareArgs,
    variant: Variant,
    index: u8,
    random: &mut StdRng,
    output: &mut Output,
) -> Result<Ratios> {
    let base = CoreArgs { martlet: Some(args.base.clone()) };
    let max_ues = POINTS.iter().map(|(ues, _)| *ues).max().unwrap_or(1);
    let setup = |core: &CoreArgs, number, build: &str| {
        let name = format!("{}-{build}", variant.name());
        CoreSetup::prepare(core, number, &name, max_ues.into(), output.folder())
    };
    let testbeds = [
        Testbed::of(&setup(&args.core, 2 * index, "new")?, variant, max_ues).await?,
        Testbed::of(&setup(&base, 2 * index + 1, "base")?, variant, max_ues).await?,
    ];
    let mut lines = Vec::new();
    for (ues, pairs) in POINTS {
        let pairs = args.rounds.unwrap_or(if args.run.quick { 3 } else { pairs });
        lines.extend(rounds(&testbeds, ues, pairs, random, output).await?);
    }
    let memory = testbeds.each_ref().map(|testbed| testbed.usage().proportional_kb as f64 / 1e3);
    lines.push(line(MEMORY, 0, &[memory]).context("no memory")?);
    for line in &lines {
        let id = format!("{}.{}.ues{}.ratio", line.what, variant.name(), line.ues);
        output.figure(Figure::of(id, "times", line.ratio));
    }
    for testbed in testbeds {
        testbed.stop().await?;
    }
    Ok(Ratios { variant, lines })
}

/// Pairs of values, this build's first, as a line; `None` without any.
fn line(what: &'static str, ues: u32, pairs: &[[f64; 2]]) -> Option<Line> {
    let of = |build: usize| median(&pairs.iter().map(|pair| pair[build]).collect::<Vec<_>>());
    let ratios: Vec<f64> = pairs.iter().map(|[value, base]| value / base).collect();
    let (value, base, ratio) = (of(0)?.value, of(1)?.value, median(&ratios)?);
    Some(Line { what, ues, base, value, ratio })
}

async fn rounds(
    testbeds: &[Testbed; 2],
    ues: u32,
    pairs: u32,
    random: &mut StdRng,
    output: &mut Output,
) -> Result<Vec<Line>> {
    let variant = testbeds[0].variant;
    let mut progress = Progress::new("pairs of rounds", u64::from(pairs + WARM_UP));
    let mut all: Vec<(&'static str, Vec<[f64; 2]>)> = Vec::new();
    let mut order = [0, 1];
    for pair in 0..pairs + WARM_UP {
        order.shuffle(random);
        let mut of_pair = [const { Vec::new() }; 2];
        for build in order {
            let testbed = &testbeds[build];
            let before = testbed.usage().cpu_ns;
            let latencies = round::run(testbed, ues as usize).await?;
            let cpu = (testbed.usage().cpu_ns - before) as f64 / 1e6 / f64::from(ues);
            of_pair[build] = values(&latencies, cpu);
        }
        if pair < WARM_UP {
            continue;
        }
        all.resize_with(of_pair[0].len(), Default::default);
        let [new, base] = of_pair;
        for ((into, new), base) in all.iter_mut().zip(new).zip(base) {
            into.0 = new.0;
            into.1.push([new.1, base.1]);
            for (build, value) in BUILDS.into_iter().zip([new.1, base.1]) {
                let (what, sbi, pair) = (new.0, variant.name(), pair - WARM_UP);
                output.row(format_args!("{what},{sbi},{ues},{build},{pair},{value:.4}"))?;
            }
        }
        progress.step(&format!("{}, {ues} UEs", variant.title()));
    }
    progress.done();
    Ok(all.iter().filter_map(|(what, pairs)| line(what, ues, pairs)).collect())
}

/// The median latency of each metric in a round, and the CPU time of a UE's whole round.
fn values(latencies: &Latencies, cpu: f64) -> Vec<(&'static str, f64)> {
    let of = |metric: Metric| {
        let all: Vec<f64> = latencies.of(metric).map(|latency| latency.latency).collect();
        (metric.name(), median(&all).map_or(f64::NAN, |median| median.value))
    };
    Metric::ALL.into_iter().map(of).chain([(CPU, cpu)]).collect()
}

fn report(output: &mut Output, all: &[Ratios]) {
    let mut text = String::from(
        "This build and the base, in pairs of rounds in random order. `ratio` is the median of \
         the pairs' ratios with its 95 % interval; below 1, this build is better. Latencies and \
         CPU time are in milliseconds, memory in megabytes. CPU time is that of one UE's whole \
         round: registration, session, two handovers, paging, deregistration.\n\n\
         | SBI | what | UEs | base | this build | ratio |\n| --- | --- | --- | --- | --- | --- |\n",
    );
    for Ratios { variant, lines } in all {
        for Line { what, ues, base, value, ratio } in lines {
            let ues = if *ues == 0 { "–".into() } else { ues.to_string() };
            let _ = writeln!(
                text,
                "| {} | {what} | {ues} | {base:.3} | {value:.3} | {} |",
                variant.name(),
                shown(ratio)
            );
        }
    }
    output.text(&text);
}

fn shown(ratio: &Estimate) -> String {
    let Estimate { value, low, high, n, .. } = ratio;
    match n {
        1 => format!("{value:.2}"),
        _ => format!("{value:.2} ({low:.2}–{high:.2})"),
    }
}

/// Adds a row for each variant to the table at the end of a page.
fn append(page: &Path, title: &str, all: &[Ratios]) -> Result<()> {
    let mut rows = String::new();
    for Ratios { variant, lines } in all {
        let cell = |what: &str, ues: u32| {
            let found = lines.iter().find(|line| line.what == what && line.ues == ues);
            found.map_or_else(|| "–".into(), |line| shown(&line.ratio))
        };
        let _ = write!(rows, "| {title} | {} |", variant.name());
        for metric in IN_HISTORY {
            let _ = write!(rows, " {} |", cell(metric.name(), 1));
        }
        let of_many = cell(Metric::Registration.name(), 16);
        let _ = writeln!(rows, " {of_many} | {} | {} |", cell(CPU, 16), cell(MEMORY, 0));
    }
    let written = std::fs::OpenOptions::new()
        .append(true)
        .open(page)
        .and_then(|mut file| file.write_all(rows.as_bytes()));
    written.with_context(|| format!("--history {}", page.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_the_median_of_the_pairs() {
        // The machine is slower in the second pair, but the ratio is the same.
        let line = line("registration", 1, &[[2.0, 4.0], [20.0, 40.0], [3.0, 2.0]]).unwrap();
        assert_eq!((line.value, line.base, line.ratio.value), (3.0, 4.0, 0.5));
        assert!(super::line("registration", 1, &[]).is_none());
    }

    #[test]
    fn the_history_gets_a_row_for_each_variant() {
        let page = std::env::temp_dir().join(format!("martlet-history-{}", std::process::id()));
        std::fs::write(&page, "| a table |\n").unwrap();
        let lines = || {
            vec![
                line("registration", 1, &[[1.0, 2.0]]).unwrap(),
                line(MEMORY, 0, &[[60.0, 50.0]]).unwrap(),
            ]
        };
        let all =
            [Variant::Local, Variant::Fabric].map(|variant| Ratios { variant, lines: lines() });
        append(&page, "2026-11-24 a against b", &all).unwrap();
        let text = std::fs::read_to_string(&page).unwrap();
        std::fs::remove_file(&page).unwrap();
        assert_eq!(
            text,
            "| a table |\n\
             | 2026-11-24 a against b | local | 0.50 | – | – | – | – | – | 1.20 |\n\
             | 2026-11-24 a against b | fabric | 0.50 | – | – | – | – | – | 1.20 |\n"
        );
        assert!(append(&page, "", &all).is_err());
    }
}
