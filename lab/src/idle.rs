//! `martlet-lab idle`: CPU time and memory of an idle core with a few registered UEs.
use crate::control_plane::testbed::{connect_gnb, new_ue};
use crate::core::{CORES, CoreArgs, CoreSetup, Variant, wait_for_association};
use crate::progress::Progress;
use crate::{Figure, Output, RunArgs, namespace};
use anyhow::{Context, Result, ensure};
use clap::Args;
use martlet_ran::{PduSessionRequest, Samples};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// UEs that register, each with a PDU session, before the measurement. They make every function
/// discover its peers and open its connections.
const UES: u64 = 4;
/// Time for work that follows the registrations.
const SETTLE_TIME: Duration = Duration::from_secs(3);

/// Measures CPU time and memory of an idle core: a minute for each variant, or with --quick five
/// seconds.
#[derive(Debug, Clone, Args)]
pub struct IdleArgs {
    /// Results and length of the run.
    #[command(flatten)]
    pub run: RunArgs,
    /// Variants to compare
    #[arg(long, value_delimiter = ',', default_value = "fabric,local,http")]
    pub sbi: Vec<Variant>,
    /// The measured core.
    #[command(flatten)]
    pub core: CoreArgs,
}

/// Runs the experiment and returns its report.
///
/// # Errors
/// There is no right to make a network namespace, or a core does not start.
pub fn run(args: &IdleArgs) -> Result<String> {
    ensure!(!args.sbi.is_empty(), "--sbi must not be empty");
    namespace::enter_new()?;
    let mut output =
        Output::create("idle", &args.run, "sbi,second,functions_ns,all_ns,proportional_kb")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(measure(args, &mut output))?;
    report(&mut output, args);
    std::fs::remove_dir_all(output.folder().join(CORES))?;
    output.finish()
}

async fn measure(args: &IdleArgs, output: &mut Output) -> Result<()> {
    let seconds: u64 = if args.run.quick { 5 } else { 60 };
    let mut progress = Progress::new("seconds", seconds * args.sbi.len() as u64);
    for (number, variant) in (60..).zip(&args.sbi) {
        let setup = CoreSetup::prepare(
            &args.core,
            number,
            &format!("idle-{}", variant.name()),
            UES,
            output.folder(),
        )?;
        let core = setup.start(*variant)?;
        wait_for_association(&core).await?;
        let gnb = connect_gnb(&setup, Samples::default(), 1).await?;
        for n in 0..UES {
            let ue = new_ue(&gnb, n)?;
            ue.register().await.with_context(|| ue.supi().to_string())?;
            let request =
                PduSessionRequest { dnn: Some("internet".into()), ..PduSessionRequest::default() };
            ue.establish_pdu_session(request).await.with_context(|| ue.supi().to_string())?;
        }
        tokio::time::sleep(SETTLE_TIME).await;
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
        let (_, functions, all) = rows.last().context("no samples")?;
        let mut figure = |what: &str, unit, value: f64| {
            output.figure(Figure::once(format!("idle.{}.{what}", variant.name()), unit, value));
        };
        figure("cpu", "%", (functions.cpu_ns - before.cpu_ns) as f64 / elapsed * 100.0);
        figure(
            "cpu_with_supervisor",
            "%",
            (all.cpu_ns - all_before.cpu_ns) as f64 / elapsed * 100.0,
        );
        figure("proportional", "MB", functions.proportional_kb as f64 / 1e3);
        figure("proportional_with_supervisor", "MB", all.proportional_kb as f64 / 1e3);
        figure("processes", "", functions.processes as f64);
        gnb.shutdown().await;
        core.stop()?;
    }
    progress.done();
    Ok(())
}

fn report(output: &mut Output, args: &IdleArgs) {
    let mut text = format!(
        "An idle core with {UES} registered UEs: all network functions together, without and with \
         their supervisor.\n\n| | processes | CPU, % of one | with supervisor | proportional set \
         size, MB | with supervisor |\n| --- | --- | --- | --- | --- | --- |\n"
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
            figure("cpu_with_supervisor"),
            figure("proportional"),
            figure("proportional_with_supervisor")
        );
    }
    output.text(&text);
}
