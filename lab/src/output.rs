//! The results of an experiment: `raw.csv`, `summary.json`, `report.md` and plots.
use crate::stats::Estimate;
use crate::{machine, promises};
use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// The options that all experiments have.
#[derive(Debug, Clone, Default, Args)]
pub struct RunArgs {
    /// Folder for raw data, report and plots [default: lab-results/NAME-TIME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// A short run, in about a minute
    #[arg(long)]
    pub quick: bool,
    /// Seed of random choices, such as the order of the rounds
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// One figure of a summary; `id` reads `what.variant.point.statistic`.
#[derive(Debug, Clone, Serialize)]
pub struct Figure {
    /// `registration.local.ues16.p50`, for example.
    pub id: String,
    /// The value.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// Lower end of the 95 % interval.
    pub low: f64,
    /// Upper end of the 95 % interval.
    pub high: f64,
    /// The sample is too small for a lower end: `low` is its smallest value.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub low_is_open: bool,
    /// The sample is too small for an upper end: `high` is its largest value.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub high_is_open: bool,
    /// Number of samples.
    pub n: usize,
}

impl Figure {
    /// A figure with the interval of an estimate.
    pub fn of(id: impl Into<String>, unit: &'static str, estimate: Estimate) -> Self {
        Figure {
            id: id.into(),
            value: estimate.value,
            unit,
            low: estimate.low,
            high: estimate.high,
            low_is_open: estimate.low_is_open,
            high_is_open: estimate.high_is_open,
            n: estimate.n,
        }
    }

    /// A figure without an interval, from one reading.
    pub fn once(id: impl Into<String>, unit: &'static str, value: f64) -> Self {
        Figure {
            id: id.into(),
            value,
            unit,
            low: value,
            high: value,
            low_is_open: false,
            high_is_open: false,
            n: 1,
        }
    }

    /// The interval as text. An open end has the sign ≤ or ≥.
    pub fn interval(&self, digits: usize) -> String {
        let low = if self.low_is_open { "≤ " } else { "" };
        let high = if self.high_is_open { "≥ " } else { "" };
        format!("{low}{:.digits$} to {high}{:.digits$}", self.low, self.high)
    }
}

/// The figures whose sample is too small for an interval; a short run, in which most are, lists
/// none.
fn open_intervals(figures: &[Figure], is_short: bool) -> String {
    let open = || figures.iter().filter(|figure| figure.low_is_open || figure.high_is_open);
    let count = open().count();
    if count == 0 {
        return String::new();
    }
    let mut text = format!(
        "## Open intervals\n\nThe samples of {count} figures are too small for a 95 % interval. An \
         end with ≤ or ≥ is the smallest or largest value of the sample: the true value may be \
         beyond it. Plots and most tables have no sign.\n\n"
    );
    if is_short {
        return text;
    }
    text.push_str("| figure | samples | interval |\n| --- | --- | --- |\n");
    for figure in open() {
        let _ = writeln!(text, "| {} | {} | {} |", figure.id, figure.n, figure.interval(3));
    }
    text.push('\n');
    text
}

/// The results of one run, in their folder.
pub struct Output {
    lab: &'static str,
    folder: PathBuf,
    raw: BufWriter<File>,
    figures: Vec<Figure>,
    report: String,
    /// How it was measured, for `summary.json`.
    run: serde_json::Map<String, serde_json::Value>,
    /// A short run judges no promise.
    is_short: bool,
}

/// The command of this program as a person writes it, without folder and options of the log.
fn command(words: impl IntoIterator<Item = String>) -> String {
    let mut command = vec!["martlet-lab".to_string()];
    let mut words = words.into_iter().skip(1);
    while let Some(word) = words.next() {
        match word.split('=').next() {
            Some("--out" | "--log" | "--log-format") if word.contains('=') => {}
            Some("--out" | "--log" | "--log-format") => _ = words.next(),
            _ => command.push(word),
        }
    }
    command.join(" ")
}

impl Output {
    /// Makes the folder and starts `raw.csv` with its header.
    ///
    /// # Errors
    /// The folder or the file cannot be written.
    pub fn create(lab: &'static str, run: &RunArgs, header: &str) -> Result<Self> {
        let folder = match &run.out {
            Some(folder) => folder.clone(),
            None => {
                let now =
                    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_secs();
                PathBuf::from("lab-results").join(format!("{lab}-{now}"))
            }
        };
        // A core reads the paths in its configuration as relative to the configuration's folder.
        let folder = std::path::absolute(folder)?;
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        let mut raw = BufWriter::new(File::create(folder.join("raw.csv"))?);
        writeln!(raw, "{header}")?;
        let (figures, report, is_short) = (Vec::new(), String::new(), run.quick);
        let mut output =
            Output { lab, folder, raw, figures, report, run: serde_json::Map::new(), is_short };
        output.note("command", command(std::env::args()));
        Ok(output)
    }

