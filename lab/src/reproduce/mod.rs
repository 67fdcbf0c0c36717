//! `martlet-lab reproduce`: the figures of the four papers in one report, each beside the paper's
//! values.
//!
//! The measurements are those of the other experiments, which run as programs of their own; this
//! module draws their results as the papers do.
//!
//! | file | content |
//! | --- | --- |
//! | `paper` | the papers' values |
//! | `mark` | how true to the paper a figure is |
//! | `results` | the results of an experiment, from its files |
//! | `l25gc`, `xupfpi`, `switch`, `lcs_upp` | the figures of each paper |
//! | `part` | from which programs a part of the report is, so that it is not measured again |
//! | `report` | report.html, report.pdf, summary.json, raw.csv |
mod l25gc;
mod lcs_upp;
mod mark;
pub mod paper;
mod part;
mod report;
mod results;
mod switch;
mod xupfpi;

use crate::control_plane::radio_ms;
use crate::core::CoreArgs;
use crate::plot::{
    Axes, Bars, Panel, PointLabel, draw_bars, draw_labelled, draw_scaled, draw_stacked,
};
use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use mark::{Mark, mark_name};
use results::Results;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Paper {
    /// L25GC+: figures 6, 7 and 8
    L25gc,
    /// XupfPI: figures 2, 4, 5, 6a, 6b, 7, 8, 9, 11 and 12
    Xupfpi,
    /// The programmable switch: figure 2 and three settings of users and rules
    Switch,
    /// LCS-UPP: figure 4 (two diagrams) and five averages
    LcsUpp,
    /// All four papers
    All,
}

impl Paper {
    const EACH: [Paper; 4] = [Paper::L25gc, Paper::Xupfpi, Paper::Switch, Paper::LcsUpp];

    /// The experiment that measures its figures.
    fn lab(self) -> &'static str {
        match self {
            Paper::L25gc | Paper::All => "control-plane",
            Paper::Xupfpi => "upf",
            Paper::Switch => "switch",
            Paper::LcsUpp => "lcs-upp",
        }
    }
}

/// Makes the papers' figures.
#[derive(Debug, Clone, Args)]
pub struct ReproduceArgs {
    /// The paper
    #[arg(value_enum, default_value = "all")]
    pub paper: Paper,
    /// Folder for measurements, figures and report (lab-results/reproduce-TIME)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Few rounds, in a few minutes; the report is then marked as without claims
    #[arg(long)]
    pub quick: bool,
    /// Draw again from the measurements that --out holds, without measuring
    #[arg(long, requires = "out")]
    pub draw: bool,
    /// Do not measure these papers: draw what --out holds of them, such as the results of a guest
    #[arg(long, value_enum, value_delimiter = ',', requires = "out", value_name = "PAPERS")]
    pub keep: Vec<Paper>,
    /// Measure only what --out does not hold from the same programs and options
    #[arg(long, requires = "out")]
    pub resume: bool,
    /// Seconds of the trials that confirm the rates of the switch; RFC 2544 requires 60
    #[arg(long, default_value_t = 60.0, value_name = "SECONDS")]
    pub trial: f64,
    /// Milliseconds of a round trip of RRC messages in figure 7 of L25GC+
    #[arg(long, default_value_t = 20.0, value_name = "MS", value_parser = radio_ms)]
    pub radio_ms: f64,
    /// Program that starts free5GC for L25GC+, such as deploy/external/free5gc-functions.sh; it is
    /// measured in alternating rounds of the same run
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Folder of the programs of --baseline
    #[arg(long, value_name = "DIR")]
    pub programs: Option<PathBuf>,
    /// XupfPI: seconds for which each load is held before it is measured, on a real board
    #[arg(long, default_value_t = 0, value_name = "SECONDS")]
    pub hold: u64,
    /// Real-time properties for LCS-UPP, as the paper sets them
    #[arg(long)]
    pub realtime: bool,
    /// The switch program [default: martlet-switch beside this program]
    #[arg(long, value_name = "FILE")]
    pub switch_program: Option<PathBuf>,
    /// The least work that makes all figures, for a test
    #[arg(long, hide = true)]
    pub minimal: bool,
    /// The measured core.
    #[command(flatten)]
    pub core: CoreArgs,
}

