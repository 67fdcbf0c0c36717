//! `martlet ran`: play a scenario.
use crate::scenario::{load, play, write_csv};
use anyhow::{Context, Result, anyhow};
use clap::Args;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

/// Plays a scenario of simulated gNBs and phones.
#[derive(Debug, Clone, Args)]
pub struct RanArgs {
    /// Scenario: gNBs, phones and steps as YAML
    #[arg(short, long)]
    pub config: PathBuf,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
    /// Write every latency to this CSV file
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Say nothing while the scenario runs
    #[arg(short, long)]
    pub quiet: bool,
    /// Only read the scenario and say what is wrong with it
    #[arg(long)]
    pub check: bool,
}

/// Run the command: an error, and with it an exit code other than 0, unless all went as the
/// scenario expects.
///
/// # Errors
/// The scenario cannot be read or played, or did not go as it expects.
pub fn run(args: RanArgs) -> Result<()> {
    let scenario = load(&args.config)?;
    if args.check {
        println!(
            "{}: {} gNBs, {} groups of UEs, {} steps: nothing wrong",
            args.config.display(),
            scenario.gnbs.len(),
            scenario.ues.len(),
            scenario.steps.len()
        );
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let interrupted = async {
        use tokio::signal::unix::{SignalKind, signal};
        let (Ok(mut interrupt), Ok(mut terminate)) =
            (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
        else {
            tracing::warn!(
                "signals cannot be caught: interfaces and namespaces are left behind after Ctrl-C"
            );
            return std::future::pending().await;
        };
        tokio::select! {
            _ = interrupt.recv() => "interrupted".to_owned(),
            _ = terminate.recv() => "terminated".to_owned(),
        }
    };
    let played = runtime.block_on(play(scenario, !args.quiet, interrupted));
    if let Some(path) = &args.csv {
        let file =
            File::create(path).with_context(|| format!("{} cannot be written", path.display()))?;
        write_csv(BufWriter::new(file), &played.samples, played.origin)
            .with_context(|| format!("{} cannot be written", path.display()))?;
    }
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&played.report)?),
        false => print!("{}", played.report.to_text()),
    }
    match played.report.passed {
        true => Ok(()),
        false => Err(match &played.report.aborted {
            Some(reason) => anyhow!("the scenario ended early: {reason}"),
            None => anyhow!("the scenario did not go as it expects"),
        }),
    }
}
