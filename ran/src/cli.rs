//! Arguments of `martlet-ran`, which plays a scenario or the conformance bench.
use crate::conformance::{ConformanceArgs, run_command};
use crate::scenario::{Played, Scenario, load, play, write_csv};
use anyhow::{Context, Result, anyhow};
use clap::{Args, CommandFactory, Parser, Subcommand};
use martlet_program::documents::{CompletionsArgs, ManArgs};
use martlet_program::log::LogArgs;
use std::fs::File;
use std::io::{BufWriter, Write, stdout};
use std::path::PathBuf;

/// Run a scenario of simulated gNBs and UEs against a core.
#[derive(Debug, Parser)]
#[command(version)]
pub struct Cli {
    /// What to run.
    #[command(flatten)]
    pub ran: RanArgs,
    // Last, since the heading of these options is that of all options after them.
    /// Options of the log.
    #[command(flatten)]
    pub log: LogArgs,
}

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

/// What `martlet-ran` runs in place of a scenario.
#[derive(Debug, Clone, Subcommand)]
pub enum RanCommand {
    /// Test a core with valid and invalid behaviours of gNBs and UEs
    Conformance(Box<ConformanceArgs>),
    /// Print completions for a shell
    #[command(hide = true)]
    Completions(CompletionsArgs),
    /// Write manual pages
    #[command(hide = true)]
    Man(ManArgs),
}

/// Runs the command.
///
/// # Errors
/// The scenario cannot be read or played, or a result was not as expected.
pub fn run(args: RanArgs) -> Result<()> {
    match &args.command {
        None => run_scenario(&args, play_until_signal, &mut stdout()),
        Some(RanCommand::Conformance(args)) => run_command(args),
        Some(RanCommand::Completions(args)) => {
            args.print(Cli::command());
            Ok(())
        }
        Some(RanCommand::Man(args)) => args.write(Cli::command()),
    }
}

/// Plays the scenario of the arguments and writes its results.
fn run_scenario(
    args: &RanArgs,
    play: impl FnOnce(Scenario, &RanArgs) -> Result<Played>,
    to: &mut impl Write,
) -> Result<()> {
    let config = args.config.as_ref().context("--config is missing")?;
    let scenario = load(config)?;
    if args.check {
        writeln!(
            to,
            "{}: {} gNBs, {} groups of UEs, {} steps: valid",
            config.display(),
            scenario.gnbs.len(),
            scenario.ues.len(),
            scenario.steps.len()
        )?;
        return Ok(());
    }
    // Before a run that may take long.
    let csv = match &args.csv {
        Some(path) => {
            let why = move || format!("cannot write {}", path.display());
            Some((File::create(path).with_context(why)?, why))
        }
        None => None,
    };
    let played = play(scenario, args)?;
    match args.json {
        true => writeln!(to, "{}", serde_json::to_string_pretty(&played.report)?)?,
        false => write!(to, "{}", played.report.to_text())?,
    }
    if let Some((file, why)) = csv {
        write_csv(BufWriter::new(file), &played.samples, played.origin).with_context(why)?;
    }
    match played.report.passed {
        true => Ok(()),
        false => Err(match &played.report.aborted {
            Some(reason) => anyhow!("the scenario ended early: {reason}"),
            None => anyhow!("a result was not as the scenario expects"),
        }),
    }
}

/// Plays a scenario to its end, SIGINT or SIGTERM.
fn play_until_signal(scenario: Scenario, args: &RanArgs) -> Result<Played> {
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
    Ok(runtime.block_on(play(scenario, !args.quiet, interrupted)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Procedure, Sample};
    use crate::scenario::Report;
    use std::time::{Duration, Instant};

    fn args(csv: &str) -> RanArgs {
        let config = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/one-ue.yaml");
        RanArgs {
            command: None,
            config: Some(config.into()),
            json: false,
            csv: Some(csv.into()),
            quiet: true,
            check: false,
        }
    }

    fn played(scenario: &Scenario) -> Played {
        let origin = Instant::now();
        let sample = Sample {
            procedure: Procedure::Registration,
            subject: "imsi-1".into(),
            start: origin,
            latency: Duration::from_micros(1500),
            total: Duration::from_micros(1600),
            core: Duration::from_micros(1400),
            failure: None,
        };
        let report = Report {
            scenario: scenario.name.clone(),
            passed: true,
            seconds: 1.0,
            steps: Vec::new(),
            procedures: Vec::new(),
            aborted: None,
            samples_dropped: 0,
        };
        Played { report, samples: vec![sample], origin }
    }

    #[test]
    fn a_csv_file_that_cannot_be_created_is_reported_before_the_scenario() {
        let play = |_: Scenario, _: &RanArgs| -> Result<Played> { unreachable!("played") };
        let error = run_scenario(&args("/nonexistent/latencies.csv"), play, &mut std::io::sink());
        let error = error.expect_err("no such folder").to_string();
        assert_eq!(error, "cannot write /nonexistent/latencies.csv");
    }

    #[test]
    fn the_report_is_printed_if_the_csv_file_cannot_be_written() {
        // The device has no space left.
        let mut output = Vec::new();
        let play = |scenario: Scenario, _: &RanArgs| Ok(played(&scenario));
        let error = run_scenario(&args("/dev/full"), play, &mut output);
        let error = error.expect_err("a full device").to_string();
        assert_eq!(error, "cannot write /dev/full");
        let text = String::from_utf8(output).unwrap();
        assert!(text.contains(": as expected, 1.0 s"), "{text}");
    }
}
