//! `martlet-lab crowd`: many registered UEs at one core in one process. It measures how fast they
//! register, what each takes in memory, and how much longer one more registration takes than at an
//! empty core.
//!
//! Speed drifts on most machines while a crowd registers. So a second core without UEs runs beside
//! the crowded one, and both take turns: the ratio is that of pairs that follow each other.
use crate::control_plane::testbed::{AfterRegistration, CONCURRENCY, bring, connect_gnb, new_ue};
use crate::core::{CORES, CoreArgs, CoreProcess, CoreSetup, Variant, wait_for_association};
use crate::process_usage::proportional_data_kb;
use crate::progress::Progress;
use crate::stats::{Estimate, median};
use crate::{Axes, Figure, Output, Panel, RunArgs, Series, draw_scaled, namespace};
use anyhow::{Context, Result, ensure};
use clap::Args;
use martlet_ran::{Gnb, Samples, Ue};
use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

/// Numbers of registered UEs at which the crowded core is measured, and at the end.
const CHECKPOINTS: [u64; 4] = [1_000, 10_000, 100_000, 1_000_000];
/// Registrations at each core before the measured ones: they bring in code and connections.
const WARM_UP: usize = 20;
/// Longer than the flush interval, so that nothing waits to be stored.
const SETTLE_TIME: Duration = Duration::from_secs(2);
/// The numbers of the two cores.
const NUMBERS: [u8; 2] = [90, 91];

/// Measures a core with many registered UEs; with --quick with 200.
#[derive(Debug, Clone, Args)]
pub struct CrowdArgs {
    /// Results and length of the run.
    #[command(flatten)]
    pub run: RunArgs,
    /// Number of UEs
    #[arg(long, default_value_t = 100_000)]
    pub ues: u64,
    /// Release each UE to CM-IDLE after its registration. Otherwise they stay in CM-CONNECTED
    #[arg(long)]
    pub idle: bool,
    /// Further registrations, one after the other, at each number of registered UEs
    #[arg(long, default_value_t = 200)]
    pub pairs: usize,
    /// The measured core.
    #[command(flatten)]
    pub core: CoreArgs,
}

/// What was measured with a number of registered UEs.
struct Checkpoint {
    registered: u64,
    /// Registrations per second since the checkpoint before. With --idle, each with a release.
    rate: f64,
    /// Memory of the core in kilobytes, without files.
    kb: f64,
    /// One more registration in milliseconds, at the crowded and at the empty core.
    crowded: Estimate,
    empty: Estimate,
    /// The ratio of both, of pairs.
    ratio: Estimate,
}

/// Runs the experiment and returns its report.
///
/// # Errors
/// There is no right to make a network namespace, a core does not start, or a UE is lost.
pub fn run(args: &CrowdArgs) -> Result<String> {
    let (ues, pairs) = if args.run.quick { (200, 5) } else { (args.ues, args.pairs) };
    ensure!(ues > 0 && pairs > 0, "--ues and --pairs must be at least 1");
    namespace::enter_new()?;
    let header = "registered,pair,crowded_ms,empty_ms";
    let mut output = Output::create("crowd", &args.run, header)?
        // The promise is that of 100,000 UEs.
        .short(ues < 100_000);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (started_kb, all) = runtime.block_on(measure(args, ues, pairs, &mut output))?;
    record(&mut output, started_kb, &all);
    report(&mut output, args, started_kb, &all);
    plot(output.folder(), started_kb, &all)?;
    std::fs::remove_dir_all(output.folder().join(CORES))?;
    output.finish()
}

/// The numbers of UEs at which the core is measured.
fn checkpoints(ues: u64) -> Vec<u64> {
    CHECKPOINTS.into_iter().filter(|at| *at < ues).chain([ues]).collect()
}

/// A core with its gNB.
struct Side {
    core: CoreProcess,
    gnb: Gnb,
    /// The UE that registers once more. It is not one of the crowd.
    probe: Ue,
}

impl Side {
    async fn start(args: &CoreArgs, number: u8, ues: u64, folder: &Path) -> Result<Side> {
        let name = format!("crowd-{ues}");
        let setup = CoreSetup::prepare(args, number, &name, ues + 1, folder)?.for_ues(ues + 1);
        let core = setup.start(Variant::Local)?;
        wait_for_association(&core).await?;
        let gnb = connect_gnb(&setup, Samples::default(), 1).await?;
        let probe = new_ue(&gnb, ues)?;
        Ok(Side { core, gnb, probe })
    }

