//! `martlet lab switch`: the programmable switch in memory, by frame size and by number of rules.
//!
//! The switch is a program of its own, `martlet-switch`, which measures itself: packets from a
//! source that never ends, into a sink, on one core, by the time that the processor gave to it. No
//! interface and no generator takes part.
mod interfaces;
mod interfaces_report;
mod points;
mod report;

use crate::progress::Progress;
use crate::stats::median;
use crate::{Figure, Output};
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
    /// Folder for raw data, report and plots (lab-results/switch-TIME)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Few rounds, in under a minute, for a look
    #[arg(long)]
    pub quick: bool,
    /// Seed for the order of the runs
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Over interfaces too, after RFC 2544, beside the native UPFs (uses root for a namespace)
    #[arg(long)]
    pub interfaces: bool,
    /// Seconds of each trial over interfaces; RFC 2544 asks for 60
    #[arg(long, default_value_t = 0.5, value_name = "SECONDS")]
    pub trial: f64,
    /// Nothing in memory
    #[arg(long, requires = "interfaces")]
    pub interfaces_only: bool,
    /// Frames over interfaces, in octets with their checksum: some of those of RFC 2544
    #[arg(long, value_delimiter = ',', value_name = "OCTETS")]
    pub frames: Vec<u32>,
    /// Over interfaces, so many of: 1 user with 1 rule, 1 with 1,000, 100 with 1,000, 10,000 with
    /// 100,000
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=4))]
    pub loads: u8,
    /// The switch program; beside this one where it is left out
    #[arg(long, value_name = "FILE")]
    pub program: Option<PathBuf>,
}

/// Frames as RFC 2544 has them, in octets with their checksum.
const FRAMES: [u32; 7] = [64, 128, 256, 512, 1024, 1280, 1518];
/// Rules, of one UE each.
const RULES: [u32; 3] = [1, 1000, 100_000];

/// What is measured in one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Case {
    way: &'static str,
    frame: u32,
    rules: u32,
    engine: &'static str,
}

impl Case {
    /// As it is called in figures.
    fn point(&self) -> String {
        let rules = if self.rules == 1 { String::new() } else { format!("_{}_rules", self.rules) };
        let engine = if self.engine == "best" { "" } else { "_interpreter" };
        format!("{}_{}_memory{rules}{engine}", self.way, self.frame)
    }
}