/// The plot of a figure.
enum Drawing {
    Nothing,
    Lines(Vec<Panel>, Axes),
    /// Lines with texts at points.
    Labelled(Vec<Panel>, Axes, Vec<PointLabel>),
    Bars(Vec<Bars>),
    /// The series of a group on top of each other.
    Stacked(Vec<Bars>),
}

/// A drawn value.
struct Drawn {
    panel: String,
    series: String,
    x: String,
    value: (f64, f64, f64),
}

impl Drawing {
    /// All values that are drawn.
    fn values(&self) -> Vec<Drawn> {
        let lines = |panels: &[Panel]| {
            let mut all = Vec::new();
            for panel in panels {
                for series in &panel.series {
                    all.extend(series.points.iter().map(|p| Drawn {
                        panel: panel.title.clone(),
                        series: series.name.clone(),
                        x: p.0.to_string(),
                        value: (p.1, p.2, p.3),
                    }));
                }
            }
            all
        };
        let bars = |panels: &[Bars]| {
            let mut all = Vec::new();
            for panel in panels {
                for (name, values) in &panel.series {
                    let finite =
                        panel.groups.iter().zip(values).filter(|(_, value)| value.0.is_finite());
                    all.extend(finite.map(|(group, value)| Drawn {
                        panel: panel.title.clone(),
                        series: name.clone(),
                        x: group.clone(),
                        value: *value,
                    }));
                }
            }
            all
        };
        match self {
            Drawing::Nothing => Vec::new(),
            Drawing::Lines(panels, _) | Drawing::Labelled(panels, ..) => lines(panels),
            Drawing::Bars(panels) | Drawing::Stacked(panels) => bars(panels),
        }
    }

    fn draw(&self, folder: &Path, name: &str) -> Result<()> {
        match self {
            Drawing::Nothing => Ok(()),
            Drawing::Lines(panels, axes) => draw_scaled(folder, name, panels, *axes),
            Drawing::Labelled(panels, axes, labels) => {
                draw_labelled(folder, name, panels, *axes, labels)
            }
            Drawing::Bars(panels) => draw_bars(folder, name, panels),
            Drawing::Stacked(panels) => draw_stacked(folder, name, panels),
        }
    }
}

/// A table beside a plot.
struct Table {
    title: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// A figure of a paper.
struct PaperFigure {
    id: &'static str,
    title: String,
    /// `None` if it was not measured.
    mark: Option<Mark>,
    /// Why it has its mark, or is absent.
    reason: String,
    /// What is like the paper, and what is not.
    like: String,
    drawing: Drawing,
    /// Numbers that the paper prints in the plot.
    table: Option<Table>,
    /// Values of this run, by the quantities of [`paper`].
    here: Vec<(&'static paper::Quantity, Option<f64>)>,
    /// A file of the report's folder with more about it, and what it has.
    more: Option<(&'static str, &'static str)>,
    /// The command that makes it.
    command: String,
    /// Where that command ran, which may be a guest.
    machine: String,
}

impl PaperFigure {
    fn new(id: &'static str, title: &str, mark: Mark, reason: &str) -> PaperFigure {
        PaperFigure {
            id,
            title: title.into(),
            mark: Some(mark),
            reason: reason.into(),
            like: String::new(),
            drawing: Drawing::Nothing,
            table: None,
            here: paper::of(id).map(|quantity| (quantity, None)).collect(),
            more: None,
            command: String::new(),
            machine: String::new(),
        }
    }

