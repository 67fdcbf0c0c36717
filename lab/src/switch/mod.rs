//! `martlet-lab switch`: the programmable switch, by frame size and number of rules.
//!
//! In memory, the program `martlet-switch` measures itself: packets go from an endless source into
//! a sink on one core, and the CPU time is counted. There is no interface and no generator. Over
//! interfaces, the switch is measured after RFC 2544: see [`interfaces`].
mod interfaces;
mod report;

use crate::progress::Progress;
use crate::stats::median;
use crate::{Figure, Output, RunArgs};
use anyhow::{Context, Result, bail};
use clap::Args;
use rand::seq::SliceRandom;
use rand::{SeedableRng, rngs::StdRng};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Measures the switch's pipeline.
#[derive(Debug, Clone, Args)]
pub struct SwitchArgs {
    /// Results and length of the run.
    #[command(flatten)]
    pub run: RunArgs,
    /// Also measure over interfaces, after RFC 2544, beside the native UPFs (needs root)
    #[arg(long)]
    pub interfaces: bool,
    /// Seconds of the trials over interfaces that confirm a rate. RFC 2544 requires 60; a run with
    /// shorter trials judges no promise
    #[arg(long, default_value_t = interfaces::RFC_2544_TRIAL, value_name = "SECONDS")]
    pub trial: f64,
    /// Do not measure in memory
    #[arg(long, requires = "interfaces")]
    pub interfaces_only: bool,
    /// Over interfaces, measure rates and latencies only, for a test
    #[arg(long, hide = true)]
    pub forwarding_only: bool,
    /// Frame sizes over interfaces in bytes, with FCS: some of those of RFC 2544
    #[arg(long, value_delimiter = ',', value_name = "BYTES")]
    pub frames: Vec<u32>,
    /// Number of loads over interfaces, of: 1 user with 1 rule, 1 with 1,000, 100 with 1,000,
    /// 10,000 with 100,000 [default: all; with --quick: the first]
    #[arg(long, value_parser = clap::value_parser!(u8).range(1..=4))]
    pub loads: Option<u8>,
    /// The switch program [default: martlet-switch beside this program]
    #[arg(long, value_name = "FILE")]
    pub program: Option<PathBuf>,
}

/// Frame sizes of RFC 2544 in bytes, with FCS.
const FRAMES: [u32; 7] = [64, 128, 256, 512, 1024, 1280, 1518];
/// Numbers of rules, one UE each.
const RULES: [u32; 3] = [1, 1000, 100_000];

/// A measured case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Case {
    operation: &'static str,
    frame: u32,
    rules: u32,
    engine: &'static str,
}

impl Case {
    /// The name in figures.
    fn point(&self) -> String {
        let rules = if self.rules == 1 { String::new() } else { format!("_{}_rules", self.rules) };
        let engine = if self.engine == "best" { "" } else { "_interpreter" };
        format!("{}_{}_memory{rules}{engine}", self.operation, self.frame)
    }
}

