//! The report of a scenario.
use crate::sample::{Procedure, Sample};
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};

/// The report of a scenario.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Name of the scenario.
    pub scenario: String,
    /// Whether every result was as expected.
    pub passed: bool,
    /// Duration, seconds.
    pub seconds: f64,
    /// The steps. A repeated step has one entry.
    pub steps: Vec<StepReport>,
    /// The procedures.
    pub procedures: Vec<ProcedureReport>,
    /// Why it ended early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aborted: Option<String>,
    /// Latencies that were dropped because there were too many.
    pub samples_dropped: u64,
}

/// The results of a step.
#[derive(Debug, Clone, Serialize)]
pub struct StepReport {
    /// Number of the step, such as `3`, or `6.2` in a repeat.
    pub number: String,
    /// Name of the step.
    pub step: String,
    /// How often it ran, by UEs or repeats.
    pub count: u64,
    /// Number of unexpected results, by description.
    pub unexpected: BTreeMap<String, u64>,
}

/// Latencies of the successful runs of a procedure, milliseconds.
#[derive(Debug, Clone, Serialize)]
pub struct ProcedureReport {
    /// The procedure.
    pub procedure: Procedure,
    /// Runs.
    pub count: u64,
    /// Runs that failed, by cause.
    pub failures: BTreeMap<String, u64>,
    /// Until the final downlink message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<Distribution>,
    /// Until the last message was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_ms: Option<Distribution>,
}

/// Distribution of a value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Distribution {
    pub min: f64,
    pub median: f64,
    pub p95: f64,
    pub p99: f64,
    pub max: f64,
}

impl Distribution {
    /// Distribution of durations in milliseconds; `None` without durations. Quantiles use the
    /// nearest rank, so each value is one that was measured; statistics libraries interpolate.
    pub fn of(values: impl Iterator<Item = Duration>) -> Option<Distribution> {
        let mut values: Vec<Duration> = values.collect();
        values.sort_unstable();
        let at = |percent: usize| {
            let rank = (values.len() * percent).div_ceil(100).max(1) - 1;
            values.get(rank).map(|value| value.as_secs_f64() * 1e3)
        };
        Some(Distribution {
            min: at(0)?,
            median: at(50)?,
            p95: at(95)?,
            p99: at(99)?,
            max: at(100)?,
        })
    }
}

impl ProcedureReport {
    /// A report for each procedure with samples.
    pub fn all(samples: &[Sample]) -> Vec<ProcedureReport> {
        Procedure::ALL
            .into_iter()
            .filter_map(|procedure| {
                let runs: Vec<_> = samples.iter().filter(|s| s.procedure == procedure).collect();
                if runs.is_empty() {
                    return None;
                }
                let mut failures = BTreeMap::new();
                for failure in runs.iter().filter_map(|s| s.failure.as_ref()) {
                    *failures.entry(failure.clone()).or_insert(0) += 1;
                }
                let good = || runs.iter().filter(|s| s.failure.is_none());
                Some(ProcedureReport {
                    procedure,
                    count: runs.len() as u64,
                    failures,
                    latency_ms: Distribution::of(good().map(|s| s.latency)),
                    total_ms: Distribution::of(good().map(|s| s.total)),
                })
            })
            .collect()
    }
}

impl Report {
    /// The report as text.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        let outcome = match self.passed {
            true => "as expected",
            false => "NOT as expected",
        };
        let _ = writeln!(text, "{}: {outcome}, {:.1} s", self.scenario, self.seconds);
        if !self.steps.is_empty() {
            let rows = self.steps.iter().map(StepReport::row);
            let _ = writeln!(text, "{}", table(["step", "name", "count", "result"], 2..3, rows));
        }
        if !self.procedures.is_empty() {
            let header = [
                "procedure",
                "count",
                "failed",
                "min ms",
                "median ms",
                "p95 ms",
                "p99 ms",
                "max ms",
                "failures",
            ];
            let rows = self.procedures.iter().map(ProcedureReport::row);
            let _ = writeln!(text, "\n  latency at the gNB\n{}", table(header, 1..8, rows));
        }
        if self.samples_dropped > 0 {
            let dropped = self.samples_dropped;
            let _ = writeln!(text, "\n  {dropped} latencies are missing: there were too many");
        }
        if let Some(reason) = &self.aborted {
            let _ = writeln!(text, "\n  ended early: {reason}");
        }
        text
    }
}

impl StepReport {
    fn row(&self) -> [String; 4] {
        let result = match self.unexpected.is_empty() {
            true => "ok".into(),
            false => format!("FAILED\n{}", counted(&self.unexpected)),
        };
        [self.number.clone(), self.step.clone(), self.count.to_string(), result]
    }
}