    /// Sets the value of a quantity in this run.
    fn here(&mut self, what: &str, value: Option<f64>) {
        match self.here.iter_mut().find(|(quantity, _)| quantity.what == what) {
            Some(found) => found.1 = value.filter(|value| value.is_finite()),
            None => debug_assert!(false, "{}: no quantity {what:?}", self.id),
        }
    }

    /// A figure without any value of this run is absent.
    fn judge(mut self, failure: Option<&str>) -> PaperFigure {
        let measured = |value: &Drawn| value.series != paper::SERIES;
        if !self.drawing.values().iter().any(measured) {
            self.mark = None;
            self.reason = failure.unwrap_or("the experiment gave no values for it").into();
            self.drawing = Drawing::Nothing;
            self.table = None;
        } else if let Some(failure) = failure {
            self.reason += &format!(" The experiment did not end: {failure}");
        }
        self
    }
}

/// Measures, draws and writes the report. Returns a table of the figures.
///
/// # Errors
/// The folder cannot be written. The report names each experiment that failed.
pub fn run(args: &ReproduceArgs) -> Result<String> {
    let folder = match &args.out {
        Some(folder) => folder.clone(),
        None => {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
            PathBuf::from("lab-results").join(format!("reproduce-{}", now.as_secs()))
        }
    };
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let mut figures = Vec::new();
    for paper in Paper::EACH {
        if args.paper != Paper::All && args.paper != paper {
            continue;
        }
        let words = arguments(args, paper);
        let drawn = args.draw || [paper, Paper::All].iter().any(|it| args.keep.contains(it));
        let results = match drawn {
            true => Ok(()),
            false => measure(args, paper, &words, &folder.join(paper.lab())),
        };
        let failure = results.err().map(|error| format!("{error:#}"));
        if let Some(error) = &failure {
            tracing::error!(experiment = paper.lab(), error, "experiment failed");
        }
        let results = Results::read(&folder.join(paper.lab()));
        let unread = results.as_ref().err().map(|error| format!("{error:#}"));
        let results = results.unwrap_or_default();
        let made = match paper {
            Paper::L25gc | Paper::All => l25gc::figures(&results, args),
            Paper::Xupfpi => xupfpi::figures(&results),
            Paper::Switch => switch::figures(&results),
            Paper::LcsUpp => lcs_upp::figures(&results),
        };
        // The command that ran, which may be another one than that of these options.
        let command = match results.noted("command") {
            Some(command) => command.to_string(),
            None => format!("martlet-lab {} {}", paper.lab(), words.join(" ")),
        };
        for mut figure in made {
            figure.command = command.trim_end().to_string();
            figure.machine = results.machine.clone();
            figures.push(figure.judge(failure.as_deref().or(unread.as_deref())));
        }
    }
    for figure in &figures {
        figure.drawing.draw(&folder, figure.id)?;
    }
    report::write(&folder, args, &figures)
}

/// The arguments of the experiment of a paper.
fn arguments(args: &ReproduceArgs, paper: Paper) -> Vec<String> {
    let mut words = match paper {
        Paper::L25gc | Paper::All => l25gc::arguments(args),
        Paper::Xupfpi => xupfpi::arguments(args),
        Paper::Switch => switch::arguments(args),
        Paper::LcsUpp => lcs_upp::arguments(args),
    };
    if args.quick {
        words.insert(0, "--quick".into());
    }
    words
}

/// Runs an experiment. Its messages go to `LAB.log` beside its folder.
fn measure(args: &ReproduceArgs, paper: Paper, words: &[String], folder: &Path) -> Result<()> {
    let origin = part::Origin::of(args, paper, words);
    if args.resume && origin.as_ref().is_ok_and(|origin| origin.is_of(folder)) {
        tracing::info!(experiment = paper.lab(), folder = %folder.display(), "experiment kept");
        return Ok(());
    }
    part::forget(folder)?;
    tracing::info!(experiment = paper.lab(), folder = %folder.display(), "experiment started");
    let log = folder.with_extension("log");
    let file = std::fs::File::create(&log)?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--log", "warn", paper.lab(), "--out"]).arg(folder).args(words);
    if let (Paper::L25gc, Some(martlet)) = (paper, &args.core.martlet) {
        command.arg("--martlet").arg(martlet);
    }
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file).status()?;
    if status.success() {
        return origin?.write(folder);
    }
    let text = std::fs::read_to_string(&log).unwrap_or_default();
    match part::error_of(&text) {
        Some(error) => anyhow::bail!("{error}"),
        None => anyhow::bail!("the experiment ended without an error message ({status})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(paper: Paper) -> ReproduceArgs {
        ReproduceArgs {
            paper,
            out: None,
            quick: true,
            draw: true,
            keep: Vec::new(),
            resume: false,
            trial: 60.0,
            radio_ms: 20.0,
            baseline: None,
            programs: None,
            hold: 0,
            realtime: false,
            switch_program: None,
            minimal: true,
            core: CoreArgs::default(),
        }
    }

    /// Without a measurement, each figure has the reason. The model of the board needs none.
    #[test]
    fn all_17_figures_are_in_the_report_of_a_run_that_measured_nothing() {
        let folder = std::env::temp_dir().join(format!("martlet-nothing-{}", std::process::id()));
        let args = ReproduceArgs { out: Some(folder.clone()), ..args(Paper::All) };
        let table = run(&args).unwrap();
        let summary: serde_json::Value =
            serde_json::from_slice(&std::fs::read(folder.join("summary.json")).unwrap()).unwrap();
        let figures = summary["figures"].as_array().unwrap();
        assert_eq!(figures.len(), 17, "{table}");
        for figure in figures {
            let is_model = figure["id"] == "xupfpi-2";
            let mark = if is_model { "modelled part" } else { "absent" };
            assert_eq!(figure["mark"], mark, "{figure}");
            assert_eq!(figure["series"].as_array().unwrap().is_empty(), !is_model, "{figure}");
            assert!(!figure["reason"].as_str().unwrap().is_empty(), "{figure}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    /// The averages of the paper, from samples whose intervals are known.
    #[test]
    fn the_averages_of_lcs_upp_are_changes_of_the_upper_bound_relative_to_wolfssl() {
        let times = [("wolfssl_default", 1.0), ("mbedtls", 1.5), ("msquic", 0.5)];
        let more = [("ktls", 2.0), ("kernel_module", 1.0)];
        let row = |(name, time): (&str, f64), n: u32, round: u32| -> Vec<String> {
            vec![name.into(), n.to_string(), round.to_string(), time.to_string()]
        };
        let all = times.into_iter().chain(more);
        let rows = all
            .flat_map(|it| [1, 16_384].map(|n| [row(it, n, 0), row(it, n, 1)]))
            .flatten()
            .collect();
        let results = Results::of(rows);
        let figures = lcs_upp::figures(&results);
        let values: Vec<f64> = figures
            .iter()
            .flat_map(|figure| figure.here.iter().filter_map(|(_, value)| *value))
            .collect();
        assert_eq!(values, [50.0, -50.0, 100.0, 0.0, -50.0]);
        assert!(figures.iter().all(|figure| figure.mark == Some(Mark::OtherTestbed)));
        assert!(figures.iter().all(|figure| !figure.reason.contains("stands for")));
    }

    /// Rows of two rounds, of the time of a channel for each n.
    fn rows_of(channel: &str, times: &[(u32, f64)]) -> Vec<Vec<String>> {
        let row = |n: u32, round: u32, time: f64| {
            vec![channel.into(), n.to_string(), round.to_string(), time.to_string()]
        };
        times.iter().flat_map(|(n, time)| [row(*n, 0, *time), row(*n, 1, *time)]).collect()
    }

    /// The numbers that the paper prints at the points of figure 4.
    #[test]
    fn the_change_of_the_upper_bound_stands_at_each_point_and_in_a_table() {
        let mut rows = rows_of("wolfssl", &[(1, 1.0), (1024, 2.0), (65_535, 8.0)]);
        rows.extend(rows_of("mbedtls", &[(1, 1.1), (1024, 2.0), (65_535, 12.0)]));
        rows.extend(rows_of("msquic", &[(1, 0.5), (1024, 1.0), (65_535, 10.0)]));
        let [upper, _] = <[_; 2]>::try_from(lcs_upp::figures(&Results::of(rows))).ok().unwrap();
        let Drawing::Labelled(_, _, labels) = &upper.drawing else { panic!("no labels") };
        let of = |series: &str| -> Vec<_> {
            let labels = labels.iter().filter(|label| label.series == series);
            labels.map(|label| (label.x, label.text.as_str())).collect()
        };
        assert_eq!(of("Mbed TLS"), [(1.0, "+10"), (1024.0, "+0.0"), (65_535.0, "+50")]);
        assert_eq!(of("MsQuic"), [(1.0, "-50"), (1024.0, "-50"), (65_535.0, "+25")]);
        assert!(of("wolfSSL").is_empty());
        let table = upper.table.unwrap();
        assert_eq!(table.columns, ["n, bytes", "wolfSSL, upper bound", "Mbed TLS", "MsQuic"]);
        assert_eq!(table.rows[2], ["65535", "8.0000 ms", "+50.00 %", "+25.00 %"]);
    }

    /// A run in a guest that is drawn elsewhere, without its options.
    #[test]
    fn a_figure_has_the_conditions_of_its_run_and_the_series_that_it_lacks() {
        let folder = std::env::temp_dir().join(format!("martlet-drawn-{}", std::process::id()));
        let lab = folder.join("lcs-upp");
        std::fs::create_dir_all(&lab).unwrap();
        let mut rows = rows_of("wolfssl_default", &[(1, 1.0), (1024, 2.0)]);
        rows.extend(rows_of("ktls", &[(1, 1.0), (1024, 3.0)]));
        let lines: Vec<String> = rows.iter().map(|row| row.join(",")).collect();
        std::fs::write(lab.join("raw.csv"), format!("header\n{}\n", lines.join("\n"))).unwrap();
        let summary = serde_json::json!({"figures": [], "machine": {"kernel": "6.1-rt"}, "run": {
            "command": "martlet-lab lcs-upp --rounds 1000 --realtime", "path": "loopback",
            "realtime": true, "rounds": 1000, "ue": "scheduling SCHED_FIFO, priority 1",
            "guest": "QEMU without KVM", "absent": {"kernel_module": "it is not loaded"},
        }});
        std::fs::write(lab.join("summary.json"), summary.to_string()).unwrap();
        run(&ReproduceArgs { out: Some(folder.clone()), ..args(Paper::LcsUpp) }).unwrap();
        let text = std::fs::read(folder.join("summary.json")).unwrap();
        let drawn: serde_json::Value = serde_json::from_slice(&text).unwrap();
        let lower = &drawn["figures"][1];
        assert_eq!(lower["mark"], "incomplete");
        assert_eq!(lower["command"], "martlet-lab lcs-upp --rounds 1000 --realtime");
        let reason = lower["reason"].as_str().unwrap();
        for part in [
            "Type 3, kernel module is absent (it is not loaded)",
            "with the real-time properties (scheduling SCHED_FIFO, priority 1)",
            "1000 rounds",
            "QEMU without KVM",
        ] {
            assert!(reason.contains(part), "{reason}");
        }
        assert_eq!(lower["table"]["rows"][1][2], "+50.00 %");
        let html = std::fs::read_to_string(folder.join("report.html")).unwrap();
        assert!(html.contains("<td>+50.00 %</td>"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
