//! `martlet ran`: plays a scenario, or the conformance bench.
use crate::conformance::{ConformanceArgs, run_command};
use crate::scenario::{load, play, write_csv};
use anyhow::{Context, Result, anyhow};
use clap::{Args, Subcommand};
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;

/// Plays a scenario of simulated gNBs and UEs.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct RanArgs {
    /// What to run in place of a scenario
    #[command(subcommand)]
    pub command: Option<RanCommand>,
    /// Scenario: gNBs, UEs and steps as YAML
    #[arg(short, long, required = true)]
    pub config: Option<PathBuf>,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
    /// Write all latencies to this CSV file
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Print no progress
    #[arg(short, long)]
    pub quiet: bool,
    /// Only check the scenario
    #[arg(long)]
    pub check: bool,
}

/// What `martlet ran` runs in place of a scenario.
#[derive(Debug, Clone, Subcommand)]
pub enum RanCommand {
    /// Test a core with valid and invalid behaviours of gNBs and UEs
    Conformance(Box<ConformanceArgs>),
}

/// Runs the command.
///
/// # Errors
/// The scenario cannot be read or played, or a result was not as expected.
pub fn run(args: RanArgs) -> Result<()> {
    if let Some(RanCommand::Conformance(args)) = &args.command {
        return run_command(args);
    }
    let config = args.config.as_ref().context("--config is missing")?;
    let scenario = load(config)?;
    if args.check {
        println!(
            "{}: {} gNBs, {} groups of UEs, {} steps: valid",
            config.display(),
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
                "signal handlers not installed: interfaces and namespaces remain after Ctrl-C"
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
            File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        write_csv(BufWriter::new(file), &played.samples, played.origin)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&played.report)?),
        false => print!("{}", played.report.to_text()),
    }
    match played.report.passed {
        true => Ok(()),
        false => Err(match &played.report.aborted {
            Some(reason) => anyhow!("the scenario ended early: {reason}"),
            None => anyhow!("a result was not as the scenario expects"),
        }),
    }
}