/// Runs the experiment and returns its report.
///
/// # Errors
/// The switch program is missing, or does not forward by its rules.
pub fn run(args: &SwitchArgs) -> Result<String> {
    let program = match &args.program {
        Some(program) => program.clone(),
        None => std::env::current_exe()?.with_file_name("martlet-switch"),
    };
    martlet_switch_control::build::check(&program)?;
    let mut output = Output::create(
        "switch",
        &args.run,
        "operation,frame,rules,engine,round,packets_per_second,seconds_writing_rules",
    )?
    .short(args.interfaces && args.trial < interfaces::RFC_2544_TRIAL);
    if args.interfaces_only {
        return over_interfaces(output, args);
    }
    let (rounds, samples) = if args.run.quick { (1, 3) } else { (10, 5) };
    let mut cases = Vec::new();
    for operation in ["decap", "encap"] {
        cases.extend(FRAMES.map(|frame| Case { operation, frame, rules: 1, engine: "best" }));
        cases.extend(RULES[1..].iter().map(|rules| Case {
            operation,
            frame: 64,
            rules: *rules,
            engine: "best",
        }));
        cases.push(Case { operation, frame: 64, rules: 1, engine: "interpreter" });
    }
    let mut random = StdRng::seed_from_u64(args.run.seed);
    let mut progress = Progress::new("runs", cases.len() as u64 * rounds);
    let mut samples_of: BTreeMap<Case, Vec<f64>> = BTreeMap::new();
    let mut write_times: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    let mut engine = String::new();
    for round in 0..rounds {
        cases.shuffle(&mut random);
        for case in &cases {
            let measured = measure(&program, case, samples)?;
            let seconds = measured["seconds_writing_rules"]
                .as_f64()
                .context("the switch reported no write time")?;
            for value in measured["packets_per_second"]
                .as_array()
                .context("the switch reported no samples")?
            {
                let value = value.as_f64().context("a sample is not a number")?;
                output.row(format_args!(
                    "{},{},{},{},{round},{value},{seconds}",
                    case.operation, case.frame, case.rules, case.engine
                ))?;
                samples_of.entry(*case).or_default().push(value);
            }
            if case.engine == "best" {
                engine = measured["engine"].as_str().unwrap_or_default().into();
                write_times.entry(case.rules).or_default().push(seconds * 1e3);
            }
            progress.step(&case.point());
        }
    }
    progress.done();
    for (case, sample) in &samples_of {
        let id = format!("pps.switch.{}.median", case.point());
        output.figure(Figure::of(id, "packets/s", median(sample).context("no samples")?));
    }
    for (rules, sample) in write_times.iter().filter(|(rules, _)| **rules > 1) {
        output.figure(Figure::of(
            format!("rules_written.switch.{rules}.median"),
            "ms",
            median(sample).context("no samples")?,
        ));
    }
    let samples = if args.run.quick { 2 } else { 10 };
    let mut lost = 0.0;
    for rules in &RULES[1..] {
        let measured = issue(&program, *rules, samples)?;
        let seconds = measured["seconds"].as_array().context("the switch reported no times")?;
        let ms: Vec<f64> = seconds.iter().filter_map(|s| s.as_f64()).map(|s| s * 1e3).collect();
        for (round, ms) in ms.iter().enumerate() {
            output.row(format_args!("issue,128,{rules},best,{round},0,{}", ms / 1e3))?;
        }
        let id = format!("rules_issued.switch.{rules}.median");
        output.figure(Figure::of(id, "ms", median(&ms).context("no samples")?));
        lost += measured["lost"].as_f64().context("the switch reported no losses")?
            + measured["overtaken"].as_f64().context("the switch reported no order")?;
    }
    output.figure(Figure::once("rules_issued.switch.lost_or_reordered", "packets", lost));
    report::write(&mut output, &engine)?;
    if args.interfaces {
        return over_interfaces(output, args);
    }
    output.finish()
}

/// Measures over interfaces and writes the report. A failure ends a long measurement, so the report
/// is written then too.
fn over_interfaces(mut output: Output, args: &SwitchArgs) -> Result<String> {
    let plan = interfaces::Plan::of(args);
    let measured = interfaces::measure(&mut output, &plan);
    if let Err(error) = &measured {
        interfaces::ratios(&mut output, &plan);
        output.text(&format!(
            "**The measurement over interfaces failed: {error:#}.** Missing values were not \
             measured.\n"
        ));
    }
    interfaces::report::write(&mut output, &plan)?;
    let report = output.finish()?;
    measured.context("the report has the values measured before")?;
    Ok(report)
}

fn measure(program: &Path, case: &Case, samples: u32) -> Result<serde_json::Value> {
    let (frame, rules, samples) =
        (case.frame.to_string(), case.rules.to_string(), samples.to_string());
    let arguments = [
        "bench",
        case.operation,
        "--frame",
        &frame,
        "--rules",
        &rules,
        "--samples",
        &samples,
        "--engine",
        case.engine,
    ];
    run_switch(program, &arguments)
}

/// Writes rules over P4Runtime while packets are forwarded.
fn issue(program: &Path, rules: u32, samples: u32) -> Result<serde_json::Value> {
    let (rules, samples) = (rules.to_string(), samples.to_string());
    run_switch(program, &["bench", "issue", "--rules", &rules, "--samples", &samples])
}

fn run_switch(program: &Path, arguments: &[&str]) -> Result<serde_json::Value> {
    let output = Command::new(program).args(arguments).output();
    let output = output.with_context(|| {
        format!("{} cannot be run: `make release-switch` builds it", program.display())
    })?;
    if !output.status.success() {
        bail!("the switch's measurement failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