/// Runs the experiment and returns its report.
///
/// # Errors
/// There is no switch program, or it does not forward by its rules.
pub fn run(args: &SwitchArgs) -> Result<String> {
    let program = match &args.program {
        Some(program) => program.clone(),
        None => std::env::current_exe()?.with_file_name("martlet-switch"),
    };
    martlet_switch_control::build::check(&program).map_err(anyhow::Error::msg)?;
    let mut output = Output::create(
        "switch",
        args.out.as_deref(),
        "way,frame,rules,engine,round,packets_per_second,seconds_writing_rules",
    )?;
    if args.interfaces_only {
        return over_interfaces(output, args);
    }
    let (rounds, samples) = if args.quick { (1, 3) } else { (10, 5) };
    let mut cases = Vec::new();
    for way in ["decap", "encap"] {
        cases.extend(FRAMES.map(|frame| Case { way, frame, rules: 1, engine: "best" }));
        cases.extend(RULES[1..].iter().map(|rules| Case {
            way,
            frame: 64,
            rules: *rules,
            engine: "best",
        }));
        cases.push(Case { way, frame: 64, rules: 1, engine: "interpreter" });
    }
    let mut random = StdRng::seed_from_u64(args.seed);
    let mut progress = Progress::new("runs", cases.len() as u64 * rounds);
    let mut taken: BTreeMap<Case, Vec<f64>> = BTreeMap::new();
    let mut writing: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    let mut engine = String::new();
    for round in 0..rounds {
        cases.shuffle(&mut random);
        for case in &cases {
            let measured = measure(&program, case, samples)?;
            let seconds =
                measured["seconds_writing_rules"].as_f64().context("no time of writing")?;
            for value in measured["packets_per_second"].as_array().context("no samples")? {
                let value = value.as_f64().context("a sample that is no number")?;
                output.row(format_args!(
                    "{},{},{},{},{round},{value},{seconds}",
                    case.way, case.frame, case.rules, case.engine
                ))?;
                taken.entry(*case).or_default().push(value);
            }
            if case.engine == "best" {
                engine = measured["engine"].as_str().unwrap_or_default().into();
                writing.entry(case.rules).or_default().push(seconds * 1e3);
            }
            progress.step(&case.point());
        }
    }
    progress.done();
    for (case, sample) in &taken {
        let id = format!("pps.switch.{}.median", case.point());
        output.figure(Figure::of(id, "packets/s", median(sample).context("nothing was measured")?));
    }
    for (rules, sample) in writing.iter().filter(|(rules, _)| **rules > 1) {
        output.figure(Figure::of(
            format!("rules_written.switch.{rules}.median"),
            "ms",
            median(sample).context("nothing")?,
        ));
    }
    let samples = if args.quick { 2 } else { 10 };
    let mut lost = 0.0;
    for rules in &RULES[1..] {
        let measured = issue(&program, *rules, samples)?;
        let seconds = measured["seconds"].as_array().context("no times")?;
        let ms: Vec<f64> = seconds.iter().filter_map(|s| s.as_f64()).map(|s| s * 1e3).collect();
        for (round, ms) in ms.iter().enumerate() {
            output.row(format_args!("issue,128,{rules},best,{round},0,{}", ms / 1e3))?;
        }
        let id = format!("rules_issued.switch.{rules}.median");
        output.figure(Figure::of(id, "ms", median(&ms).context("nothing was issued")?));
        lost += measured["lost"].as_f64().context("no losses")?
            + measured["overtaken"].as_f64().context("no order")?;
    }
    output.figure(Figure::once("rules_issued.switch.lost_or_overtaken", "packets", lost));
    report::write(&mut output, &engine)?;
    if args.interfaces {
        return over_interfaces(output, args);
    }
    output.finish()
}

/// Measures over interfaces and writes the report: also of what there is where that breaks off, for
/// it takes long.
fn over_interfaces(mut output: Output, args: &SwitchArgs) -> Result<String> {
    let plan = interfaces::Plan::of(args);
    let measured = interfaces::measure(&mut output, &plan);
    if let Err(error) = &measured {
        interfaces::ratios(&mut output, &plan);
        output.say(&format!(
            "**Measuring over interfaces broke off: {error:#}.** What is missing was not \
             measured.\n"
        ));
    }
    interfaces_report::write(&mut output, &plan.frames, &plan.loads, plan.trial)?;
    let report = output.finish()?;
    measured.context("the report has what was measured before that")?;
    Ok(report)
}

fn measure(program: &Path, case: &Case, samples: u32) -> Result<serde_json::Value> {
    let (frame, rules, samples) =
        (case.frame.to_string(), case.rules.to_string(), samples.to_string());
    let arguments = [
        "bench",
        case.way,
        "--frame",
        &frame,
        "--rules",
        &rules,
        "--samples",
        &samples,
        "--engine",
        case.engine,
    ];
    asked(program, &arguments)
}

/// Rules over P4Runtime, while packets pass.
fn issue(program: &Path, rules: u32, samples: u32) -> Result<serde_json::Value> {
    let (rules, samples) = (rules.to_string(), samples.to_string());
    asked(program, &["bench", "issue", "--rules", &rules, "--samples", &samples])
}

fn asked(program: &Path, arguments: &[&str]) -> Result<serde_json::Value> {
    let output = Command::new(program).args(arguments).output();
    let output = output
        .with_context(|| format!("{} cannot be run: make release builds it", program.display()))?;
    if !output.status.success() {
        bail!("the switch did not measure: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