impl ProcedureReport {
    fn row(&self) -> [String; 9] {
        let failed: u64 = self.failures.values().sum();
        let latency = self.latency_ms.map(|d| [d.min, d.median, d.p95, d.p99, d.max]);
        let [min, median, p95, p99, max] =
            latency.map_or_else(Default::default, |all| all.map(|value| format!("{value:.3}")));
        let name = self.procedure.name().to_string();
        let (count, failed) = (self.count.to_string(), failed.to_string());
        [name, count, failed, min, median, p95, p99, max, counted(&self.failures)]
    }
}

/// Causes with their numbers, one a line.
fn counted(causes: &BTreeMap<String, u64>) -> String {
    let lines: Vec<_> = causes.iter().map(|(cause, count)| format!("{count} x {cause}")).collect();
    lines.join("\n")
}

/// A table without lines, two columns from the left. `numbers`: the columns that are aligned to the
/// right.
fn table<const N: usize>(
    header: [&str; N],
    numbers: Range<usize>,
    rows: impl Iterator<Item = [String; N]>,
) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(header).add_rows(rows);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((if index == 0 { 2 } else { 0 }, 2));
        if numbers.contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}

/// Writes samples as CSV: start (since `origin`), latency, total time and time spent waiting for
/// the core, in microseconds.
///
/// # Errors
/// The file cannot be written.
pub fn write_csv(to: impl io::Write, samples: &[Sample], origin: Instant) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(to);
    let header =
        ["procedure", "subject", "start_us", "latency_us", "total_us", "core_us", "failure"];
    csv.write_record(header)?;
    for sample in samples {
        let micros = |d: Duration| format!("{:.1}", d.as_secs_f64() * 1e6);
        csv.write_record([
            sample.procedure.name(),
            &sample.subject,
            &micros(sample.start.saturating_duration_since(origin)),
            &micros(sample.latency),
            &micros(sample.total),
            &micros(sample.core),
            sample.failure.as_deref().unwrap_or_default(),
        ])?;
    }
    csv.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_by_nearest_rank() {
        let spread = Distribution::of((1..=100).map(Duration::from_millis)).unwrap();
        let expected = Distribution { min: 1.0, median: 50.0, p95: 95.0, p99: 99.0, max: 100.0 };
        for (got, want) in [
            (spread.min, expected.min),
            (spread.median, expected.median),
            (spread.p95, expected.p95),
            (spread.p99, expected.p99),
            (spread.max, expected.max),
        ] {
            assert!((got - want).abs() < 1e-9, "{spread:?}");
        }
        assert_eq!(Distribution::of(std::iter::empty()), None);
        assert_eq!(Distribution::of(std::iter::once(Duration::from_millis(7))).unwrap().p99, 7.0);
    }

    #[test]
    fn the_text_has_a_row_for_each_step_and_procedure() {
        let step = |number: &str, step: &str, unexpected: &[(&str, u64)]| StepReport {
            number: number.into(),
            step: step.into(),
            count: 12,
            unexpected: unexpected.iter().map(|(what, n)| (what.to_string(), *n)).collect(),
        };
        let report = Report {
            scenario: "storm".into(),
            passed: false,
            seconds: 1.25,
            steps: vec![
                step("1", "register", &[]),
                step("2.1", "handover_to_a_cell_of_another_gnb", &[("timeout", 2), ("cause 3", 1)]),
            ],
            procedures: vec![ProcedureReport {
                procedure: Procedure::Registration,
                count: 12,
                failures: [("timeout".to_string(), 2)].into(),
                latency_ms: Distribution::of(std::iter::once(Duration::from_micros(1500))),
                total_ms: None,
            }],
            aborted: None,
            samples_dropped: 3,
        };
        let lines = [
            "storm: NOT as expected, 1.2 s",
            "  step  name                               count  result",
            "  1     register                              12  ok",
            "  2.1   handover_to_a_cell_of_another_gnb     12  FAILED",
            "                                                  1 x cause 3",
            "                                                  2 x timeout",
            "",
            "  latency at the gNB",
            "  procedure     count  failed  min ms  median ms  p95 ms  p99 ms  max ms  failures",
            "  registration     12       2   1.500      1.500   1.500   1.500   1.500  2 x timeout",
            "",
            "  3 latencies are missing: there were too many",
        ];
        assert_eq!(report.to_text(), lines.join("\n") + "\n");
    }

    #[test]
    fn the_csv_has_a_row_for_each_sample() {
        let origin = Instant::now();
        let sample = Sample {
            procedure: Procedure::Registration,
            subject: "imsi-1".into(),
            start: origin,
            latency: Duration::from_micros(1500),
            total: Duration::from_micros(1600),
            core: Duration::from_micros(1400),
            failure: Some("a \"b\", c".into()),
        };
        let mut csv = Vec::new();
        write_csv(&mut csv, &[sample], origin).unwrap();
        let csv = String::from_utf8(csv).unwrap();
        assert_eq!(
            csv.lines().nth(1),
            Some("registration,imsi-1,0.0,1500.0,1600.0,1400.0,\"a \"\"b\"\", c\"")
        );
    }
}