    /// Marks a run that is shorter than a promise needs, as one with `--quick` is: its report
    /// judges none.
    pub fn short(mut self, is_short: bool) -> Self {
        self.is_short |= is_short;
        self
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Adds a line to `raw.csv`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn row(&mut self, row: std::fmt::Arguments<'_>) -> Result<()> {
        self.raw.write_fmt(row)?;
        self.raw.write_all(b"\n")?;
        Ok(())
    }

    /// Writes all rows to disk, so that an aborted run keeps them.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn flush(&mut self) -> Result<()> {
        Ok(self.raw.flush()?)
    }

    /// Adds a figure to the summary.
    pub fn figure(&mut self, figure: Figure) {
        self.figures.push(figure);
    }

    /// Records in `summary.json` how it was measured, for a report that is drawn later or
    /// elsewhere.
    pub fn note(&mut self, name: &str, value: impl Into<serde_json::Value>) {
        self.run.insert(name.into(), value.into());
    }

    /// The figure with an id.
    pub fn find(&self, id: &str) -> Option<&Figure> {
        self.figures.iter().find(|f| f.id == id)
    }

    /// The values of all figures whose ID has this start and this end.
    pub fn values(&self, start: &str, end: &str) -> Vec<f64> {
        let is_wanted = |id: &str| id.starts_with(start) && id.ends_with(end);
        self.figures.iter().filter(|f| is_wanted(&f.id)).map(|f| f.value).collect()
    }

    /// The number of rounds that were discarded, since their load was not offered.
    pub fn discarded(&self) -> f64 {
        self.figures.iter().filter(|f| f.id.contains("_discarded.")).map(|f| f.value).sum()
    }

    /// Adds Markdown text to the report.
    pub fn text(&mut self, text: &str) {
        self.report.push_str(text);
        self.report.push('\n');
    }

    /// Writes all files and returns the report.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn finish(mut self) -> Result<String> {
        self.raw.flush()?;
        let machine = machine::describe();
        let claims = !self.is_short && !cfg!(debug_assertions);
        let promises = promises::summary(self.lab, &self.figures, claims);
        let summary = serde_json::json!({
            "lab": self.lab, "machine": machine, "quick": self.is_short, "run": self.run,
            "figures": self.figures, "promises": promises,
        });
        std::fs::write(self.folder.join("summary.json"), serde_json::to_string_pretty(&summary)?)?;
        let mut whole = format!("# {}\n\n", self.lab);
        for (name, value) in machine.as_object().into_iter().flatten() {
            let _ = writeln!(
                whole,
                "- {name}: {}",
                value.as_str().map_or(value.to_string(), str::to_string)
            );
        }
        let _ = writeln!(whole, "\n{}", self.report);
        whole += &open_intervals(&self.figures, self.is_short);
        whole += &promises::table(self.lab, &self.figures, claims);
        std::fs::write(self.folder.join("report.md"), &whole)?;
        Ok(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A core reads the paths in its configuration as relative to the configuration's folder.
    #[test]
    fn the_folder_of_results_is_absolute() {
        let out = PathBuf::from(format!("../target/martlet-output-{}", std::process::id()));
        let run = RunArgs { out: Some(out), ..RunArgs::default() };
        let output = Output::create("test", &run, "header").unwrap();
        assert!(output.folder().is_absolute(), "{}", output.folder().display());
        std::fs::remove_dir_all(output.folder()).unwrap();
    }

    #[test]
    fn a_figure_of_a_small_sample_has_an_open_interval() {
        let sample: Vec<f64> = (1..=200).map(f64::from).collect();
        let p99 = Figure::of("a.p99", "ms", crate::stats::quantile(&sample, 0.99).unwrap());
        let p50 = Figure::of("a.p50", "ms", crate::stats::median(&sample).unwrap());
        assert!(p99.interval(0).ends_with(" to ≥ 200"), "{}", p99.interval(0));
        assert!(!p50.interval(0).contains(['≤', '≥']), "{}", p50.interval(0));
        let listed = open_intervals(&[p50.clone(), p99.clone()], false);
        assert!(listed.contains("| a.p99 | 200 |") && !listed.contains("a.p50"), "{listed}");
        assert!(!open_intervals(std::slice::from_ref(&p99), true).contains("a.p99"));
        assert_eq!(open_intervals(std::slice::from_ref(&p50), false), "");
        let json = |figure: Figure| serde_json::to_value(figure).unwrap();
        assert_eq!(json(p99)["high_is_open"], true);
        assert!(json(p50).get("high_is_open").is_none());
    }

    #[test]
    fn a_command_is_noted_without_folder_and_log_level() {
        let words = "lab --log warn lcs-upp --out=x --rounds 5 --out y --channels a,b --realtime";
        let noted = command(words.split(' ').map(String::from));
        assert_eq!(noted, "martlet-lab lcs-upp --rounds 5 --channels a,b --realtime");
    }
}
