//! `martlet-lab instructions`: instructions that codecs, calls and procedures execute, counted by
//! valgrind. Other load on the machine does not change a count, so it shows a rise of a few percent
//! that no clock would.
//!
//! Each work runs twice in a process of its own, with a different number of rounds. The difference
//! of both counts, by round, has no part of the start and the end of the process.
mod core_work;
mod counts;
mod work;

pub use work::{InstructionLoadArgs, load};

use crate::core::{CORES, CoreArgs};
use crate::progress::Progress;
use crate::{Figure, Output, RunArgs, namespace};
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use counts::{Change, Counts};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use work::Work;

/// The rise of a count, in percent, that the commit has to explain.
const LIMIT: f64 = 3.0;

/// Counts the instructions of codecs, service calls and procedures.
#[derive(Debug, Clone, Args)]
pub struct InstructionsArgs {
    /// Results and length of the run.
    #[command(flatten)]
    pub run: RunArgs,
    /// Count a registration and a PDU session of a whole core, too (needs root)
    #[arg(long)]
    pub procedures: bool,
    /// What is counted beside the procedures of a core; all by default
    #[arg(long, value_delimiter = ',')]
    pub work: Vec<Work>,
    /// Rounds of the longer of the two runs of each work; the other one has a sixth [default: 1200]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(12..))]
    pub rounds: Option<u64>,
    /// The counts to compare with
    #[arg(long, value_name = "FILE")]
    pub counts: Option<PathBuf>,
    /// Write the counts instead of comparing with them
    #[arg(long, requires = "counts")]
    pub update: bool,
    /// The compiler of both programs, and what else changes counts; counts of another one are
    /// shown, but are no failure
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub compiler: String,
    /// The measured core.
    #[command(flatten)]
    pub core: CoreArgs,
}

/// Runs the experiment and returns its report.
///
/// # Errors
/// Valgrind is not installed, a work fails, or a count is more than 3 % above the stored one.
pub fn run(args: &InstructionsArgs) -> Result<String> {
    let header = "work,rounds,instructions";
    let mut output = Output::create("instructions", &args.run, header)?;
    let mut measured = Counts::new(&args.compiler);
    let works = if args.work.is_empty() { &Work::ALL } else { &args.work[..] };
    let mut progress = Progress::new("works", works.len() as u64);
    for &work in works {
        let rounds = match args.rounds {
            Some(rounds) => [rounds / 6, rounds],
            None if args.run.quick => [2, 4],
            None => work.rounds(),
        };
        let count = per_round(rounds, |rounds| {
            let count = count_work(work, rounds, output.folder())?;
            output.row(format_args!("{},{rounds},{count}", work.name()))?;
            Ok(count)
        });
        measured.insert(work.name(), count.with_context(|| work.name())?);
        progress.step(work.name());
    }
    progress.done();
    if args.procedures {
        namespace::enter_new()?;
        for (name, count) in core_work::count(&args.core, &mut output)? {
            measured.insert(name, count);
        }
        std::fs::remove_dir_all(output.folder().join(CORES))?;
    }
    for (name, count) in measured.iter() {
        output.figure(Figure::once(format!("instructions.{name}"), "", count as f64));
    }
    let outcome = compare(args, &measured, &mut output);
    let report = output.finish()?;
    outcome.with_context(|| report.clone())?;
    Ok(report)
}

/// Instructions by round, from the counts of two numbers of rounds.
fn per_round(rounds: [u64; 2], mut count: impl FnMut(u64) -> Result<u64>) -> Result<u64> {
    let [few, many] = rounds;
    let (of_few, of_many) = (count(few)?, count(many)?);
    ensure!(of_many > of_few, "{many} rounds took {of_many} instructions, {few} took {of_few}");
    Ok((of_many - of_few) / (many - few))
}

/// Valgrind with a counting tool and nothing else. Its log gets the count.
fn valgrind(log: &Path) -> Command {
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"])
        .arg(format!("--log-file={}", log.display()));
    command
}

/// The count in a log of valgrind.
fn read_count(log: &Path) -> Result<u64> {
    let text = std::fs::read_to_string(log).with_context(|| format!("no {}", log.display()))?;
    counts::in_log(&text).with_context(|| format!("no count in the log of valgrind:\n{text}"))
}

fn count_work(work: Work, rounds: u64, folder: &Path) -> Result<u64> {
    let log = folder.join("valgrind.log");
    let status = valgrind(&log)
        .arg(std::env::current_exe()?)
        .args(["--log", "warn", "instruction-load", "--work", work.name()])
        .args(["--rounds", &rounds.to_string()])
        .stdout(Stdio::null())
        .status()
        .context("valgrind cannot be started: install the package valgrind")?;
    ensure!(status.success(), "{}: {status}", work.name());
    let count = read_count(&log)?;
    std::fs::remove_file(&log)?;
    Ok(count)
}

/// Compares with the stored counts, or stores the measured ones.
fn compare(args: &InstructionsArgs, measured: &Counts, output: &mut Output) -> Result<()> {
    let stored = match &args.counts {
        Some(path) if !args.update && path.exists() => Counts::read(path)?,
        _ => Counts::default(),
    };
    let mut text = String::from(
        "Instructions of one round.\n\n| work | stored | measured | change |\n\
         | --- | --- | --- | --- |\n",
    );
    let changes = measured.changes(&stored);
    for Change { name, stored, measured, percent } in &changes {
        let stored = stored.map_or_else(|| "–".into(), |count| count.to_string());
        let percent = percent.map_or_else(|| "–".into(), |percent| format!("{percent:+.1} %"));
        let _ = writeln!(text, "| {name} | {stored} | {measured} | {percent} |");
    }
    output.text(&text);
    let Some(path) = &args.counts else { return Ok(()) };
    if args.update {
        return measured.write(path);
    }
    if !path.exists() {
        let path = path.display();
        output.text(&format!("There are no stored counts yet: --update writes {path}."));
        return Ok(());
    }
    let risen: Vec<_> = changes.iter().filter(|change| change.is_above(LIMIT)).collect();
    let names = risen.iter().map(|change| change.name.as_str()).collect::<Vec<_>>().join(", ");
    if risen.is_empty() {
        return Ok(());
    }
    if !stored.compiler().is_empty() && stored.compiler() != args.compiler {
        output.text(&format!(
            "The stored counts are of another compiler, {}: the rise of {names} is no failure.",
            stored.compiler()
        ));
        return Ok(());
    }
    bail!(
        "more than {LIMIT} % above {}: {names}. Reduce it, or update the file (`make \
         bench-update`, or `make bench-update-debug` for the build of the tests), and say in the \
         commit why the count rises",
        path.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_has_no_part_of_the_start() {
        let count = |rounds| Ok(1_000_000 + rounds * 70);
        assert_eq!(per_round([2, 12], count).unwrap(), 70);
        assert!(per_round([2, 12], |_| Ok(5)).is_err());
    }
}
