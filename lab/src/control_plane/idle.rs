//! `martlet lab idle`: what a core uses that has nothing to do, after it has served some phones.
use super::Variant;
use super::bed::{CORES, Site, associated, phone};
use crate::progress::Progress;
use crate::{CoreArgs, Figure, Output, namespace};
use anyhow::{Context, Result, ensure};
use clap::Args;
use martlet_ran::{PduSessionRequest, Samples};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Phones that are registered, each with a session, before the core is left alone: then every
/// function knows those that it talks to.
const PHONES: u64 = 4;
/// Until what follows from the phones is over.
const SETTLE: Duration = Duration::from_secs(3);
/// What the functions, each in its process, may use in all: percent of one core, and megabytes of
/// proportional set.
const MOST_CPU: f64 = 0.5;
const MOST_MEGABYTES: f64 = 48.0;

/// Measures processor time and memory of a core that has nothing to do.
#[derive(Debug, Clone, Args)]
pub struct IdleArgs {
    /// Folder for raw data and report (lab-results/idle-TIME)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Five seconds each instead of a minute, for a look
    #[arg(long)]
    pub quick: bool,
    /// Nothing here is random; taken as every lab takes it
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Ways of running to compare
    #[arg(long, value_delimiter = ',', default_value = "fabric,local,http")]
    pub sbi: Vec<Variant>,
    #[command(flatten)]
    pub core: CoreArgs,
}

/// Runs the experiment and returns its report.
///
/// # Errors
/// There is no right to make a network namespace, or a core does not start.
pub fn run(args: &IdleArgs) -> Result<String> {
    ensure!(!args.sbi.is_empty(), "name at least one --sbi");
    namespace::enter_a_new_one()?;
    let mut output = Output::create(
        "idle",
        args.out.as_deref(),
        "sbi,second,functions_ns,all_ns,proportional_kb",
    )?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(measure(args, &mut output))?;
    report(&mut output, args);
    std::fs::remove_dir_all(output.folder().join(CORES))?;
    output.finish()
}

async fn measure(args: &IdleArgs, output: &mut Output) -> Result<()> {
    let seconds: u64 = if args.quick { 5 } else { 60 };
    let mut progress = Progress::new("seconds", seconds * args.sbi.len() as u64);
    for (number, variant) in (60..).zip(&args.sbi) {
        let site = Site::prepare(
            &args.core,
            number,
            &format!("idle-{}", variant.name()),
            PHONES,
            output.folder(),
        )?;
        let core = site.start(*variant)?;
        associated(&core).await?;
        let gnb = site.gnb(Samples::default(), 1).await?;
        for n in 0..PHONES {
            let phone = phone(&gnb, n)?;
            phone.register().await.with_context(|| phone.supi().to_string())?;
            let request =
                PduSessionRequest { dnn: Some("internet".into()), ..PduSessionRequest::default() };
            phone.establish_pdu_session(request).await.with_context(|| phone.supi().to_string())?;
        }
        tokio::time::sleep(SETTLE).await;
        let (before, all_before, started) =
            (core.usage_of_functions(), core.usage(), Instant::now());
        let mut rows = Vec::new();
        for second in 1..=seconds {
            tokio::time::sleep(Duration::from_secs(1)).await;
            rows.push((second, core.usage_of_functions(), core.usage()));
            progress.step(variant.title());
        }
        let elapsed = started.elapsed().as_nanos() as f64;
        for (second, functions, all) in &rows {
            let (own, whole) = (functions.cpu_ns - before.cpu_ns, all.cpu_ns - all_before.cpu_ns);
            let size = functions.proportional_kb;
            output.row(format_args!("{},{second},{own},{whole},{size}", variant.name()))?;
        }
        let (_, functions, all) = rows.last().context("no second")?;
        let mut say = |what: &str, unit, value: f64| {
            output.figure(Figure::once(format!("idle.{}.{what}", variant.name()), unit, value));
        };
        say("cpu", "%", (functions.cpu_ns - before.cpu_ns) as f64 / elapsed * 100.0);
        say("cpu_with_starter", "%", (all.cpu_ns - all_before.cpu_ns) as f64 / elapsed * 100.0);
        say("proportional", "MB", functions.proportional_kb as f64 / 1e3);
        say("proportional_with_starter", "MB", all.proportional_kb as f64 / 1e3);
        say("processes", "", functions.processes as f64);
        gnb.shutdown().await;
        core.stop()?;
    }
    progress.done();
    Ok(())
}

fn report(output: &mut Output, args: &IdleArgs) {
    let mut text = format!(
        "A core that has served {PHONES} phones and has nothing more to do: all network functions \
         together, and with the process that started them and watches them.\n\n| | processes | \
         processor, % of a core | with starter | proportional set, MB | with starter |\n| --- | \
         --- | --- | --- | --- | --- |\n"
    );
    for variant in &args.sbi {
        let figure = |what: &str| {
            output.find(&format!("idle.{}.{what}", variant.name())).map_or(f64::NAN, |f| f.value)
        };
        let _ = writeln!(
            text,
            "| {} | {} | {:.3} | {:.3} | {:.1} | {:.1} |",
            variant.title(),
            figure("processes"),
            figure("cpu"),
            figure("cpu_with_starter"),
            figure("proportional"),
            figure("proportional_with_starter")
        );
    }
    text += "\n## Asked for\n\n| figure | asked | measured | |\n| --- | --- | --- | --- |\n";
    for (id, unit, most) in
        [("idle.fabric.cpu", "%", MOST_CPU), ("idle.fabric.proportional", "MB", MOST_MEGABYTES)]
    {
        let Some(figure) = output.find(id) else { continue };
        let reached = if figure.value <= most { "reached" } else { "**not reached**" };
        let _ = writeln!(text, "| {id} | ≤ {most} {unit} | {:.3} | {reached} |", figure.value);
    }
    output.say(&text);
}