    /// Milliseconds of one more registration, with authentication. The UE is deregistered again.
    async fn registration_ms(&self) -> Result<f64> {
        let begun = Instant::now();
        self.probe.register().await.context("one more registration")?;
        let ms = begun.elapsed().as_secs_f64() * 1e3;
        self.probe.deregister().await.context("its deregistration")?;
        // The next one begins with the SUCI, as the first.
        self.probe.forget_registration().await?;
        Ok(ms)
    }

    /// Registers UEs. Returns those that stay connected.
    async fn bring(
        &self,
        numbers: Range<u64>,
        idle: bool,
        progress: &mut Progress,
    ) -> Result<Vec<Ue>> {
        let then = AfterRegistration { session: false, idle, forgotten: idle };
        bring(&self.gnb, numbers, then, (progress, "registered")).await
    }

    /// Memory of the core in kilobytes, without files.
    async fn kb(&self) -> f64 {
        tokio::time::sleep(SETTLE_TIME).await;
        self.core.family().into_iter().map(proportional_data_kb).sum::<u64>() as f64
    }

    async fn stop(self) -> Result<()> {
        drop(self.probe);
        self.gnb.shutdown().await;
        self.core.stop()
    }
}

/// Returns the memory of the core before the crowd, and what was measured at each checkpoint.
async fn measure(
    args: &CrowdArgs,
    ues: u64,
    pairs: usize,
    output: &mut Output,
) -> Result<(f64, Vec<Checkpoint>)> {
    let crowded = Side::start(&args.core, NUMBERS[0], ues, output.folder()).await?;
    let empty = Side::start(&args.core, NUMBERS[1], 0, output.folder()).await?;
    for _ in 0..WARM_UP {
        crowded.registration_ms().await?;
        empty.registration_ms().await?;
    }
    let started_kb = crowded.kb().await;
    let mut progress = Progress::new("UEs", ues);
    let (mut connected, mut all, mut registered) = (Vec::new(), Vec::new(), 0);
    for end in checkpoints(ues) {
        let begun = Instant::now();
        connected.extend(crowded.bring(registered..end, args.idle, &mut progress).await?);
        let rate = (end - registered) as f64 / begun.elapsed().as_secs_f64();
        registered = end;
        let kb = crowded.kb().await;
        let mut of = Pairs::default();
        for pair in 0..pairs {
            // Each core comes first in every second pair.
            let (crowded_ms, empty_ms) = if pair % 2 == 0 {
                let first = crowded.registration_ms().await?;
                (first, empty.registration_ms().await?)
            } else {
                let first = empty.registration_ms().await?;
                (crowded.registration_ms().await?, first)
            };
            output.row(format_args!("{registered},{pair},{crowded_ms},{empty_ms}"))?;
            of.add(crowded_ms, empty_ms);
        }
        output.flush()?;
        let [crowded, empty, ratio] = of.medians().context("no pair was measured")?;
        all.push(Checkpoint { registered, rate, kb, crowded, empty, ratio });
    }
    progress.done();
    drop(connected);
    crowded.stop().await?;
    empty.stop().await?;
    Ok((started_kb, all))
}

/// Registrations at the crowded and the empty core that follow each other, in milliseconds.
#[derive(Default)]
struct Pairs {
    crowded: Vec<f64>,
    empty: Vec<f64>,
    ratio: Vec<f64>,
}

impl Pairs {
    fn add(&mut self, crowded_ms: f64, empty_ms: f64) {
        self.crowded.push(crowded_ms);
        self.empty.push(empty_ms);
        self.ratio.push(crowded_ms / empty_ms);
    }

    /// Medians of the crowded and the empty core, and of the ratios; `None` without a pair.
    fn medians(&self) -> Option<[Estimate; 3]> {
        Some([median(&self.crowded)?, median(&self.empty)?, median(&self.ratio)?])
    }
}

impl Checkpoint {
    /// Kilobytes of each registered UE.
    fn kb_per_ue(&self, started_kb: f64) -> f64 {
        (self.kb - started_kb) / self.registered as f64
    }
}

fn record(output: &mut Output, started_kb: f64, all: &[Checkpoint]) {
    for at in all {
        let id = |what: &str, end: &str| format!("crowd.{what}.ues{}{end}", at.registered);
        let per_ue = at.kb_per_ue(started_kb);
        for figure in [
            Figure::once(id("rate", ""), "1/s", at.rate),
            Figure::once(id("memory", ""), "MB", at.kb / 1e3),
            Figure::once(id("memory_per_ue", ""), "KB", per_ue),
            Figure::of(id("registration", ".p50"), "ms", at.crowded),
            Figure::of(id("registration_empty", ".p50"), "ms", at.empty),
            Figure::of(id("registration_over_empty", ".p50"), "", at.ratio),
        ] {
            output.figure(figure);
        }
    }
}

fn report(output: &mut Output, args: &CrowdArgs, started_kb: f64, all: &[Checkpoint]) {
    let state = if args.idle { "CM-IDLE" } else { "CM-CONNECTED" };
    let mut text = format!(
        "UEs register at a core in one process, {CONCURRENCY} at a time, and stay registered in \
         {state} without a session. At some numbers of them, another UE registers again and again, \
         in turn at this core and at one without other UEs. Memory is without files; the core has \
         {:.0} MB before the first UE of the crowd.\n\n\
         | registered UEs | per second | memory | of a UE | registration | at an empty core | \
         ratio |\n| --- | --- | --- | --- | --- | --- | --- |\n",
        started_kb / 1e3
    );
    for at in all {
        let (ratio, Estimate { value, low, high, .. }) = (at.ratio, at.crowded);
        let _ = writeln!(
            text,
            "| {} | {:.0} | {:.0} MB | {:.2} KB | {value:.2} ms ({low:.2} to {high:.2}) | {:.2} ms \
             | {:.2} ({:.2} to {:.2}) |",
            at.registered,
            at.rate,
            at.kb / 1e3,
            at.kb_per_ue(started_kb),
            at.empty.value,
            ratio.value,
            ratio.low,
            ratio.high
        );
    }
    text += "\n![Memory and registration by the number of registered UEs](crowd.svg)\n";
    output.text(&text);
}

fn plot(folder: &Path, started_kb: f64, all: &[Checkpoint]) -> Result<()> {
    let series = |name: &str, of: &dyn Fn(&Checkpoint) -> (f64, f64, f64)| {
        let point = |at: &Checkpoint| {
            let (value, low, high) = of(at);
            (at.registered as f64, value, low, high)
        };
        Series { name: name.into(), points: all.iter().map(point).collect() }
    };
    let of = |estimate: Estimate| (estimate.value, estimate.low, estimate.high);
    let panel = |title: &str, y_label: &str, series| Panel {
        title: title.into(),
        x_label: "registered UEs".into(),
        y_label: y_label.into(),
        series,
    };
    let per_ue = |at: &Checkpoint| {
        let kb = at.kb_per_ue(started_kb);
        (kb, kb, kb)
    };
    let panels = [
        panel("memory of a registered UE", "KB", vec![series("crowded core", &per_ue)]),
        panel(
            "one more registration",
            "ms",
            vec![
                series("crowded core", &|at| of(at.crowded)),
                series("empty core", &|at| of(at.empty)),
            ],
        ),
    ];
    draw_scaled(folder, "crowd", &panels, Axes { log_x: true, log_y: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crowd_is_measured_at_each_power_of_ten_and_at_its_end() {
        assert_eq!(checkpoints(200), [200]);
        assert_eq!(checkpoints(100_000), [1_000, 10_000, 100_000]);
        assert_eq!(checkpoints(250_000), [1_000, 10_000, 100_000, 250_000]);
    }

    #[test]
    fn the_ratio_is_that_of_pairs() {
        let mut pairs = Pairs::default();
        // The machine becomes slower, and both cores with it.
        for slower in 1..=9 {
            pairs.add(1.5 * f64::from(slower), f64::from(slower));
        }
        let [crowded, empty, ratio] = pairs.medians().unwrap();
        assert_eq!((crowded.value, empty.value, ratio.value), (7.5, 5.0, 1.5));
        assert_eq!((ratio.low, ratio.high), (1.5, 1.5));
    }

    #[test]
    fn memory_of_a_ue_is_what_the_core_grew_by() {
        let one = median(&[1.0]).unwrap();
        let at = Checkpoint {
            registered: 1_000,
            rate: 1.0,
            kb: 25_000.0,
            crowded: one,
            empty: one,
            ratio: one,
        };
        assert_eq!(at.kb_per_ue(20_000.0), 5.0);
    }
}
